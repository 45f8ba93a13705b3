//! Extracts the terms of a text that a search compares.

use std::borrow::Cow;
use std::iter;

use snowball_stemmers_rs::{Algorithm, Stemmer};

/// The maximum number of bytes of a text that are read, because a text can be untrusted.
const MAX_TEXT_BYTES: usize = 32 * 1_024;

/// The maximum length of a word. Anything longer is not a word, such as encoded data.
const MAX_WORD_LENGTH: usize = 40;

/// Words that do not describe what a tool does.
const STOP_WORDS: [&str; 80] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "he", "her", "here", "his", "how", "i",
    "if", "in", "into", "is", "it", "its", "many", "me", "much", "my", "no", "not", "of", "on",
    "or", "our", "please", "s", "she", "should", "so", "some", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "to", "up", "us", "want", "was",
    "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your",
];

/// Returns the terms of a text.
///
/// The text is split at everything that is neither a letter nor a digit, and where lower case
/// changes to upper case. English suffixes are removed, so that `listEvents`, `list_events` and
/// "listing an event" give the same terms. In scripts without spaces between words, each pair of
/// neighbouring characters is a term.
pub(super) fn words(text: &str) -> Vec<String> {
    let text = prefix(text, MAX_TEXT_BYTES);
    let mut words = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric() && c != '-') {
        for run in split_at_hyphens(run) {
            for (run, is_unspaced) in by_script(&run) {
                if is_unspaced {
                    words.extend(pairs(run));
                } else {
                    split_at_capitals(run, |word| words.extend(term(word)));
                }
            }
        }
    }
    words
}

/// Returns the longest prefix of at most `max` bytes that ends at a character boundary.
pub(super) fn prefix(text: &str, max: usize) -> &str {
    let ends = (0..=max.min(text.len())).rev();
    ends.into_iter().find_map(|end| text.get(..end)).unwrap_or_default()
}

/// Splits where a script without spaces starts or ends; returns each piece and whether it is in
/// one.
fn by_script(run: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = run;
    iter::from_fn(move || {
        let is_unspaced = is_unspaced(rest.chars().next()?);
        let other = |c: char| self::is_unspaced(c) != is_unspaced;
        let (piece, remainder) = rest.split_at_checked(rest.find(other).unwrap_or(rest.len()))?;
        rest = remainder;
        Some((piece, is_unspaced))
    })
}

/// Whether a character belongs to Thai or Lao, kana, Han or Hangul.
const fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

/// Returns each character with the next one, or a single character alone.
fn pairs(run: &str) -> impl Iterator<Item = String> {
    let single = Some(run.to_owned()).filter(|run| run.chars().nth(1).is_none());
    let next = run.chars().skip(1);
    run.chars().zip(next).map(|(a, b)| String::from_iter([a, b])).chain(single)
}

/// Returns the term of a word, unless the word is not significant.
fn term(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    // A number is an argument and does not describe what a tool does.
    let is_number = word.chars().all(char::is_numeric);
    let is_insignificant =
        is_number || word.len() > MAX_WORD_LENGTH || STOP_WORDS.contains(&word.as_str());
    (!is_insignificant).then(|| stem(&word))
}

/// Splits at hyphens: `e-mail` and `to-do` are one word each, `check-in` is two.
fn split_at_hyphens(run: &str) -> Vec<Cow<'_, str>> {
    match run.split_once('-') {
        Some((first, _)) if (1..=2).contains(&first.len()) => vec![run.replace('-', "").into()],
        _ => run.split('-').map(Cow::Borrowed).collect(),
    }
}

/// Splits at capitals: `parseHTTPReply2` → `parse`, `HTTP`, `Reply2`.
fn split_at_capitals(run: &str, mut take: impl FnMut(&str)) {
    let mut rest = run;
    let mut previous: Option<(char, char)> = None;
    let mut start = 0;
    for (at, c) in run.char_indices() {
        // A capital before a small letter starts a word, also after other capitals.
        let cut = match previous {
            Some((_, last)) if c.is_uppercase() && !last.is_uppercase() => Some(at),
            Some((second_last, last))
                if c.is_lowercase() && last.is_uppercase() && second_last.is_uppercase() =>
            {
                Some(at - last.len_utf8())
            }
            _ => None,
        };
        let cut = cut.filter(|cut| *cut > start);
        if let Some((word, remainder)) = cut.and_then(|cut| rest.split_at_checked(cut - start)) {
            take(word);
            start += word.len();
            rest = remainder;
        }
        previous = Some((previous.map_or(c, |(_, last)| last), c));
    }
    if !rest.is_empty() {
        take(rest);
    }
}

/// Returns the stem of a word in lower case: "cancelled" and "cancellation" give "cancel". Words of
/// other languages than English mostly stay as they are.
pub(super) fn stem(word: &str) -> String {
    Stemmer::create(Algorithm::English).stem(word).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sentences_give_the_same_terms() {
        for (left, right) in [
            ("listCalendarEvents", "list_calendar_events"),
            ("HTTPRequest", "http request"),
            ("create", "creating"),
            ("cancelled", "cancel"),
            ("cancellation", "cancel"),
            ("creations", "creation"),
            ("mentions", "mentioned"),
            ("reminder", "remind"),
            ("e-mail a to-do", "email todo"),
            ("look up 2 users", "look user"),
            ("queries", "query"),
            ("boxes", "box"),
            ("invoices", "invoice"),
            ("shipments", "shipment"),
            ("translation", "translate"),
            ("reservation", "Reserve"),
            ("the status of an address", "STATUS, address!"),
        ] {
            assert_eq!(words(left), words(right), "{left} and {right}");
        }
    }

    #[test]
    fn different_words_have_different_terms() {
        for (left, right) in [("user", "us"), ("bus", "bu"), ("ring", "r"), ("station", "st")] {
            assert_ne!(words(left), words(right), "{left} and {right}");
        }
    }

    #[test]
    fn words_are_split_at_capitals() {
        let words = |text| {
            let mut words = Vec::new();
            split_at_capitals(text, |word| words.push(word.to_owned()));
            words
        };
        assert_eq!(words("parseHTTPReply2"), ["parse", "HTTP", "Reply2"]);
        assert_eq!(words("ÄrgerÜber"), ["Ärger", "Über"]);
        assert_eq!(words("PDF"), ["PDF"]);
        assert!(words("").is_empty());
    }

    #[test]
    fn scripts_without_spaces_give_pairs_of_characters() {
        assert_eq!(words("天気予報"), ["天気", "気予", "予報"]);
        assert_eq!(words("PDFを読む"), ["pdf", "を読", "読む"]);
        assert_eq!(words("犬 날씨-예보"), ["犬", "날씨", "예보"]);
        assert!(words("明日の天気は？").contains(&"天気".to_owned()));
    }

    #[test]
    fn long_text_gives_a_bounded_number_of_terms() {
        assert!(words(&"word ".repeat(1_000_000)).len() <= MAX_TEXT_BYTES);
        assert!(words(&"é".repeat(1_000_000)).is_empty());
        assert_eq!(words("\u{0}mail\u{202e}\nnow"), ["mail", "now"]);
    }
}
