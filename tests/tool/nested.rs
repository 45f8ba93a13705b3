//! Nested structs, and enums next to members.

use tool_runtime::{args, tool};

use serde_json::Value;

use super::arguments::output_of_each_encoding;
use super::{call, refusal};

#[args]
struct Pay {
    from: Account,
    to: Vec<Account>,
    note: Option<Note>,
}

#[args]
struct Account {
    bank: String,
    number: String,
}

#[args]
enum Note {
    Text(String),
    Pair(String, String),
    Full { title: String, body: String },
    Of(Account),
}

/// Pays.
#[tool]
async fn pay(pay: Pay) -> String {
    let note = match pay.note {
        Some(Note::Text(text)) => text,
        Some(Note::Pair(title, body) | Note::Full { title, body }) => title + &body,
        Some(Note::Of(account)) => account.bank + &account.number,
        None => String::new(),
    };
    let to: Vec<_> = pay.to.iter().map(|to| format!("{}{}", to.bank, to.number)).collect();
    format!("{}{} {to:?} {note}", pay.from.bank, pay.from.number)
}

/// Pays as well.
#[tool]
async fn pay_named(from: Account, to: Vec<Account>) -> String {
    format!("{}{} {}", from.bank, from.number, to.len())
}

#[tokio::test]
async fn array_is_not_accepted_for_a_struct() {
    let a = r#"{"bank": "A", "number": "1"}"#;
    for (json, expected) in [
        (format!(r#"{{"from": {a}, "to": [{a}]}}"#), Some(r#"A1 ["A1"] "#)),
        (format!(r#"{{"from": {a}, "to": [], "note": {{"Text": "x"}}}}"#), Some("A1 [] x")),
        (format!(r#"{{"from": {a}, "to": [], "note": {{"Pair": ["x", "y"]}}}}"#), Some("A1 [] xy")),
        (
            format!(
                r#"{{"from": {a}, "to": [], "note": {{"Full": {{"title": "x", "body": "y"}}}}}}"#
            ),
            Some("A1 [] xy"),
        ),
        (format!(r#"{{"from": {a}, "to": [], "note": {{"Of": {a}}}}}"#), Some("A1 [] A1")),
        (format!(r#"[{a}, [{a}]]"#), None),
        (format!(r#"{{"from": ["A", "1"], "to": [{a}]}}"#), None),
        (format!(r#"{{"from": {a}, "to": [["A", "1"]]}}"#), None),
        (format!(r#"{{"from": {a}, "to": [], "note": {{"Full": ["x", "y"]}}}}"#), None),
        (format!(r#"{{"from": {a}, "to": [], "note": {{"Of": ["A", "1"]}}}}"#), None),
    ] {
        assert_eq!(output_of_each_encoding(&pay {}, &json).await.as_deref(), expected, "{json}");
        if let Ok(value) = serde_json::from_str::<Value>(&json) {
            assert_eq!(call(&pay {}, value).await.ok().as_deref(), expected, "{json}");
        }
    }
    let named = format!(r#"{{"from": ["A", "1"], "to": [{a}]}}"#);
    assert_eq!(output_of_each_encoding(&pay_named {}, &named).await, None);
    let text = refusal(&pay_named {}, named).await;
    assert!(text.contains("`from`: expected an object"), "{text}");
}

#[args]
enum Way {
    Bus { line: u8 },
    Train { number: String },
}

#[args]
struct Journey {
    passengers: u8,
    #[serde(flatten)]
    way: Way,
}

/// Travels.
#[tool]
async fn travel(journey: Journey) -> String {
    match journey.way {
        Way::Bus { line } => format!("{} by bus {line}", journey.passengers),
        Way::Train { number } => format!("{} by train {number}", journey.passengers),
    }
}

#[tokio::test]
async fn errors_never_suggest_to_omit_required_members() {
    let text = call(&travel {}, r#"{"passengers": 2, "Bus": {"line": 7}}"#).await.unwrap();
    assert_eq!(text, "2 by bus 7");
    let text = refusal(&travel {}, r#"{"passengers": 2}"#).await;
    assert!(!text.contains("leave it out") && text.contains("`Bus`"), "{text}");
}
