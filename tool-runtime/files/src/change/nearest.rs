//! Finds the lines of a text that are most similar to a text that does not occur in it.

use std::collections::HashSet;

/// The number of places whose lines are compared one by one.
const MAX_CANDIDATES: usize = 20;

/// The most lines of the result.
const MAX_LINES: usize = 20;

/// The most characters of a line of the result.
const MAX_LINE_LEN: usize = 200;

/// The similarity below which lines have nothing in common, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.3;

/// Lines that are similar to a text.
#[derive(Debug, PartialEq)]
pub(crate) struct NearestLines {
    /// The lines with their numbers.
    pub(crate) numbered: String,
    /// Whether the texts are equal apart from whitespace.
    pub(crate) differs_in_whitespace: bool,
}

/// Returns the lines that are most similar; `None` if none are.
///
/// The longest line of the text selects the candidates, so the time is linear in both lengths.
pub(crate) fn nearest_lines(text: &str, missing: &str) -> Option<NearestLines> {
    let lines: Vec<_> = text.lines().collect();
    let missing: Vec<_> = missing.lines().collect();
    let (anchor, anchor_line) =
        missing.iter().enumerate().max_by_key(|(_, line)| line.trim().len())?;
    let anchor_words = words(anchor_line);
    let mut candidates: Vec<_> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| (similarity(line, anchor_line, &anchor_words), at))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .collect();
    candidates.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    candidates.truncate(MAX_CANDIDATES);
    let window = |at: usize| {
        let start = at.saturating_sub(anchor);
        (start, lines.get(start..(start + missing.len()).min(lines.len())).unwrap_or_default())
    };
    let score = |window: &[&str]| -> f64 {
        let pairs = window.iter().zip(&missing);
        pairs.map(|(line, missing)| similarity(line, missing, &words(missing))).sum()
    };
    let best = candidates.into_iter().map(|(_, at)| window(at)).max_by(|left, right| {
        // Of equal ones the first.
        score(left.1).total_cmp(&score(right.1)).then(right.0.cmp(&left.0))
    });
    let (start, window) = best?;
    let numbered: Vec<_> = window
        .iter()
        .take(MAX_LINES)
        .enumerate()
        .map(|(at, line)| {
            let line: String = line.chars().take(MAX_LINE_LEN).collect();
            format!("{}\t{line}", start + at + 1)
        })
        .collect();
    let differs_in_whitespace = without_whitespace(window) == without_whitespace(&missing);
    Some(NearestLines { numbered: numbered.join("\n"), differs_in_whitespace })
}

fn words(line: &str) -> HashSet<&str> {
    line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// Returns how many words two lines share, from 0 to 1.
fn similarity(line: &str, other: &str, other_words: &HashSet<&str>) -> f64 {
    if line.trim() == other.trim() {
        return 1.0;
    }
    let words = words(line);
    let shared = words.intersection(other_words).count();
    let total = words.len() + other_words.len();
    if total == 0 { 0.0 } else { 1.8 * shared as f64 / total as f64 }
}

fn without_whitespace(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| line.split_whitespace()).collect()
}
