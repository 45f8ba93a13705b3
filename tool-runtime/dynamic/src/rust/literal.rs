//! Texts, values and names as Rust source.

use std::fmt::Write as _;

use serde_json::Value;

/// Words that can't be names in any edition up to 2024, not even as raw identifiers.
const NOT_RAW: [&str; 5] = ["_", "Self", "crate", "self", "super"];

/// Words that can only be names as raw identifiers.
const KEYWORDS: &str = "\
    abstract as async await become box break const continue do dyn else enum extern false \
    final fn for gen if impl in let loop macro match mod move mut override priv pub ref return \
    static struct trait true try type typeof unsafe unsized use virtual where while yield \
    macro_rules";

/// Names that a generated type must not hide from the body.
const KNOWN_TYPES: &str = "\
    Args AsMut AsRef BTreeMap BTreeSet Box Clone Copy Cow Debug Default Deserialize Display \
    DoubleEndedIterator Drop Duration Eq Err Error ExactSizeIterator Extend Fn FnMut FnOnce \
    From FromIterator Hash HashMap HashSet Into IntoIterator Iterator JsonSchema Map None \
    Number Ok Option Ord PartialEq PartialOrd Path PathBuf Result Self Send Serialize Sized \
    Some String Sync ToOwned ToString ToolError TryFrom TryInto Unpin Value Vec";

/// Returns a text as a literal. Everything but printable ASCII is escaped, so that the source shows
/// what it contains.
pub(super) fn text(text: &str) -> String {
    let mut literal = String::from('"');
    for character in text.chars() {
        match character {
            ' '..='~' if character != '"' && character != '\\' => literal.push(character),
            _ => literal.extend(character.escape_default()),
        }
    }
    literal.push('"');
    literal
}

/// Returns a value in the syntax of `serde_json::json!`.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(number) if number.is_u64() => format!("{number}u64"),
        Value::Number(number) if number.is_i64() => format!("{number}i64"),
        Value::Number(number) => format!("{number}f64"),
        Value::String(value) => text(value),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(json).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member =
                |(name, value): (&String, &Value)| format!("{}: {}", text(name), json(value));
            let members: Vec<_> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

/// Returns an identifier for the name of a field, which is one except for keywords.
pub(super) fn field(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if is_in(KEYWORDS, name) {
        return format!("r#{name}");
    }
    if !NOT_RAW.contains(&name) {
        return name.to_owned();
    }
    let mut free = format!("{name}_");
    while is_taken(&free) {
        free.push('_');
    }
    free
}

/// Returns the name of a type for a field, which hides none that the body may use.
pub(super) fn type_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let base = pascal_case(name).unwrap_or_else(|| "Field".to_owned());
    numbered(&base, |name| is_in(KNOWN_TYPES, name) || is_taken(name))
}

/// Returns the name of a variant for a value of a choice.
pub(super) fn variant(value: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let base = pascal_case(value).unwrap_or_else(|| "Value".to_owned());
    numbered(&base, |name| NOT_RAW.contains(&name) || is_taken(name))
}

/// Returns whether a word is among the words of a list.
fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|other| other == word)
}

/// Returns a name, with the first number that makes it free.
fn numbered(base: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = base.to_owned();
    let mut number = 2_u32;
    while is_taken(&name) {
        name.clear();
        let _ = write!(name, "{base}{number}");
        number += 1;
    }
    name
}

/// Returns the words of a text as one name such as `LightRain`, if that is one.
fn pascal_case(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words {
        let mut characters = word.chars();
        name.extend(characters.next().map(|first| first.to_ascii_uppercase()));
        name.extend(characters);
    }
    name.starts_with(|c: char| c.is_ascii_uppercase()).then_some(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{field, json as literal, text, type_name, variant};

    #[test]
    fn texts_show_what_they_contain() {
        for (value, expected) in [
            ("plain", r#""plain""#),
            ("a \"b\" \\ c", r#""a \"b\" \\ c""#),
            ("one\ntwo\t\r", r#""one\ntwo\t\r""#),
            ("é\u{202e}{0}\u{7f}", r#""\u{e9}\u{202e}{0}\u{7f}""#),
        ] {
            assert_eq!(text(value), expected);
        }
    }

    #[test]
    fn values_have_the_types_of_their_numbers() {
        let value = json!({ "a": [1, -2, 0.5, 1e300], "b \"": null, "c": true });
        let expected = r#"{"a": [1u64, -2i64, 0.5f64, 1e+300f64], "b \"": null, "c": true}"#;
        assert_eq!(literal(&value).replace("1e300", "1e+300"), expected);
    }

    #[test]
    fn names_are_identifiers_that_hide_nothing() {
        let free = |_: &str| false;
        for (name, expected) in
            [("city", "city"), ("type", "r#type"), ("gen", "r#gen"), ("self", "self_"), ("_", "__")]
        {
            assert_eq!(field(name, free), expected);
        }
        assert_eq!(field("self", |name| name == "self_"), "self__");
        for (name, expected) in [
            ("home_address", "HomeAddress"),
            ("string", "String2"),
            ("args", "Args2"),
            ("_1", "Field"),
        ] {
            assert_eq!(type_name(name, free), expected);
        }
        for (value, expected) in
            [("light rain", "LightRain"), ("3", "Value"), ("", "Value"), ("self", "Self2")]
        {
            assert_eq!(variant(value, free), expected);
        }
    }
}
