//! The recovery parser: parses a damaged value in one forward pass.
//!
//! The parser consumes the text byte by byte, with the open containers on a stack, and records each
//! repair as a [`Fix`]. If two readings are possible, it returns a [`RecoveryError`] that names the
//! change to make; the [crate] page lists what is refused.
//!
//! # Flow
//!
//! Each file is named by what it reads. Its functions see the text only through the interface of
//! [`Parser`]: peek, bump, eat, expect, and record a fix.
//!
//! ```text
//! value ─▶ tokens/   trivia       whitespace and comments
//!        │           comma        what separates elements: commas, semicolons, ellipses
//!        │           key          keys and colons; key_lookahead rates whether a key begins
//!        │           bracket      opening and closing brackets
//!        │           number       numbers, and what only looks like one
//!        │           word         literals and words without quotes, of which placeholders are
//!        │                        refused
//!        └▶ strings/ string       strings in quotes: string_prefix, repeated_quotes,
//!                                 unclosed_string; lookahead rates whether one ends here
//!                    escape       decodes escapes; escape_meaning judges those that JSON does not
//!                                 have
//! both ──▶ parser    the text (source) and the position; containers: the open containers, whose
//!                    elements builder makes a value or a tree
//! checkpoint ─▶ value   continues where the strict pass stopped
//! ```
//!
//! # Invariants
//!
//! - Only the search for the end of a string inspects its content, so no repair of commas, comments
//!   or literals ever changes a string.
//! - The pass never goes back. To find the end of a string it looks ahead; lookaheads are counted,
//!   and together stay below `LOOKAHEAD_PER_BYTE` times the length of the text.

mod builder;
mod checkpoint;
mod containers;
mod parser;
mod schema_keys;
mod source;
mod strings;
#[cfg(test)]
mod tests;
mod tokens;
mod value;

use std::borrow::Cow;

use serde_json::Value;

pub use self::tokens::placeholder::is_placeholder_for;
pub(super) use self::{
    builder::{Builder, NodeBuilder, ValueBuilder},
    checkpoint::Checkpoint,
    schema_keys::SchemaKeys,
};
use self::{parser::Parser, source::SourceText, value::RecoveryState};
use super::{Fix, Options, ParseError, ParseErrorKind, Risk, coerce::TypeSet};

/// The limits and the schema keys that one parse uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParseSettings<'s> {
    pub(crate) options: Options,
    pub(crate) keys: SchemaKeys<'s>,
}

impl<'s> ParseSettings<'s> {
    pub(crate) const fn mode(&self, in_prose: bool) -> RecoveryMode<'s> {
        RecoveryMode { options: self.options, keys: self.keys, in_prose }
    }

    /// Checks the fixes and the truncation of `text` against the limits.
    pub(crate) fn check_limits(
        &self,
        text: &str,
        fixes: &[Fix],
        truncated: bool,
        expected: TypeSet,
    ) -> Result<(), ParseError> {
        if truncated && self.options.max_risk < Risk::Lossy {
            return Err(ParseError::truncated(text, expected));
        }
        let error =
            fixes.iter().enumerate().find_map(|(at, fix)| check_fix(&self.options, fix, at).err());
        error.map_or(Ok(()), |error| Err(ParseError::from_recovery(text, &error, expected)))
    }
}

/// The limits and the context of a recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecoveryMode<'s> {
    pub(crate) options: Options,
    pub(crate) keys: SchemaKeys<'s>,
    /// Whether words precede the value, so that a brace may be part of a sentence.
    pub(crate) in_prose: bool,
}

/// A recovered value, and the position after it.
#[derive(Debug)]
pub(crate) struct Recovered<V> {
    pub(crate) value: V,
    pub(crate) end: usize,
    pub(crate) fixes: Vec<Fix>,
    /// Whether the text ended before the value did.
    pub(crate) truncated: bool,
}

/// Parses the value that begins at `start` in `text`; nothing after `end` is seen. `steps` grows by
/// the lookaheads.
pub(super) fn recover<B: Builder>(
    text: &str,
    start: usize,
    end: usize,
    mode: RecoveryMode<'_>,
    steps: &mut usize,
) -> Result<Recovered<B::Value>, RecoveryError> {
    let parser = Parser::<B>::new(SourceText::new(text, end), start, mode);
    run(parser, RecoveryState::Value, steps)
}

/// Parses the value like [`recover`], but continues at the checkpoint of the strict pass.
pub(super) fn recover_from(
    text: &str,
    start: usize,
    end: usize,
    mode: RecoveryMode<'_>,
    checkpoint: Checkpoint,
    steps: &mut usize,
) -> Result<Recovered<Value>, RecoveryError> {
    let parser = Parser::from_checkpoint(SourceText::new(text, end), start, mode, checkpoint);
    run(parser, RecoveryState::Element, steps)
}

fn run<B: Builder>(
    mut parser: Parser<'_, '_, B>,
    state: RecoveryState,
    steps: &mut usize,
) -> Result<Recovered<B::Value>, RecoveryError> {
    let fuel = parser.fuel();
    let read = parser.read_root(state);
    *steps += fuel - parser.fuel();
    read?;
    parser.finish()
}

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

/// Checks `fix` against the limits, after `count` other fixes.
#[inline]
pub(super) fn check_fix(options: &Options, fix: &Fix, count: usize) -> Result<(), RecoveryError> {
    let is_allowed = fix.level() <= options.max_level
        && fix.risk() <= options.max_risk
        && options.max_fixes.is_none_or(|most| count < most);
    if is_allowed { Ok(()) } else { Err(limit_error(options, fix)) }
}

#[cold]
fn limit_error(options: &Options, fix: &Fix) -> RecoveryError {
    let limit = if fix.level() > options.max_level {
        "no repair of this level is allowed".to_owned()
    } else if fix.risk() > options.max_risk {
        "no repair of this risk is allowed".to_owned()
    } else {
        match options.max_fixes.unwrap_or_default() {
            0 => "no repair is allowed".to_owned(),
            1 => "only one repair is allowed".to_owned(),
            most => format!("only {most} repairs are allowed"),
        }
    };
    let reason = format!("{limit}: {}", fix.kind.advice());
    RecoveryError::new(ParseErrorKind::Limit, fix.span.start, reason)
}
