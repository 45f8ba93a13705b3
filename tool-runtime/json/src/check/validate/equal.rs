//! Equality in JSON Schema: 1 equals 1.0, and the order of members is irrelevant.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};

use serde_json::Value;

use super::exact_number::ExactNumber;

pub(in crate::check) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            ExactNumber::of(left) == ExactNumber::of(right)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, left)| right.get(key).is_some_and(|right| equal(left, right)))
        }
        (left, right) => left == right,
    }
}

/// Returns the positions of the first two equal items. Hashing keeps the time linear.
pub(in crate::check) fn first_repeat(items: &[Value]) -> Option<(usize, usize)> {
    let keys = RandomState::new();
    let mut by_hash: HashMap<u64, Vec<(usize, &Value)>> = HashMap::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let same_hash = by_hash.entry(hash(item, &keys)).or_default();
        if let Some((first, _)) = same_hash.iter().find(|(_, other)| equal(other, item)) {
            return Some((*first, at));
        }
        same_hash.push((at, item));
    }
    None
}

/// Hashes a value so that equal values have equal hashes. The hashes of members are added, because
/// their order is irrelevant.
fn hash(value: &Value, keys: &RandomState) -> u64 {
    let mut hasher = keys.build_hasher();
    std::mem::discriminant(value).hash(&mut hasher);
    match value {
        Value::Null => {}
        Value::Bool(truth) => truth.hash(&mut hasher),
        Value::Number(number) => match ExactNumber::of(number) {
            ExactNumber::Whole(whole) => whole.hash(&mut hasher),
            ExactNumber::Other(float) => float.to_bits().hash(&mut hasher),
        },
        Value::String(text) => text.hash(&mut hasher),
        Value::Array(items) => {
            for item in items {
                hash(item, keys).hash(&mut hasher);
            }
        }
        Value::Object(members) => {
            let sum = members.iter().fold(0_u64, |sum, (key, value)| {
                sum.wrapping_add(keys.hash_one((key, hash(value, keys))))
            });
            sum.hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::{equal, first_repeat};
    use serde_json::json;

    #[test]
    fn numbers_are_equal_by_value_at_any_depth() {
        assert!(equal(&json!([{"a": 1}]), &json!([{"a": 1.0}])));
        assert!(!equal(&json!({"a": 1}), &json!({"a": 1, "b": 2})));
        assert!(!equal(&json!(1), &json!(true)));
        assert!(!equal(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992.0)));
    }

    #[test]
    fn repeats_are_found_by_value() {
        assert_eq!(first_repeat(json!([1, "1", 1.0]).as_array().unwrap()), Some((0, 2)));
        let objects = json!([{"a": 1, "b": [2]}, {"b": [3], "a": 1}, {"b": [2.0], "a": 1}]);
        assert_eq!(first_repeat(objects.as_array().unwrap()), Some((0, 2)));
        assert_eq!(first_repeat(json!([[], {}, "", 0, false, null]).as_array().unwrap()), None);
    }
}
