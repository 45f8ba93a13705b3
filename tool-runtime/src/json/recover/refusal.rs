//! Why recovery gives up, before it is put into words for the model.

use std::borrow::Cow;

use crate::json::UnreadableKind;

/// What cannot be read without guessing, and which mend to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::json) struct Refusal {
    pub(in crate::json) kind: UnreadableKind,
    pub(in crate::json) at: usize,
    pub(in crate::json) what: Cow<'static, str>,
}

impl Refusal {
    pub(in crate::json) fn new(
        kind: UnreadableKind,
        at: usize,
        what: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { kind, at, what: what.into() }
    }

    pub(in crate::json) fn too_deep(at: usize, limit: usize) -> Self {
        let s = if limit == 1 { "" } else { "s" };
        let what = format!("the JSON is nested deeper than {limit} level{s}");
        Self::new(UnreadableKind::TooDeep, at, what)
    }

    pub(super) fn syntax(at: usize, what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(UnreadableKind::Syntax, at, what)
    }
}
