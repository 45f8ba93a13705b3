//! The text that remains without the markup.
//!
//! Of the blanks on both sides of markup those before it stay, or else those behind it, and none at the
//! beginning or the end: `A ⏎<call>⏎ B` is `A ⏎B`. Text without markup comes out as it went in.

#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    pub(super) text: String,
    /// Blanks that are shown once something follows them.
    before: String,
    /// The same behind markup.
    behind: String,
    is_behind: bool,
}

impl Shown {
    pub(super) fn push(&mut self, mut text: &str) {
        if self.is_behind {
            let rest = text.trim_start();
            self.behind.push_str(text.get(..text.len() - rest.len()).unwrap_or_default());
            if rest.is_empty() {
                return;
            }
            text = rest;
            self.is_behind = false;
            if self.before.is_empty() && !self.text.is_empty() {
                self.before = std::mem::take(&mut self.behind);
            }
            self.behind.clear();
        }
        let words = text.trim_end();
        if !words.is_empty() {
            self.text.push_str(&self.before);
            self.text.push_str(words);
            self.before.clear();
        }
        self.before.push_str(text.get(words.len()..).unwrap_or_default());
    }

    /// Something was taken out here.
    pub(super) fn cut(&mut self) {
        if self.is_behind && self.before.is_empty() {
            self.before = std::mem::take(&mut self.behind);
        }
        self.is_behind = true;
        if self.text.is_empty() {
            self.before.clear();
        }
    }

    pub(super) fn finish(mut self) -> String {
        if !self.is_behind {
            self.text.push_str(&self.before);
        }
        self.text
    }
}
