//! Text → the words that a search compares.

use std::borrow::Cow;
use std::iter;

/// The most bytes that are read of one text, which may come from outside and be endless.
const LONGEST_TEXT: usize = 32 * 1_024;

/// A word longer than this is no word, such as encoded data.
const LONGEST_WORD: usize = 40;

/// Endings that a word may have or not.
const ENDINGS: [&str; 5] = ["ment", "ing", "ed", "er", "e"];

/// What is left when an ending is taken off has to tell words apart.
const SHORTEST_STEM: usize = 3;

/// Words that say nothing of what a tool does.
const STOP_WORDS: [&str; 80] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "he", "her", "here", "his", "how", "i",
    "if", "in", "into", "is", "it", "its", "many", "me", "much", "my", "no", "not", "of", "on",
    "or", "our", "please", "s", "she", "should", "so", "some", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "to", "up", "us", "want", "was",
    "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your",
];

/// The words of a text: split at everything that is no letter or digit and where small letters turn into capitals,
/// and takes English endings off, so that `listEvents`, `list_events` and "listing an event" are the
/// same. In scripts that put no spaces between words, each two neighbours are taken for one.
pub(super) fn words(text: &str) -> Vec<String> {
    let text = beginning(text, LONGEST_TEXT);
    let mut words = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric() && c != '-') {
        for run in unhyphened(run) {
            for (run, is_unspaced) in by_script(&run) {
                match is_unspaced {
                    true => words.extend(pairs(run)),
                    false => split_at_capitals(run, |word| words.extend(normal(word))),
                }
            }
        }
    }
    words
}

/// At most so many bytes of a text, in whole characters.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    let ends = (0..=most.min(text.len())).rev();
    ends.into_iter().find_map(|end| text.get(..end)).unwrap_or_default()
}

/// Cuts where a script without spaces begins or ends, and says of each piece whether it is in one.
fn by_script(run: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = run;
    iter::from_fn(move || {
        let is_unspaced = is_unspaced(rest.chars().next()?);
        let other = |c: char| self::is_unspaced(c) != is_unspaced;
        let (piece, behind) = rest.split_at_checked(rest.find(other).unwrap_or(rest.len()))?;
        rest = behind;
        Some((piece, is_unspaced))
    })
}

/// Thai and its neighbours, kana, Han, Hangul.
const fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

/// Each character with the next; one alone stands for itself.
fn pairs(run: &str) -> impl Iterator<Item = String> {
    let alone = Some(run.to_owned()).filter(|run| run.chars().nth(1).is_none());
    let next = run.chars().skip(1);
    run.chars().zip(next).map(|(a, b)| String::from_iter([a, b])).chain(alone)
}

/// The word as it is compared, unless it says nothing.
fn normal(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    // A number is what a tool is given, not what it does.
    let is_number = word.chars().all(char::is_numeric);
    let says_nothing =
        is_number || word.len() > LONGEST_WORD || STOP_WORDS.contains(&word.as_str());
    (!says_nothing).then(|| stem(&word).to_owned())
}

/// `e-mail` and `to-do` are one word each, `check-in` is two.
fn unhyphened(run: &str) -> Vec<Cow<'_, str>> {
    match run.split_once('-') {
        Some((first, _)) if (1..=2).contains(&first.len()) => vec![run.replace('-', "").into()],
        _ => run.split('-').map(Cow::Borrowed).collect(),
    }
}

/// `parseHTTPReply2` → `parse`, `HTTP`, `Reply2`.
fn split_at_capitals(run: &str, mut take: impl FnMut(&str)) {
    let mut rest = run;
    let mut before: Option<(char, char)> = None;
    let mut start = 0;
    for (at, c) in run.char_indices() {
        // A capital that a small letter follows begins a word, also behind other capitals.
        let cut = match before {
            Some((_, last)) if c.is_uppercase() && !last.is_uppercase() => Some(at),
            Some((ante, last))
                if c.is_lowercase() && last.is_uppercase() && ante.is_uppercase() =>
            {
                Some(at - last.len_utf8())
            }
            _ => None,
        };
        let cut = cut.filter(|cut| *cut > start);
        if let Some((word, behind)) = cut.and_then(|cut| rest.split_at_checked(cut - start)) {
            take(word);
            start += word.len();
            rest = behind;
        }
        before = Some((before.map_or(c, |(_, last)| last), c));
    }
    if !rest.is_empty() {
        take(rest);
    }
}

/// The word without its ending. What is left need not be a word; only the same for its forms.
pub(super) fn stem(word: &str) -> &str {
    let singular = singular(word);
    let stem = ENDINGS.iter().find_map(|ending| without(singular, ending)).unwrap_or(singular);
    // "mention" and "mentioned", then "reservation" and "reserve", "create" and "creation".
    let stem = ["ion", "at"].iter().fold(stem, |stem, end| without(stem, end).unwrap_or(stem));
    // "cancelled" and "cancel", "query" and "queries".
    let mut last = stem.chars().rev();
    match (last.next(), last.next()) {
        (Some('y'), _) => stem.strip_suffix('y').unwrap_or(stem),
        (Some(a), Some(b)) if a == b && a.is_ascii_alphabetic() => {
            stem.strip_suffix(a).unwrap_or(stem)
        }
        _ => stem,
    }
}

fn without<'a>(word: &'a str, ending: &str) -> Option<&'a str> {
    word.strip_suffix(ending).filter(|stem| stem.len() >= SHORTEST_STEM)
}

fn singular(word: &str) -> &str {
    let stem = word.strip_suffix("ies").or_else(|| {
        let hissing = ["ses", "xes", "zes", "ches", "shes"].iter();
        let is_hissing = hissing.into_iter().any(|end| word.ends_with(end));
        word.strip_suffix("es").filter(|_| is_hissing)
    });
    let stem = stem.or_else(|| {
        let stays = ["ss", "us", "is"].iter().any(|end| word.ends_with(end));
        word.strip_suffix('s').filter(|_| !stays)
    });
    stem.filter(|stem| stem.len() >= SHORTEST_STEM).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sentences_give_the_same_words() {
        for (one, other) in [
            ("listCalendarEvents", "list_calendar_events"),
            ("HTTPRequest", "http request"),
            ("create", "creating"),
            ("cancelled", "cancel"),
            ("cancellation", "cancel"),
            ("creation", "create"),
            ("mentions", "mentioned"),
            ("reminder", "remind"),
            ("e-mail a to-do", "email todo"),
            ("look up 2 users", "look user"),
            ("queries", "query"),
            ("boxes", "box"),
            ("invoices", "invoice"),
            ("shipments", "ship"),
            ("translation", "translate"),
            ("reservation", "Reserve"),
            ("the status of an address", "STATUS, address!"),
        ] {
            assert_eq!(words(one), words(other), "{one} and {other}");
        }
    }

    #[test]
    fn other_words_stay_others() {
        for (one, other) in [("user", "us"), ("bus", "bu"), ("ring", "r"), ("station", "st")] {
            assert_ne!(words(one), words(other), "{one} and {other}");
        }
    }

    #[test]
    fn capitals_split_wherever_they_stand() {
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
    fn scripts_without_spaces_are_compared_by_pairs() {
        assert_eq!(words("天気予報"), ["天気", "気予", "予報"]);
        assert_eq!(words("PDFを読む"), ["pdf", "を読", "読む"]);
        assert_eq!(words("犬 날씨-예보"), ["犬", "날씨", "예보"]);
        assert!(words("明日の天気は？").contains(&"天気".to_owned()));
    }

    #[test]
    fn hostile_text_is_bounded() {
        assert!(words(&"word ".repeat(1_000_000)).len() <= LONGEST_TEXT);
        assert!(words(&"é".repeat(1_000_000)).is_empty());
        assert_eq!(words("\u{0}mail\u{202e}\nnow"), ["mail", "now"]);
    }
}
