//! The sentence or heading before a call, which may announce an example, and the start tag of an
//! element around the call.

use crate::drivers::text::NoMatch;
use crate::drivers::text::grammar::first_line;
use crate::drivers::text::quotation::call_line;
use crate::drivers::text::quotation::lead_in_words::{
    ANNOUNCEMENT, CALL_HEADING, CONDITIONS, DESCRIPTION, EXAMPLE, EXPLANATION, FORBIDDEN, HEADING,
    HYPOTHETICAL, LEAD_IN_WORDS, NEGATION, QUOTED, REMARKS, SOURCE_LABELS, SPEAKER_LABELS,
};
use crate::drivers::text::quotation::open_elements::is_in_element;
use crate::message::ToolCall;

/// The longest part of a sentence that is examined, in bytes.
const MAX_LEN: usize = 240;
/// The longest beginning of the text after a call that is examined, in bytes.
const MAX_REMARK_LEN: usize = 48;
/// The longest adverb between an announcement and its verb, in bytes.
const MAX_ADVERB_LEN: usize = 12;
/// The largest number of words of a label of a call.
const MAX_LABEL_WORDS: usize = 3;

/// The meaning of what stands before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeadIn {
    /// No sentence precedes the call, or it announces a call.
    Call,
    /// The sentence ends with a colon and does not announce a call.
    Doubtful,
    /// The call stands in parentheses, in an element that is not known to hold calls or in an open
    /// sentence, or it depends on an answer of the user.
    Enclosed,
    /// The sentence announces an example or a quoted call, or negates or forbids the call.
    Example,
}

impl LeadIn {
    /// Returns the lead-in of a call that follows `text`: its last sentence. `in_line` is true if
    /// the call is on the line of that sentence.
    pub(crate) fn of(text: &str, in_line: bool) -> Self {
        // The cut comes first: every call of a reply examines the text before it.
        let text = text.trim_end();
        let mut start = text.len().saturating_sub(MAX_LEN);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        let end = text.get(start..).unwrap_or_default();
        let line = end.rsplit('\n').next().unwrap_or_default().to_lowercase();
        let sentence = last_sentence(&line);
        let contains = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
        let announced = announcement(sentence);
        let is_negated = last_position(sentence, &NEGATION) > announced;
        let is_announced = announced.is_some() && !is_negated;
        let is_heading = is_heading(&line);
        let end = sentence.trim_end_matches(['*', '_', ' ']);
        let has_colon = is_heading || end.ends_with([':', '：']);
        let is_open = has_colon || in_line && !end.ends_with(['.', '!', '?', '。', '>']);
        let is_forbidden = FORBIDDEN.iter().any(|start| sentence.starts_with(start))
            || is_negated && is_open && !is_heading;
        let is_hypothetical = has_colon && (contains(&HYPOTHETICAL) || contains(&QUOTED));
        let is_example = contains(&EXAMPLE) || is_heading && contains(&HEADING);
        if is_example || !is_announced && (is_hypothetical || is_forbidden) {
            return Self::Example;
        }
        let label = sentence.trim_matches([':', '：', ' ', '*', '_', '[', ']', '#', '❌']);
        if has_colon && SOURCE_LABELS.contains(&label) {
            return Self::Example;
        }
        // The call waits for an answer of the user.
        let depends_on_answer = CONDITIONS.iter().any(|start| sentence.starts_with(start))
            || end.trim_end_matches(['"', '”', ')']).ends_with(['?', '？']);
        if depends_on_answer || is_in_parentheses(sentence) || is_in_element(&line) {
            return Self::Enclosed;
        }
        let is_label = contains(&CALL_HEADING) && !contains(&HEADING);
        let is_label =
            is_label && (is_heading || is_short(sentence)) || LEAD_IN_WORDS.contains(&label);
        let is_other_label =
            has_colon && !is_label && is_short(sentence) && !SPEAKER_LABELS.contains(&label);
        if in_line && !is_announced && (is_other_label || call_line::is_open(&line)) {
            return Self::Enclosed;
        }
        if has_colon && !is_announced && !is_label { Self::Doubtful } else { Self::Call }
    }

    /// Returns the calls that a marker announces. If they may be an example, they are doubtful.
    pub(crate) fn marked(self, calls: Vec<ToolCall>) -> Vec<ToolCall> {
        match self {
            Self::Example | Self::Enclosed => doubtful(calls),
            Self::Call | Self::Doubtful => calls,
        }
    }

    /// Returns the calls that no marker announces; `None` if they are an example.
    pub(crate) fn unmarked(self, calls: Vec<ToolCall>) -> Option<Vec<ToolCall>> {
        match self {
            Self::Call => Some(calls),
            Self::Doubtful | Self::Enclosed => Some(doubtful(calls)),
            Self::Example => None,
        }
    }
}

/// Marks calls as doubtful, so that no tool runs that changes something.
fn doubtful(calls: Vec<ToolCall>) -> Vec<ToolCall> {
    calls.into_iter().map(|call| ToolCall { is_doubtful: true, ..call }).collect()
}

/// Returns true if the sentence of a call continues after it, in `text`, and describes or negates
/// it: `… is how you would call it`.
pub(crate) fn describes_call_before(text: &str, is_complete: bool) -> Result<bool, NoMatch> {
    let rest = text.trim_start_matches([' ', '\t', ',', '(', '*', '_']);
    if !rest.starts_with(char::is_alphabetic) {
        return Ok(false);
    }
    let (line, is_ended) = first_line(rest, MAX_REMARK_LEN);
    if !is_complete && !is_ended && rest.len() < MAX_REMARK_LEN {
        return Err(NoMatch::Incomplete);
    }
    let line = line.to_lowercase();
    Ok(REMARKS.iter().any(|words| line.starts_with(words)))
}

/// Returns the last sentence of a line.
fn last_sentence(line: &str) -> &str {
    let ends =
        [". ", "! ", "? ", "。"].iter().filter_map(|end| line.rfind(end).map(|at| at + end.len()));
    // "e.g. " ends no sentence.
    let ends = ends.filter(|end| !line.get(..*end).is_some_and(|line| line.ends_with("e.g. ")));
    line.get(ends.max().unwrap_or(0)..).unwrap_or_default().trim_start()
}

/// Returns true if a parenthesis that is no smiley is open at the end of a sentence.
fn is_in_parentheses(sentence: &str) -> bool {
    let Some(open) = sentence.rfind(['(', '（']) else { return false };
    let is_closed = sentence.get(open..).is_some_and(|rest| rest.contains([')', '）']));
    let is_smiley = sentence.get(..open).is_some_and(|before| before.ends_with([':', ';', '=']));
    !is_closed && !is_smiley
}

/// Returns the position of the last announcement that is not negated. A sentence that begins with
/// a participle, such as `Looking it up:`, is one.
fn announcement(sentence: &str) -> Option<usize> {
    let is_positive = |after: &str| {
        !["not ", "never ", "no "].iter().any(|word| after.starts_with(word))
            && !EXPLANATION
                .iter()
                .any(|word| after.find(word).is_some_and(|at| at < MAX_ADVERB_LEN))
    };
    let announced = ANNOUNCEMENT.iter().filter_map(|word| {
        let at = sentence.rfind(word)?;
        sentence.get(at + word.len()..).is_some_and(is_positive).then_some(at)
    });
    let first_word = sentence.split([' ', ':']).next().unwrap_or_default();
    let is_participle = first_word.len() > 4 && first_word.ends_with("ing");
    announced.max().or_else(|| is_participle.then_some(0))
}

/// Returns the position of the last of `words`.
fn last_position(sentence: &str, words: &[&str]) -> Option<usize> {
    words.iter().filter_map(|word| sentence.rfind(word)).max()
}

/// Returns true for a label such as `Tool call:`, unless it describes a call.
fn is_short(sentence: &str) -> bool {
    let is_description = DESCRIPTION.iter().any(|start| sentence.starts_with(start));
    sentence.split_whitespace().count() <= MAX_LABEL_WORDS && !is_description
}

/// Whether a line is a heading of Markdown: `# Example`, or `**Example**` alone.
fn is_heading(line: &str) -> bool {
    let line = line.trim();
    let rest = line.trim_start_matches('#');
    let is_bold = line.len() > 4 && line.starts_with("**") && line.ends_with("**");
    rest.len() < line.len() && rest.starts_with(' ') || is_bold
}
