//! Limits a damaged value: separates the brackets that close it from the text after it.

use super::{scan::Scan, whitespace::is_json_whitespace};

impl Scan<'_, '_> {
    /// The latest position at which the value can end: before the fence that closes the open one,
    /// and before the tags at the end of the text.
    pub(super) fn value_limit(&mut self) -> usize {
        let state = usize::from(self.in_fence) + 2 * usize::from(self.has_tag);
        let known = self.value_limits.get(state).copied().flatten();
        if let Some(end) = known {
            return if end > self.at { end } else { self.text.len() };
        }
        let end = self.find_value_limit();
        if let Some(known) = self.value_limits.get_mut(state) {
            *known = Some(end);
        }
        end
    }

    fn find_value_limit(&mut self) -> usize {
        let rest = self.rest();
        *self.steps += rest.len();
        let mut inside = rest;
        if self.in_fence
            && let Some((before, after)) =
                rest.rsplit_once("\n```").or_else(|| rest.rsplit_once("```"))
            && !after.contains(['"', '{', '}', '[', ']'])
        {
            inside = before;
        }
        loop {
            inside = inside.trim_end_matches(is_json_whitespace);
            let tag = inside.strip_suffix('>').and_then(|tag| tag.rsplit_once('<'));
            let Some((before, tag)) = tag else { break };
            let is_token = tag.starts_with(['|', '｜']) || tag == "/s";
            if !(is_token || self.has_tag && tag.starts_with('/')) || tag.contains(['"', '\n']) {
                break;
            }
            inside = before;
        }
        // Whitespace after a number shows that the number is complete.
        let has_more = inside.len() < rest.len();
        let blank = rest.get(inside.len()..).and_then(|rest| rest.chars().next());
        let blank = blank.filter(|c| has_more && is_json_whitespace(*c)).map_or(0, char::len_utf8);
        self.at + inside.len() + blank
    }
}
