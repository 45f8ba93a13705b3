//! The error of the recovery parser, before it is put into words for the model.

use std::borrow::Cow;

use crate::ParseErrorKind;

/// The reason why a text cannot be recovered without guessing, and the change to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecoveryError {
    pub(crate) kind: ParseErrorKind,
    pub(crate) at: usize,
    pub(crate) reason: Cow<'static, str>,
}

impl RecoveryError {
    pub(crate) fn new(
        kind: ParseErrorKind,
        at: usize,
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { kind, at, reason: reason.into() }
    }

    pub(crate) fn too_deep(at: usize, limit: usize) -> Self {
        let s = if limit == 1 { "" } else { "s" };
        let reason = format!("the JSON is nested deeper than {limit} level{s}");
        Self::new(ParseErrorKind::TooDeep, at, reason)
    }

    pub(super) fn syntax(at: usize, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ParseErrorKind::Syntax, at, reason)
    }
}
