//! The visible text of a reply, without markup.
//!
//! Where markup is removed, the whitespace before it is kept, or else the whitespace after it.
//! Whitespace at the beginning and at the end is dropped: `A ⏎<call>⏎ B` becomes `A ⏎B`. Text
//! without markup is unchanged.

/// The longest line that is returned, in bytes.
const MAX_LINE_LEN: usize = 240;

#[derive(Clone, Debug, Default)]
pub(crate) struct VisibleText {
    pub(crate) text: String,
    /// Whitespace before a gap, which is written once text follows.
    space_before: String,
    /// Whitespace after removed markup.
    space_after: String,
    is_after_markup: bool,
}

impl VisibleText {
    pub(crate) fn push(&mut self, mut text: &str) {
        if self.is_after_markup {
            let rest = text.trim_start();
            self.space_after.push_str(text.get(..text.len() - rest.len()).unwrap_or_default());
            if rest.is_empty() {
                return;
            }
            text = rest;
            self.is_after_markup = false;
            if self.space_before.is_empty() && !self.text.is_empty() {
                self.space_before = std::mem::take(&mut self.space_after);
            }
            self.space_after.clear();
        }
        let trimmed = text.trim_end();
        if !trimmed.is_empty() {
            self.text.push_str(&self.space_before);
            self.text.push_str(trimmed);
            self.space_before.clear();
        }
        self.space_before.push_str(text.get(trimmed.len()..).unwrap_or_default());
    }

    /// Marks that markup was removed here.
    pub(crate) fn mark_gap(&mut self) {
        if self.is_after_markup && self.space_before.is_empty() {
            self.space_before = std::mem::take(&mut self.space_after);
        }
        self.is_after_markup = true;
        if self.text.is_empty() {
            self.space_before.clear();
        }
    }

    /// Returns true if a line break follows the text so far.
    pub(crate) fn has_line_break(&self) -> bool {
        self.space_before.contains('\n') || self.space_after.contains('\n')
    }

    /// Returns the last line of the text if what follows stands directly below it. A long line is
    /// empty, because each call of a reply examines it.
    pub(crate) fn line_above(&self) -> &str {
        let has_break = |space: &str| space.len() > MAX_LINE_LEN || space.contains('\n');
        let is_directly_above = self.space_before.len() <= MAX_LINE_LEN
            && self.space_before.matches('\n').count() == 1
            && !has_break(&self.space_after);
        let mut start = self.text.len().saturating_sub(MAX_LINE_LEN);
        while !self.text.is_char_boundary(start) {
            start += 1;
        }
        let end = self.text.get(start..).unwrap_or_default();
        match end.rsplit_once('\n') {
            Some((_, line)) if is_directly_above => line,
            None if is_directly_above && start == 0 => end,
            _ => "",
        }
    }

    pub(crate) fn finish(mut self) -> String {
        if !self.is_after_markup {
            self.text.push_str(&self.space_before);
        }
        self.text
    }
}
