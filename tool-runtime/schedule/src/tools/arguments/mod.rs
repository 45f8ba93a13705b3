//! Reads the arguments of the tools, and collects everything that is wrong with them.
//!
//! - `timing.rs`: the arguments that state when a schedule fires.
//! - `action.rs`: the arguments that state what it does.

mod action;
mod timing;

use tool_core::{ToolError, args};

pub(crate) use action::{ActionArguments, Sessions};
pub(crate) use timing::TimingArguments;

use crate::definition::{MAX_MISSED, MissedPolicy};

/// The most bytes of a text that a schedule keeps.
const MAX_TEXT: usize = 16_000;

/// The most characters of a name.
const MAX_NAME: usize = 100;

/// The reaction to occurrences that are due late, as a model names it.
#[args]
#[derive(Clone, Copy, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Missed {
    Skip,
    Once,
    All,
}

impl From<Missed> for MissedPolicy {
    fn from(missed: Missed) -> Self {
        match missed {
            Missed::Skip => Self::Skip,
            Missed::Once => Self::Once,
            Missed::All => Self::All { max_occurrences: MAX_MISSED },
        }
    }
}

/// Everything that is wrong with the arguments of a call.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<String>);

impl Problems {
    pub(crate) fn push(&mut self, problem: impl Into<String>) {
        self.0.push(problem.into());
    }

    /// Returns an error with all problems, if there are any.
    pub(crate) fn check(self) -> Result<(), ToolError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(ToolError::invalid_arguments(self.0.join("\n")))
        }
    }

    pub(crate) fn check_name(&mut self, name: &str) {
        let is_plain = !name.trim().is_empty()
            && name.trim() == name
            && name.chars().count() <= MAX_NAME
            && !name.chars().any(char::is_control);
        if !is_plain {
            self.push(format!(
                "`name` must have 1 to {MAX_NAME} characters, without line breaks, and without \
                 spaces around it."
            ));
        }
    }

    fn check_text(&mut self, argument: &str, text: &str) {
        if text.trim().is_empty() {
            self.push(format!("`{argument}` is empty: send the text."));
        } else if text.len() > MAX_TEXT {
            let len = text.len();
            self.push(format!("`{argument}` has {len} bytes; at most {MAX_TEXT} are kept."));
        }
    }
}
