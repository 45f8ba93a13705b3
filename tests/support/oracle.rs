//! Whether another's types read all that we wrote.

use serde_json::Value;

/// The first place, as a JSON pointer, where something that was sent is not in what was read of it.
pub fn lost(sent: &Value, read: &Value) -> Option<String> {
    let inner = match (sent, read) {
        (Value::Null, _) => return None,
        (Value::Object(sent), Value::Object(_)) => {
            let member = |(name, value): (&String, &Value)| (name.clone(), value.clone());
            sent.iter().map(member).collect::<Vec<_>>()
        }
        (Value::Array(items), Value::Array(read)) if items.len() == read.len() => {
            let item = |(at, value): (usize, &Value)| (at.to_string(), value.clone());
            items.iter().enumerate().map(item).collect()
        }
        (Value::Number(sent), Value::Number(read)) if sent.as_f64() == read.as_f64() => {
            return None;
        }
        _ => return (sent != read).then(String::new),
    };
    inner.iter().find_map(|(step, value)| {
        let there = read.get(step).or_else(|| read.get(step.parse::<usize>().ok()?));
        let below = lost(value, there.unwrap_or(&Value::Null))?;
        Some(format!("/{step}{below}"))
    })
}
