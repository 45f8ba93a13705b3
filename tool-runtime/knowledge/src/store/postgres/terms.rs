//! Terms that searches compare: stems without diacritics, and members of metadata.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

use crate::words::{query_stems, stems};

/// Returns how often a text has each of its stems.
pub(super) fn stem_counts(text: &str) -> BTreeMap<String, i32> {
    let mut counts = BTreeMap::new();
    for stem in stems(text).split_whitespace() {
        let count: &mut i32 = counts.entry(without_diacritics(stem)).or_default();
        *count = count.saturating_add(1);
    }
    counts
}

/// Returns the stems by which a query is searched.
pub(super) fn distinct_query_stems(query: &str) -> BTreeSet<String> {
    query_stems(query).split_whitespace().map(without_diacritics).collect()
}

/// Removes the marks of Latin, Greek and Cyrillic letters, as the index of SQLite does.
fn without_diacritics(stem: &str) -> String {
    if stem.is_ascii() {
        return stem.to_owned();
    }
    let is_letter = |char: &char| !('\u{300}'..='\u{36f}').contains(char);
    stem.nfd().filter(is_letter).nfc().collect()
}

/// Returns a digest of each name and value of metadata. Values are compared as JSON, so that `1`
/// and `"1"` differ.
pub(super) fn member_digests(metadata: &Map<String, Value>) -> Vec<String> {
    // Through text, as those that are read: a number may be another one afterwards.
    let text = Value::Object(metadata.clone()).to_string();
    let metadata = serde_json::from_str(&text).unwrap_or_else(|_| metadata.clone());
    metadata.iter().map(member_digest).collect()
}

fn member_digest((name, value): (&String, &Value)) -> String {
    let mut text = Value::from(name.as_str()).to_string();
    write_sorted(value, &mut text);
    let digest = hmac_sha256::Hash::hash(text.as_bytes());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Writes JSON with sorted names, because equal objects may have them in another order.
fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<_, _> = members.iter().collect();
            text.push('{');
            for (name, value) in sorted {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_sorted(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(item, text);
                text.push(',');
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{distinct_query_stems, member_digests, stem_counts};

    #[test]
    fn stems_are_counted_without_diacritics() {
        let counts: Vec<_> = stem_counts("Café CAFE cafés, été; 日本").into_iter().collect();
        let expected = [("cafe", 3), ("ete", 1), ("日", 1), ("日本", 1), ("本", 1)];
        assert_eq!(counts, expected.map(|(stem, count)| (stem.to_owned(), count)));
        let query: Vec<_> = distinct_query_stems("cafe Café 日本").into_iter().collect();
        assert_eq!(query, ["cafe", "日本"]);
        // Hangul is composed again, and the marks of Thai are letters.
        assert_eq!(stem_counts("한").into_keys().collect::<Vec<_>>(), ["한"]);
        assert_eq!(stem_counts("ที").into_keys().collect::<Vec<_>>(), ["ท", "ที", "ี"]);
    }

    #[test]
    fn members_are_equal_if_name_and_value_are() {
        let digest = |value: serde_json::Value| {
            let members = value.as_object().cloned().unwrap_or_default();
            member_digests(&members).join(" ")
        };
        let equal = json!({ "a": { "x": [1, { "c": 0.5 }], "y": null } });
        let other_order: serde_json::Value =
            serde_json::from_str(r#"{"a": {"y": null, "x": [1, {"c": 5e-1}]}}"#).unwrap();
        assert_eq!(digest(equal), digest(other_order));
        let different = [
            json!({ "a": 1 }),
            json!({ "a": "1" }),
            json!({ "a": 1.0 }),
            json!({ "a": [1] }),
            json!({ "a": { "1": 1 } }),
            json!({ "a\"": 1 }),
            json!({ "a": [[1], 1] }),
            json!({ "a": [1, [1]] }),
            json!({ "a": null }),
        ];
        for (place, metadata) in different.iter().enumerate() {
            for other in &different[place + 1..] {
                assert_ne!(digest(metadata.clone()), digest(other.clone()), "{metadata} {other}");
            }
        }
    }
}
