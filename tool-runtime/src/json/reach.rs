//! How far a damaged value may reach: what closes it has to be told from what closes the text.

use super::{blank::is_blank, scan::Scan};

impl Scan<'_, '_> {
    /// Where the value ends at the latest: before the fence that closes the open one, and before
    /// the tags at the end of the text.
    pub(super) fn end_of_value(&mut self) -> usize {
        let state = usize::from(self.in_fence) + 2 * usize::from(self.has_tag);
        let known = self.ends.get(state).copied().flatten();
        if let Some(end) = known {
            return if end > self.at { end } else { self.text.len() };
        }
        let end = self.find_end_of_value();
        if let Some(known) = self.ends.get_mut(state) {
            *known = Some(end);
        }
        end
    }

    fn find_end_of_value(&mut self) -> usize {
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
            inside = inside.trim_end_matches(is_blank);
            let tag = inside.strip_suffix('>').and_then(|tag| tag.rsplit_once('<'));
            let Some((before, tag)) = tag else { break };
            let is_token = tag.starts_with(['|', '｜']) || tag == "/s";
            if !(is_token || self.has_tag && tag.starts_with('/')) || tag.contains(['"', '\n']) {
                break;
            }
            inside = before;
        }
        // A number has ended where a blank follows it.
        let has_more = inside.len() < rest.len();
        let blank = rest.get(inside.len()..).and_then(|rest| rest.chars().next());
        let blank = blank.filter(|c| has_more && is_blank(*c)).map_or(0, char::len_utf8);
        self.at + inside.len() + blank
    }
}
