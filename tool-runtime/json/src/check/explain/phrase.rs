//! Phrases of descriptions.

use serde_json::{Map, Value};

use super::display::{literal, single_line};
use super::format_examples::example;
use crate::check::validate::keywords::{bounds, count, names};

/// The number of choices that are listed before "… and N more".
const MAX_CHOICES: usize = 12;
/// The description of a schema without a rule that could be worded.
pub(in crate::check) const ANY_VALUE: &str = "any value";

/// Describes a number: "an integer from 1 to 7".
pub(in crate::check) fn number(rules: &Map<String, Value>) -> String {
    let is_integer = match rules.get("type") {
        Some(Value::String(kind)) => kind == "integer",
        kinds => names(kinds).any(|kind| kind == "integer"),
    };
    let mut words = if is_integer { "an integer" } else { "a number" }.to_owned();
    let [min, above] = bounds(rules, "minimum", "exclusiveMinimum");
    let [max, below] = bounds(rules, "maximum", "exclusiveMaximum");
    let inclusive: Vec<String> = match (min, max) {
        (Some(min), Some(max)) => vec![format!("from {min} to {max}")],
        (Some(min), None) => vec![format!("of at least {min}")],
        (None, Some(max)) => vec![format!("of at most {max}")],
        (None, None) => vec![],
    };
    let above = above.map(|bound| format!("above {bound}"));
    let below = below.map(|bound| format!("below {bound}"));
    let bounds: Vec<_> = inclusive.into_iter().chain(above).chain(below).collect();
    if !bounds.is_empty() {
        words = format!("{words} {}", bounds.join(" and "));
    }
    match rules.get("multipleOf").filter(|step| step.is_number()) {
        Some(step) => format!("{words} that is a multiple of {step}"),
        None => words,
    }
}

pub(in crate::check) fn text(rules: &Map<String, Value>) -> String {
    if let Some(Value::String(pattern)) = rules.get("pattern") {
        return format!("text that matches {}", single_line(pattern, 100));
    }
    match between(rules, ["minLength", "maxLength"], "character") {
        length if !length.is_empty() => format!("a string of {length}"),
        _ => match rules.get("format") {
            Some(Value::String(format)) => match example(format) {
                Some(example) => format!("a string in {format} format, such as {example:?}"),
                None => format!("a string in {} format", single_line(format, 40)),
            },
            _ => "a string".to_owned(),
        },
    }
}

/// Describes a count: "2 to 5 items", "at least 1 item"; empty without a bound.
pub(in crate::check) fn between(
    rules: &Map<String, Value>,
    [min, max]: [&str; 2],
    noun: &str,
) -> String {
    let s = |count| if count == 1 { "" } else { "s" };
    match (count(rules, min).filter(|min| *min > 0), count(rules, max)) {
        (Some(min), Some(max)) if min == max => {
            format!("exactly {min} {noun}{}", s(min))
        }
        (Some(min), Some(max)) => format!("{min} to {max} {noun}{}", s(max)),
        (Some(min), None) => format!("at least {min} {noun}{}", s(min)),
        (None, Some(max)) => format!("at most {max} {noun}{}", s(max)),
        (None, None) => String::new(),
    }
}

pub(in crate::check) fn one_of(choices: &[&Value]) -> String {
    let listed: Vec<_> = choices.iter().take(MAX_CHOICES).map(|choice| literal(choice)).collect();
    let listed = listed.join(", ");
    match choices.len() {
        1 => listed,
        more if more > MAX_CHOICES => {
            format!("one of {listed}, … and {} more", more - MAX_CHOICES)
        }
        _ => format!("one of {listed}"),
    }
}

pub(in crate::check) fn or(words: &[String]) -> String {
    match words {
        [] => ANY_VALUE.to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

pub(in crate::check) fn without_null(mut choices: Vec<&Value>) -> Vec<&Value> {
    if choices.iter().any(|choice| !choice.is_null()) {
        choices.retain(|choice| !choice.is_null());
    }
    choices
}
