//! Conversion of a fault to a [`Mismatch`].

use serde_json::Value;

use super::describe::Describer;
use super::display::{literal, name, nearest, path, path_to, quoted, single_line, with_type};
use super::phrase::{between, number};
use crate::check::Mismatch;
use crate::check::MismatchKind;
use crate::check::validate::fault::{Fault, PathSegment, ViolatedRule};

pub(in crate::check) fn mismatch<'s>(fault: &Fault<'s, '_>, describe: &Describer<'s>) -> Mismatch {
    let value = fault.value;
    let (kind, expected, found) = match &fault.rule {
        ViolatedRule::Missing { expected_schemas, required_by, .. } => {
            let expected = describe.member(expected_schemas, *required_by);
            (MismatchKind::Missing, expected, String::new())
        }
        ViolatedRule::Unknown { known, patterns } => {
            let expected = known_names(known, patterns);
            (MismatchKind::Unknown, expected, literal(value))
        }
        ViolatedRule::NoneOf(expected_schemas) | ViolatedRule::Tag(expected_schemas) => {
            let expected = describe.any(expected_schemas);
            match describe.choices(expected_schemas) {
                Some(_) => (MismatchKind::Enum, expected, literal(value)),
                None if value.is_array() => (MismatchKind::Array, expected, with_type(value)),
                None => (MismatchKind::Type, expected, with_type(value)),
            }
        }
        ViolatedRule::Range(rules) => (MismatchKind::Range, number(rules), literal(value)),
        ViolatedRule::Multiple(rules) => {
            let expected = number(rules);
            (MismatchKind::Multiple, expected, literal(value))
        }
        ViolatedRule::Length(rules, length) => {
            let expected = between(rules, ["minLength", "maxLength"], "character");
            (MismatchKind::Length, expected, length.to_string())
        }
        ViolatedRule::Pattern(pattern) => {
            let expected = format!("text that matches {}", single_line(pattern, 100));
            (MismatchKind::Pattern, expected, literal(value))
        }
        ViolatedRule::Items(rules, length) => {
            let expected = between(rules, ["minItems", "maxItems"], "item");
            (MismatchKind::Items, expected, length.to_string())
        }
        ViolatedRule::NoMoreItems(max, length) => {
            let s = if *max == 1 { "" } else { "s" };
            let expected = format!("at most {max} item{s}");
            (MismatchKind::Items, expected, length.to_string())
        }
        ViolatedRule::Repeated(first, repeat) => {
            let item = value.get(first).map(literal).unwrap_or_default();
            let expected = "items that all differ".to_owned();
            let found = format!("{item} at both {first} and {repeat}");
            (MismatchKind::Unique, expected, found)
        }
        ViolatedRule::Contains(rules, schema, count) => {
            let items = match between(rules, ["minContains", "maxContains"], "item") {
                unbounded if unbounded.is_empty() => "at least 1 item".to_owned(),
                items => items,
            };
            let expected = format!("{items} like this: {}", describe.schema(schema));
            (MismatchKind::Contains, expected, count.to_string())
        }
        ViolatedRule::Properties(rules, count) => {
            let expected = between(rules, ["minProperties", "maxProperties"], "key");
            (MismatchKind::Properties, expected, count.to_string())
        }
        ViolatedRule::Name(schema, key) => {
            let expected = format!("each key to be {}", describe.schema(schema));
            let found = format!("the key {}", quoted(key));
            (MismatchKind::Name, expected, found)
        }
        ViolatedRule::Excluded(schema) => {
            let expected = format!("anything but {}", describe.schema(schema));
            (MismatchKind::Excluded, expected, literal(value))
        }
        ViolatedRule::Forbidden => {
            let expected = "nothing here: leave it out".to_owned();
            (MismatchKind::Forbidden, expected, String::new())
        }
        ViolatedRule::Ambiguous(matched) => {
            let expected = "a value that fits only one of the shapes allowed".to_owned();
            let found = format!("one that fits {} of them", matched.len());
            (MismatchKind::Ambiguous, expected, found)
        }
        ViolatedRule::Unchecked => {
            let expected = "a value small and flat enough to be checked".to_owned();
            (MismatchKind::Unchecked, expected, String::new())
        }
    };
    Mismatch {
        path: match &fault.rule {
            ViolatedRule::Missing { name, .. } => path_to(&fault.path, name),
            _ => path(&fault.path),
        },
        kind,
        expected,
        found,
        suggestion: suggestion(fault, describe),
    }
}

/// Returns the known spelling that is closest to the actual one.
fn suggestion<'s>(fault: &Fault<'s, '_>, describe: &Describer<'s>) -> Option<String> {
    match (&fault.rule, fault.path.last(), fault.value) {
        (ViolatedRule::Unknown { known, .. }, Some(PathSegment::Key(key)), _) => {
            nearest(key, known.iter().copied()).map(name)
        }
        (
            ViolatedRule::NoneOf(expected_schemas) | ViolatedRule::Tag(expected_schemas),
            _,
            Value::String(text),
        ) => {
            let choices = describe.some_choices(expected_schemas);
            let texts = choices.iter().filter_map(|choice| choice.as_str());
            nearest(text, texts).map(|near| literal(&Value::from(near)))
        }
        _ => None,
    }
}

fn known_names(known: &[&str], patterns: &[&str]) -> String {
    const MOST: usize = 12;
    let mut names: Vec<_> = known.iter().take(MOST).map(|known| name(known)).collect();
    if known.len() > MOST {
        names.push(format!("and {} more", known.len() - MOST));
    }
    match (names.is_empty(), patterns) {
        (false, _) => format!("leave it out, or use {}", names.join(", ")),
        (true, []) => "leave it out".to_owned(),
        (true, [first, ..]) => format!("names must match {}", single_line(first, 100)),
    }
}
