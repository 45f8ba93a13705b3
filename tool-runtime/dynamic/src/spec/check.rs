//! The check of specs, with all errors at once.

use std::collections::HashSet;

use serde_json::Value;
use tool_core::Effect;

use super::checked::CheckedSpec;
use super::error::SpecErrors;
use super::fields::{FieldChecker, text_error};
use super::limits::{
    MAX_BODY_BYTES, MAX_CAPABILITIES, MAX_DESCRIPTION_BYTES, MAX_EXAMPLES, MAX_NAME_BYTES,
    MAX_TIMEOUT_SECONDS, MAX_TOOLS, MAX_VALUE_BYTES,
};
use super::{ExampleCall, PROVIDER, ToolSpec};

pub(super) fn check(spec: &ToolSpec) -> Result<CheckedSpec, SpecErrors> {
    let mut errors = SpecErrors::default();
    if !is_tool_name(&spec.name) {
        let message = format!(
            "expected 1 to {MAX_NAME_BYTES} lower-case letters, digits and `_`, a letter first, \
             without `__`"
        );
        errors.push("name", message);
    }
    let texts = [
        ("description", &spec.description, MAX_DESCRIPTION_BYTES),
        ("body", &spec.body, MAX_BODY_BYTES),
    ];
    for (path, text, limit) in texts {
        if text.trim().is_empty() {
            errors.push(path, "expected a text, got an empty one");
        } else if let Some(message) = text_error(text, limit) {
            errors.push(path, message);
        }
    }
    let fields = FieldChecker::new(&mut errors).fields(&spec.fields, "fields", 1);
    check_names(&mut errors, "capabilities", &spec.capabilities, MAX_CAPABILITIES);
    check_names(&mut errors, "tools", &spec.tools, MAX_TOOLS);
    if let Some(index) = spec.tools.iter().position(|name| is_name_of(name, spec)) {
        errors.push(format!("tools[{index}]"), "remove it: a tool can't call itself");
    }
    let is_isolated = spec.capabilities.is_empty() && spec.tools.is_empty();
    if spec.effect == Effect::None && !is_isolated {
        let message = "expected `read`, `write` or `external`: the tool has capabilities or calls \
                       tools";
        errors.push("effect", message);
    }
    if let Some(seconds) = spec.timeout_seconds
        && !(1..=MAX_TIMEOUT_SECONDS).contains(&seconds)
    {
        let message = format!("expected 1 to {MAX_TIMEOUT_SECONDS} seconds, got {seconds}");
        errors.push("timeout_seconds", message);
    }
    check_sizes(&mut errors, &spec.examples);
    let has_valid_fields = !errors.iter().any(|error| error.path.starts_with("fields"));
    let checked = CheckedSpec::new(spec.clone(), fields);
    if has_valid_fields {
        for (index, example) in spec.examples.iter().take(MAX_EXAMPLES).enumerate() {
            check_arguments(&mut errors, &checked, example, index);
        }
    }
    if errors.is_empty() { Ok(checked) } else { Err(errors) }
}

/// Returns whether a name is the own or the full name of the tool of a spec.
fn is_name_of(name: &str, spec: &ToolSpec) -> bool {
    let own_name = name.strip_prefix(PROVIDER).and_then(|rest| rest.strip_prefix("__"));
    own_name.unwrap_or(name) == spec.name
}

fn is_tool_name(name: &str) -> bool {
    let mut chars = name.chars();
    name.len() <= MAX_NAME_BYTES
        // It separates a provider from the name of a tool.
        && !name.contains("__")
        && chars.next().is_some_and(|first| first.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Checks the number of names, their form, and that there is none twice.
fn check_names(errors: &mut SpecErrors, path: &str, names: &[String], limit: usize) {
    if names.len() > limit {
        errors.push(path, format!("expected at most {limit} names, got {}", names.len()));
        return;
    }
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let mut distinct = HashSet::new();
    for (index, name) in names.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if !(1..=128).contains(&name.len()) || !name.chars().all(is_allowed) {
            errors.push(&path, "expected 1 to 128 letters, digits, `_`, `-`, `.` and `/`");
        }
        if !distinct.insert(name) {
            errors.push(&path, "expected a name that no other has");
        }
    }
}

/// Returns what is wrong with the number and the sizes of example calls, for any tool.
#[cfg(feature = "catalog")]
pub(crate) fn check_examples(examples: &[ExampleCall]) -> SpecErrors {
    let mut errors = SpecErrors::default();
    check_sizes(&mut errors, examples);
    errors
}

fn check_sizes(errors: &mut SpecErrors, examples: &[ExampleCall]) {
    if examples.len() > MAX_EXAMPLES {
        let count = examples.len();
        errors.push("examples", format!("expected at most {MAX_EXAMPLES} calls, got {count}"));
    }
    for (index, example) in examples.iter().take(MAX_EXAMPLES).enumerate() {
        let arguments = Value::from(example.arguments.clone());
        for (name, value) in [("arguments", Some(&arguments)), ("output", example.output.as_ref())]
        {
            let message = value.and_then(|value| text_error(&value.to_string(), MAX_VALUE_BYTES));
            if let Some(message) = message {
                errors.push(format!("examples[{index}].{name}"), message);
            }
        }
    }
}

fn check_arguments(
    errors: &mut SpecErrors,
    checked: &CheckedSpec,
    example: &ExampleCall,
    index: usize,
) {
    let arguments = Value::from(example.arguments.clone());
    for mismatch in checked.definition().parameters.check(&arguments) {
        errors.push(format!("examples[{index}].arguments"), mismatch.to_string());
    }
}
