//! The phrases that descriptions are made of.

use serde_json::{Map, Value};

use super::format::example;
use super::found::{line, literal};
use super::rules::{count, names};

/// Choices that are listed before "… and N more".
const MOST_CHOICES: usize = 12;
/// What is said of a schema that has no rule a word could be put to.
pub(super) const ANYTHING: &str = "any value";

/// "an integer from 1 to 7".
pub(super) fn number(rules: &Map<String, Value>) -> String {
    let is_integer = match rules.get("type") {
        Some(Value::String(kind)) => kind == "integer",
        kinds => names(kinds).any(|kind| kind == "integer"),
    };
    let mut words = if is_integer { "an integer" } else { "a number" }.to_owned();
    let bound = |key| rules.get(key).filter(|bound| bound.is_number());
    let bounds: Vec<String> = match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => vec![format!("from {least} to {most}")],
        (Some(least), None) => vec![format!("of at least {least}")],
        (None, Some(most)) => vec![format!("of at most {most}")],
        (None, None) => vec![],
    };
    let above = bound("exclusiveMinimum").map(|bound| format!("above {bound}"));
    let below = bound("exclusiveMaximum").map(|bound| format!("below {bound}"));
    let bounds: Vec<_> = bounds.into_iter().chain(above).chain(below).collect();
    if !bounds.is_empty() {
        words = format!("{words} {}", bounds.join(" and "));
    }
    match bound("multipleOf") {
        Some(step) => format!("{words} that is a multiple of {step}"),
        None => words,
    }
}

pub(super) fn text(rules: &Map<String, Value>) -> String {
    if let Some(Value::String(pattern)) = rules.get("pattern") {
        return format!("text that matches {}", line(pattern, 100));
    }
    match between(rules, ["minLength", "maxLength"], "character") {
        length if !length.is_empty() => format!("a string of {length}"),
        _ => match rules.get("format") {
            Some(Value::String(format)) => match example(format) {
                Some(example) => format!("a string in {format} format, such as {example:?}"),
                None => format!("a string in {} format", line(format, 40)),
            },
            _ => "a string".to_owned(),
        },
    }
}

/// "2 to 5 items", "at least 1 item"; empty without a bound.
pub(super) fn between(rules: &Map<String, Value>, [least, most]: [&str; 2], thing: &str) -> String {
    let s = |count| if count == 1 { "" } else { "s" };
    match (count(rules, least).filter(|least| *least > 0), count(rules, most)) {
        (Some(least), Some(most)) if least == most => {
            format!("exactly {least} {thing}{}", s(least))
        }
        (Some(least), Some(most)) => format!("{least} to {most} {thing}{}", s(most)),
        (Some(least), None) => format!("at least {least} {thing}{}", s(least)),
        (None, Some(most)) => format!("at most {most} {thing}{}", s(most)),
        (None, None) => String::new(),
    }
}

pub(super) fn one_of(choices: &[&Value]) -> String {
    let listed: Vec<_> = choices.iter().take(MOST_CHOICES).map(|choice| literal(choice)).collect();
    let listed = listed.join(", ");
    match choices.len() {
        1 => listed,
        more if more > MOST_CHOICES => {
            format!("one of {listed}, … and {} more", more - MOST_CHOICES)
        }
        _ => format!("one of {listed}"),
    }
}

pub(super) fn or(words: &[String]) -> String {
    match words {
        [] => ANYTHING.to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

pub(super) fn without_null(mut choices: Vec<&Value>) -> Vec<&Value> {
    if choices.iter().any(|choice| !choice.is_null()) {
        choices.retain(|choice| !choice.is_null());
    }
    choices
}
