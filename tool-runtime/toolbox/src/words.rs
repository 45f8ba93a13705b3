//! Words of a text, as the index holds them.

use snowball_stemmers_rs::{Algorithm, Stemmer};

/// The longest word that is indexed, in bytes. Longer ones are encoded data.
const MAX_WORD: usize = 60;

/// Returns the stems of the words of a text, separated by spaces.
///
/// `parseHttpUrl` is indexed as one word and as its three parts.
pub(super) fn stems(text: &str) -> String {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut stems = String::with_capacity(text.len());
    let mut add = |word: &str| {
        if !word.is_empty() && word.len() <= MAX_WORD {
            stems.push_str(&stemmer.stem(&word.to_lowercase()));
            stems.push(' ');
        }
    };
    for word in text.split(|char: char| !char.is_alphanumeric()) {
        add(word);
        if word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase) {
            parts(word, &mut add);
        }
    }
    stems
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
    use super::stems;

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
        }
        assert_eq!(stems(&"x".repeat(61)), "");
    }
}
