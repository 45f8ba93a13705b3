//! Tests of each coercion: what it changes, and what it must leave unchanged.

use serde_json::{Value, json};

use crate::{FixKind, parse_as};

mod branches;
mod calls;
mod containers;
mod large_schemas;
mod scalars;

/// Parses `text`, and returns the JSON of the result with the kinds of the fixes.
fn read(text: &str, schema: &Value) -> (String, Vec<FixKind>) {
    let parsed = parse_as(text, schema).unwrap();
    assert_eq!(serde_json::from_str::<Value>(parsed.json()).unwrap(), parsed.value);
    (parsed.json().to_owned(), parsed.fixes.iter().map(|fix| fix.kind).collect())
}

fn changed(schema: &Value, cases: &[(&str, &str, &[FixKind])]) {
    for (text, expected, kinds) in cases {
        let (json, fixes) = read(text, schema);
        assert_eq!(json, *expected, "{text} for {schema}");
        assert_eq!(fixes, *kinds, "{text} for {schema}");
        let (reread, none) = read(&json, schema);
        assert_eq!((reread, none), (json, Vec::new()), "{text} for {schema}");
    }
}

fn unchanged(schema: &Value, texts: &[&str]) {
    for text in texts {
        assert_eq!(read(text, schema), ((*text).to_owned(), Vec::new()), "{text} for {schema}");
    }
}

/// The schema of an object with one required member `v`.
fn member(schema: &Value) -> Value {
    json!({"type": "object", "properties": {"v": schema}, "required": ["v"]})
}

fn member_changed(schema: &Value, cases: &[(&str, &str, &[FixKind])]) {
    let texts: Vec<_> = cases
        .iter()
        .map(|(text, expected, kinds)| {
            (format!("{{\"v\":{text}}}"), format!("{{\"v\":{expected}}}"), kinds)
        })
        .collect();
    for (text, expected, kinds) in &texts {
        changed(&member(schema), &[(text, expected, kinds)]);
    }
}

fn member_unchanged(schema: &Value, values: &[&str]) {
    for value in values {
        unchanged(&member(schema), &[&format!("{{\"v\":{value}}}")]);
    }
}
