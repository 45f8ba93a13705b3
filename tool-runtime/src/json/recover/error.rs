//! The error of the recovery parser, before it is put into words for the model.

use std::borrow::Cow;

use crate::json::ParseErrorKind;

/// The reason why a text cannot be recovered without guessing, and the change to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::json) struct RecoveryError {
    pub(in crate::json) kind: ParseErrorKind,
    pub(in crate::json) at: usize,
    pub(in crate::json) reason: Cow<'static, str>,
}

impl RecoveryError {
    pub(in crate::json) fn new(
        kind: ParseErrorKind,
        at: usize,
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { kind, at, reason: reason.into() }
    }

    pub(in crate::json) fn too_deep(at: usize, limit: usize) -> Self {
        let s = if limit == 1 { "" } else { "s" };
        let reason = format!("the JSON is nested deeper than {limit} level{s}");
        Self::new(ParseErrorKind::TooDeep, at, reason)
    }

    pub(super) fn syntax(at: usize, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ParseErrorKind::Syntax, at, reason)
    }
}
