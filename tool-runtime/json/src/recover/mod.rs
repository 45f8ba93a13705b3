//! The recovery parser: parses a damaged value in one forward pass.
//!
//! The parser consumes the text byte by byte, with the open containers on a stack, and records each
//! repair as a [`Fix`]. If two readings are possible, it returns a [`RecoveryError`] that names the
//! change to make; the [crate](crate) page lists what
//! is refused.
//!
//! # Flow
//!
//! ```text
//! parser ─▶ trivia          skips whitespace and comments
//!         ├▶ string          finds the end of a string (lookahead, key_lookahead, unclosed_string,
//!         │                  repeated_quotes) and decodes its content (escape)
//!         ├▶ unquoted        reads keys, numbers (number), literals and words without quotes
//!         ├▶ closers         matches closing brackets
//!         └▶ builder         builds a value or a tree
//! ```
//!
//! # Invariants
//!
//! - Only the search for the end of a string inspects its content, so no repair of commas, comments
//!   or literals ever changes a string.
//! - The pass never goes back. To find the end of a string it looks ahead; lookaheads are counted,
//!   and together stay below [`LOOKAHEAD_PER_BYTE`] times the length of the text.

mod builder;
mod checkpoint;
mod closers;
mod error;
mod escape;
mod key_lookahead;
mod lookahead;
mod number;
mod parser;
mod repeated_quotes;
mod schema_keys;
mod source;
mod string;
#[cfg(test)]
mod tests;
mod trivia;
mod unclosed_string;
mod unquoted;
mod words;

pub(super) use self::{
    builder::{Builder, NodeBuilder, ValueBuilder},
    checkpoint::Checkpoint,
    error::RecoveryError,
    parser::{Recovered, RecoveryMode},
    schema_keys::SchemaKeys,
};
use serde_json::Value;

use self::{
    parser::{RecoveryParser, RecoveryState},
    source::SourceText,
};
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

/// The fuel for lookaheads, in steps per byte.
pub(super) const LOOKAHEAD_PER_BYTE: usize = 8;

/// Parses the value that begins at `start` in `text`; nothing after `end` is seen. `steps` grows by
/// the lookaheads.
pub(super) fn recover<B: Builder>(
    text: &str,
    start: usize,
    end: usize,
    mode: RecoveryMode<'_>,
    steps: &mut usize,
) -> Result<Recovered<B::Value>, RecoveryError> {
    RecoveryParser::<B>::new(SourceText::new(text, end), start, mode)
        .run(RecoveryState::Value, steps)
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
    let (parser, state) =
        RecoveryParser::from_checkpoint(SourceText::new(text, end), start, mode, checkpoint);
    parser.run(state, steps)
}

/// Checks `fix` against the limits, after `count` other fixes.
#[inline]
pub(super) fn check_fix(options: &Options, fix: &Fix, count: usize) -> Result<(), RecoveryError> {
    let is_allowed = fix.level() <= options.max_level
        && fix.risk() <= options.max_risk
        && count < options.max_fixes;
    if is_allowed { Ok(()) } else { Err(limit_error(options, fix)) }
}

#[cold]
fn limit_error(options: &Options, fix: &Fix) -> RecoveryError {
    let limit = if fix.level() > options.max_level {
        "no repair of this level is allowed".to_owned()
    } else if fix.risk() > options.max_risk {
        "no repair of this risk is allowed".to_owned()
    } else {
        match options.max_fixes {
            0 => "no repair is allowed".to_owned(),
            1 => "only one repair is allowed".to_owned(),
            most => format!("only {most} repairs are allowed"),
        }
    };
    let reason = format!("{limit}: {}", fix.kind.advice());
    RecoveryError::new(ParseErrorKind::Limit, fix.span.start, reason)
}
