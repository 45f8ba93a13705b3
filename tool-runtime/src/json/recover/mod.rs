//! The recovery parser: reads a value that is damaged, in one pass forward.
//!
//! It goes over the text byte by byte, with the open containers on a stack of its own, and tells
//! each mend as a [`Fix`]. A string is opaque: once it has begun, only the search for its end looks
//! into it, so no mend of commas, comments or literals ever reaches its content. Where two readings
//! are open it refuses, with a [`Refusal`] that says which mend to make.
//!
//! What is refused is listed with the [module](super) that this is a part of.
//!
//! **Fuel.** The pass never goes back. To tell where a string ends it looks ahead; each look is
//! counted, and all of them together stay below [`LOOKS_PER_BYTE`] times the length of the text.

mod ahead;
mod bare;
mod build;
mod closing;
mod ending;
mod escape;
mod keys;
mod number;
mod parser;
mod refusal;
mod resume;
mod runs;
mod skip;
mod source;
mod string;
#[cfg(test)]
mod tests;
mod unended;

pub(super) use self::{
    build::{Build, Nodes, Values},
    keys::Keys,
    parser::{Mode, Recovered},
    refusal::Refusal,
    resume::Resume,
};
use serde_json::Value;

use self::{
    parser::{Parser, State},
    source::Source,
};
use super::{Fix, Options, UnreadableKind};

/// The bound on the looks ahead.
pub(super) const LOOKS_PER_BYTE: usize = 8;

/// Reads the value that begins at `start` in `text`, of which nothing behind `end` is seen. `steps`
/// grows by the looks ahead.
pub(super) fn recover<B: Build>(
    text: &str,
    start: usize,
    end: usize,
    mode: Mode<'_>,
    steps: &mut usize,
) -> Result<Recovered<B::Value>, Refusal> {
    Parser::<B>::new(Source::new(text, end), start, mode).run(State::Value, steps)
}

/// As [`recover`], from where the strict pass has stopped.
pub(super) fn resume(
    text: &str,
    start: usize,
    end: usize,
    mode: Mode<'_>,
    resume: Resume,
    steps: &mut usize,
) -> Result<Recovered<Value>, Refusal> {
    let (parser, state) = Parser::resumed(Source::new(text, end), start, mode, resume);
    parser.run(state, steps)
}

/// Whether `fix` may be taken after `count` others.
#[inline]
pub(super) fn allow(options: &Options, fix: &Fix, count: usize) -> Result<(), Refusal> {
    let is_allowed = fix.level() <= options.max_level
        && fix.risk() <= options.max_risk
        && count < options.max_fixes;
    if is_allowed { Ok(()) } else { Err(not_allowed(options, fix)) }
}

#[cold]
fn not_allowed(options: &Options, fix: &Fix) -> Refusal {
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
    let what = format!("{limit}: {}", fix.kind.advice());
    Refusal::new(UnreadableKind::Limit, fix.span.start, what)
}
