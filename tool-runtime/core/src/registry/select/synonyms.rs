//! Synonyms among the words that describe tools.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::stem;

/// Each line is a group of synonyms. They are words that tools of all domains have in common; the
/// words of one domain belong into the descriptions of its tools.
const SYNONYMS: [&str; 31] = [
    // What tools do.
    "create add make new insert register generate",
    "delete remove erase drop destroy discard",
    "cancel abort revoke withdraw",
    "find search look lookup query locate seek",
    "get show list view read fetch display see tell",
    "change update edit modify set adjust alter correct",
    "schedule plan arrange book reserve",
    "send forward deliver pass",
    "start run launch begin execute trigger",
    "stop end halt pause finish",
    "move shift transfer reschedule",
    "copy duplicate clone",
    "accept approve agree confirm",
    "decline reject refuse deny",
    "merge join combine",
    "save store keep",
    "calculate compute estimate work",
    "identify recognise recognize detect",
    "check verify validate test",
    "buy purchase order",
    // What tools act on.
    "email mail inbox mailbox",
    "message note comment remark",
    "photo picture image",
    "meeting appointment event",
    "task todo",
    "invoice bill",
    "parcel package shipment",
    "car vehicle",
    "price cost fee",
    "repository repo",
    "deadline due",
];

/// Returns the meanings of the words that have synonyms.
pub(super) fn meanings(words: &[String]) -> Vec<&'static str> {
    words.iter().filter_map(|word| meaning(word)).collect()
}

/// Returns the first word of the group that contains a word.
fn meaning(word: &str) -> Option<&'static str> {
    static MEANINGS: LazyLock<HashMap<String, &str>> = LazyLock::new(|| {
        let lines = SYNONYMS.iter().flat_map(|line| {
            let first = line.split(' ').next().unwrap_or_default();
            line.split(' ').map(move |word| (stem(word), first))
        });
        lines.collect()
    });
    MEANINGS.get(word).copied()
}

#[cfg(test)]
mod tests {
    use super::super::words::words;
    use super::*;

    #[test]
    fn each_word_is_in_one_group() {
        let stems = SYNONYMS.iter().flat_map(|line| line.split(' ').map(stem));
        let mut stems: Vec<_> = stems.collect();
        let count = stems.len();
        stems.sort_unstable();
        stems.dedup();
        assert_eq!(stems.len(), count);
    }

    #[test]
    fn synonyms_share_a_meaning() {
        let meanings_of = |text| meanings(&words(text));
        assert_eq!(meanings_of("deleting photos"), meanings_of("removes a picture"));
        assert_ne!(meanings_of("delete"), meanings_of("create"));
        assert!(meanings_of("chess").is_empty());
    }
}
