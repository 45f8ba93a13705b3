//! Damages stored data, as a defect or a forgery would.

use serde_json::Value;

/// Damages the value at some places: an element is removed, duplicated or replaced.
pub fn damaged(mut value: Value, picks: &[(u16, u8)]) -> Value {
    for (node, way) in picks {
        let mut left = usize::from(*node) % count_in(&value);
        damage(&mut value, &mut left, *way);
    }
    value
}

fn count_in(value: &Value) -> usize {
    let inner: usize = match value {
        Value::Array(items) => items.iter().map(count_in).sum(),
        Value::Object(members) => members.values().map(count_in).sum(),
        _ => 0,
    };
    inner + 1
}

/// Skips `left` nodes and damages the next one.
fn damage(value: &mut Value, left: &mut usize, way: u8) -> bool {
    if *left == 0 {
        change(value, way);
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| damage(item, left, way)),
        Value::Object(members) => members.values_mut().any(|item| damage(item, left, way)),
        _ => false,
    }
}

fn change(value: &mut Value, way: u8) {
    match (value, way % 8) {
        (Value::Array(items), 0) => drop(items.pop()),
        (Value::Array(items), 1) if !items.is_empty() => drop(items.remove(0)),
        (Value::Array(items), 2) => items.extend(items.last().cloned()),
        (Value::Array(items), 3) => items.reverse(),
        (Value::Array(items), _) => items.clear(),
        (Value::Object(members), way) => {
            let name = members.keys().nth(usize::from(way) % members.len().max(1)).cloned();
            drop(name.and_then(|name| members.remove(&name)));
        }
        (Value::String(text), 0 | 1) => text.clear(),
        (Value::String(text), 2) => *text = "call_1".into(),
        (Value::String(text), _) => text.push('x'),
        (Value::Number(number), 0) => *number = 0.into(),
        (Value::Number(number), 1) => *number = (-1).into(),
        (Value::Number(number), 2) => *number = u64::MAX.into(),
        (Value::Number(number), _) => *number = u32::MAX.into(),
        (value, 0) => *value = Value::Null,
        (value, _) => *value = serde_json::json!({}),
    }
}
