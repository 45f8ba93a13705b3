//! The text that a body writes to the console.

use super::limits::MAX_CONSOLE_BYTES;

/// The first lines of the console, within a limit.
#[derive(Debug, Default)]
pub(super) struct Console {
    text: String,
    is_full: bool,
}

impl Console {
    /// Adds a line, or a note that the rest is omitted.
    pub(super) fn add(&mut self, line: &str) {
        if self.is_full {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        if self.text.len() + line.len() > MAX_CONSOLE_BYTES {
            self.is_full = true;
            self.text.push_str("… (the rest is omitted)");
        } else {
            self.text.push_str(line);
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}
