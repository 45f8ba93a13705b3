//! Words of a text, as the index holds them.
//!
//! Chinese, Japanese, Thai and the like write words without spaces, and Korean with many endings.
//! Their texts are indexed by each character and each pair of neighbors, and searched by pairs.

use std::collections::HashSet;

use snowball_stemmers_rs::{Algorithm, Stemmer};

/// The longest word that is indexed, in bytes. Longer ones are encoded data.
const MAX_WORD: usize = 60;

/// The most bytes of a query that are read.
const MAX_QUERY: usize = 16 << 10;

/// The most stems of a query: the time of a search grows with their number.
const MAX_QUERY_STEMS: usize = 256;

/// Returns the stems of the words of a text, separated by spaces.
///
/// `parseHttpUrl` is indexed as one word and as its three parts.
pub(crate) fn stems(text: &str) -> String {
    collect(text, true)
}

/// Returns the stems by which a query is searched, each once, and only the first ones of a long
/// query. Of a script without spaces, these are the pairs, unless a character stands alone. Most
/// texts have each character somewhere.
pub(crate) fn query_stems(text: &str) -> String {
    let stems = collect(beginning(text, MAX_QUERY), false);
    let mut known = HashSet::new();
    let distinct = stems.split_inclusive(' ').filter(|stem| known.insert(*stem));
    distinct.take(MAX_QUERY_STEMS).collect()
}

/// Returns the beginning of a text: at most this many bytes.
pub(crate) fn beginning(text: &str, max_bytes: usize) -> &str {
    let end = (0..=max_bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

fn collect(text: &str, with_characters: bool) -> String {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut stems = String::with_capacity(text.len());
    let mut add = |word: &str| {
        if !word.is_empty() && word.len() <= MAX_WORD {
            stems.push_str(&stemmer.stem(&word.to_lowercase()));
            stems.push(' ');
        }
    };
    for word in text.split(|char: char| !char.is_alphanumeric() && !is_unspaced(char)) {
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            let is_other = |char| is_unspaced(char) != is_unspaced(first);
            let (run, later) = rest.split_at(rest.find(is_other).unwrap_or(rest.len()));
            rest = later;
            if is_unspaced(first) {
                neighbors(run, with_characters, &mut add);
                continue;
            }
            add(run);
            if run.chars().skip(1).any(char::is_uppercase) && run.chars().any(char::is_lowercase) {
                parts(run, &mut add);
            }
        }
    }
    stems
}

/// Returns whether a character belongs to a script that is searched by pairs of characters.
fn is_unspaced(char: char) -> bool {
    matches!(char,
        '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{eff}' // Thai and Lao
        | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17d3}' // Burmese and Khmer
        | '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}' // Korean
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}' // Hiragana
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{ff66}'..='\u{ff9f}' // Katakana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}') // Chinese
}

/// Passes on the pairs of neighbors of some characters; the character if it is the only one.
fn neighbors(run: &str, with_characters: bool, add: &mut impl FnMut(&str)) {
    let mut previous: Option<usize> = None;
    for (at, char) in run.char_indices() {
        let end = at + char.len_utf8();
        if let Some(start) = previous {
            add(run.get(start..end).unwrap_or_default());
        }
        if with_characters || end == run.len() && previous.is_none() {
            add(run.get(at..end).unwrap_or_default());
        }
        previous = Some(at);
    }
}

/// Passes on the parts of a word in camel case.
fn parts(word: &str, add: &mut impl FnMut(&str)) {
    let mut start = 0;
    let mut is_after_lowercase = false;
    for (at, char) in word.char_indices() {
        if char.is_uppercase() && is_after_lowercase {
            add(word.get(start..at).unwrap_or_default());
            start = at;
        }
        is_after_lowercase = char.is_lowercase() || char.is_numeric();
    }
    if start > 0 {
        add(word.get(start..).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::{beginning, query_stems, stems};

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for (text, expected) in [
            ("Connections, connected!", "connect connect "),
            ("parseUrl of HTTP2", "parseurl pars url of http2 "),
            ("snake_case", "snake case "),
            ("Straße Größe", "straße größe "),
            ("", ""),
        ] {
            assert_eq!(stems(text), expected, "{text}");
            let distinct = expected.replace("connect connect", "connect");
            assert_eq!(query_stems(text), distinct, "{text}");
        }
        assert_eq!(stems(&"x".repeat(61)), "");
    }

    #[test]
    fn scripts_without_spaces_are_divided_into_pairs() {
        for (text, indexed, searched) in [
            ("日本語", "日 日本 本 本語 語 ", "日本 本語 "),
            ("茶", "茶 ", "茶 "),
            ("茶。水", "茶 水 ", "茶 水 "),
            ("サーバーはHTTP2です", "", "サー ーバ バー ーは http2 です "),
            ("도서관에", "", "도서 서관 관에 "),
            ("ที่นี่", "", "ที ี่ ่น นี "),
        ] {
            if !indexed.is_empty() {
                assert_eq!(stems(text), indexed, "{text}");
            }
            assert_eq!(query_stems(text), searched, "{text}");
        }
        let long = "東京都".repeat(1_000);
        assert_eq!(stems(&long).split_whitespace().count(), 5_999);
    }

    #[test]
    fn long_query_has_its_first_stems_once() {
        assert_eq!(query_stems("Tea, teas and TEA"), "tea and ");
        let words: String = (0..10_000).map(|number| format!("w{number} ")).collect();
        let found = query_stems(&words);
        let found: Vec<_> = found.split_whitespace().collect();
        assert_eq!((found.len(), found[0], found[255]), (256, "w0", "w255"));
        assert_eq!(query_stems(&format!("{}tea", " ".repeat(16 << 10))), "");
        assert_eq!(beginning("äö", 3), "ä");
    }
}
