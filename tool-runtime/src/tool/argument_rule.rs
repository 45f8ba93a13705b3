//! The rules of `#[arg(range)]` and `#[arg(length)]` in the schema of an argument.

use std::cmp::Ordering;

use serde_json::Value;

use crate::json::__private::resolve;
use crate::schema::Schema;

/// The number of references and branches that are followed to find the types of an argument.
const MAX_PARTS: usize = 100;

/// A rule, and the types to whose values it applies with their keywords for both bounds.
pub(super) struct ArgumentRule {
    pub(super) name: &'static str,
    keywords: &'static [([&'static str; 2], &'static str, &'static str)],
}

pub(super) const RANGE: ArgumentRule =
    ArgumentRule { name: "range", keywords: &[(["integer", "number"], "minimum", "maximum")] };

pub(super) const LENGTH: ArgumentRule = ArgumentRule {
    name: "length",
    keywords: &[
        (["string", "string"], "minLength", "maxLength"),
        (["array", "array"], "minItems", "maxItems"),
        (["object", "object"], "minProperties", "maxProperties"),
    ],
};

/// Returns the types to whose values a rule applies.
pub(super) fn expected_type(rule: &str) -> &'static str {
    if rule == RANGE.name { "a number" } else { "a string, a list or a map" }
}

impl ArgumentRule {
    /// Returns the parameters with this rule for an argument; `None` if the rule applies to no
    /// value of the argument.
    pub(super) fn apply(
        &self,
        parameters: &Schema,
        argument: &str,
        [min, max]: &[Option<Value>; 2],
    ) -> Option<Schema> {
        let document = parameters.as_value();
        let part = document.get("properties")?.get(argument)?;
        let types = types(document, part);
        let mut next = None;
        for (names, min_keyword, max_keyword) in self.keywords {
            if !types.is_empty() && !names.iter().any(|name| types.contains(name)) {
                continue;
            }
            for (keyword, bound, wider) in
                [(min_keyword, min, Ordering::Less), (max_keyword, max, Ordering::Greater)]
            {
                let Some(bound) = bound else { continue };
                let current = next.as_ref().unwrap_or(parameters);
                let bound = narrower(part.get(keyword), bound, wider);
                next = Some(current.with_rule(argument, keyword, bound.clone()));
            }
        }
        next
    }
}

/// Returns the bound of the type if the new one is wider than that.
fn narrower<'v>(of_type: Option<&'v Value>, new: &'v Value, wider: Ordering) -> &'v Value {
    let numbers = of_type.and_then(|bound| Some((bound, bound.as_f64()?, new.as_f64()?)));
    match numbers {
        Some((bound, old, new)) if new.partial_cmp(&old) == Some(wider) => bound,
        _ => new,
    }
}

/// Returns the types that a schema names; none if it allows any value.
fn types<'s>(document: &'s Value, part: &'s Value) -> Vec<&'s str> {
    let (mut types, mut pending) = (Vec::new(), vec![part]);
    for _ in 0..MAX_PARTS {
        let Some(part) = pending.pop() else { break };
        match part.get("type") {
            Some(Value::Array(names)) => types.extend(names.iter().filter_map(Value::as_str)),
            name => types.extend(name.and_then(Value::as_str)),
        }
        let reference = part.get("$ref").and_then(Value::as_str);
        pending.extend(reference.and_then(|reference| resolve(document, reference)));
        let branches = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| part.get(key));
        pending.extend(branches.filter_map(Value::as_array).flatten());
    }
    types
}
