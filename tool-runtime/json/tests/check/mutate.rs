//! Small changes to a value.

use serde_json::{Value, json};

use crate::draw::{Draws, KEYS, TEXTS, number};

pub(crate) fn any(draws: &mut Draws<'_>, depth: usize) -> Value {
    match draws.below(if depth == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => json!(draws.one_in(2)),
        2 | 3 => number(draws),
        4 => json!(draws.from(&TEXTS)),
        5 => (0..draws.below(4)).map(|_| any(draws, depth - 1)).collect(),
        _ => {
            let members = (0..draws.below(4)).map(|_| {
                let key = draws.from(&KEYS).to_owned();
                (key, any(draws, depth - 1))
            });
            Value::Object(members.collect())
        }
    }
}

/// Makes one small change at any depth.
pub(crate) fn mutate(draws: &mut Draws<'_>, value: &mut Value) {
    match value {
        Value::Array(items) if !items.is_empty() && draws.below(4) > 0 => {
            let at = draws.below(items.len());
            match draws.below(5) {
                0 => items.push(items[at].clone()),
                1 => {
                    items.remove(at);
                }
                _ => mutate(draws, &mut items[at]),
            }
        }
        Value::Object(members) if !members.is_empty() && draws.below(5) > 0 => {
            let keys: Vec<_> = members.keys().cloned().collect();
            let key = draws.from(&keys);
            match draws.below(6) {
                0 => {
                    members.remove(&key);
                }
                1 => {
                    members.insert(draws.from(&KEYS).to_owned(), any(draws, 1));
                }
                2 => {
                    let inner = members.remove(&key).unwrap();
                    members.insert(draws.from(&KEYS).to_owned(), inner);
                }
                _ => mutate(draws, &mut members[&key]),
            }
        }
        Value::Number(found) if draws.below(3) > 0 => {
            let float = found.as_f64().unwrap();
            let changed =
                [json!(float), json!(float + 1.0), json!(float - 1.0), json!(float / 2.0)];
            *value = draws.from(&changed);
        }
        Value::String(text) if draws.below(3) > 0 => match draws.below(3) {
            0 => text.push('a'),
            1 => {
                text.pop();
            }
            _ => *text = draws.from(&TEXTS).to_owned(),
        },
        other => *other = any(draws, 1),
    }
}
