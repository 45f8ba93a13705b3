//! Compares sent JSON with what the types of another library read from it.

use proptest::prelude::*;
use serde_json::{Value, json};
use tool_runtime::{ChatOptions, ToolChoice};

/// Returns the JSON pointer of the first sent value that is missing in the value that was read.
pub fn lost(expected: &Value, read: &Value) -> Option<String> {
    let inner = match (expected, read) {
        (Value::Null, _) => return None,
        (Value::Object(expected), Value::Object(_)) => {
            let member = |(name, value): (&String, &Value)| (name.clone(), value.clone());
            expected.iter().map(member).collect::<Vec<_>>()
        }
        (Value::Array(items), Value::Array(read)) if items.len() == read.len() => {
            let item = |(at, value): (usize, &Value)| (at.to_string(), value.clone());
            items.iter().enumerate().map(item).collect()
        }
        (Value::Number(expected), Value::Number(read)) if expected.as_f64() == read.as_f64() => {
            return None;
        }
        _ => return (expected != read).then(String::new),
    };
    inner.iter().find_map(|(step, value)| {
        let value_read = read.get(step).or_else(|| read.get(step.parse::<usize>().ok()?));
        let below = lost(value, value_read.unwrap_or(&Value::Null))?;
        Some(format!("/{step}{below}"))
    })
}

/// Generates options for a request that offers the tool `weather.get`.
pub fn options() -> impl Strategy<Value = ChatOptions> {
    let choice = prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::Required),
        Just(ToolChoice::None),
        Just(ToolChoice::Tool("weather.get".into())),
    ];
    let set = (any::<bool>(), any::<bool>(), any::<bool>());
    (choice, any::<Option<bool>>(), set).prop_map(|(choice, parallel, set)| {
        let mut options = ChatOptions::default().tool_choice(choice);
        options.parallel_calls = parallel;
        if set.0 {
            options = options.temperature(0.5).max_tokens(100).extra("seed", 7);
        }
        if set.1 {
            options = options.output(json!({ "type": "object", "properties": {} }));
        }
        if set.2 {
            options = options.stop("END").stop("\n");
        }
        options
    })
}
