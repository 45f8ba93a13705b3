//! The rules of `#[arg(range)]` and `#[arg(length)]` in the schema of an argument.
//!
//! 1. A parameter is a member of the finished schema: [`ArgumentRule::apply`] adds its rule.
//! 2. The field of an args struct can be anywhere in a schema, also in a definition. `#[args]`
//!    marks it by a keyword with the bounds, and [`apply_marks`] replaces the marks by the rules
//!    once all definitions are known. The mark of a rule without effect stays, and
//!    [`unmatched_mark`] finds it.

use std::cell::Cell;
use std::cmp::Ordering;

use serde_json::{Value, json};

use super::Schema;
use super::constraints::any;
use crate::json::__private::resolve;

/// The number of references and branches that are followed to find the types of an argument.
const MAX_PARTS: usize = 100;

/// A rule, and the types to whose values it applies with their keywords for both bounds.
pub(crate) struct ArgumentRule {
    pub(crate) name: &'static str,
    /// The keyword that marks a field with the rule.
    mark: &'static str,
    keywords: &'static [([&'static str; 2], &'static str, &'static str)],
}

/// The rule of `#[arg(range)]`.
pub(crate) const RANGE: ArgumentRule = ArgumentRule {
    name: "range",
    mark: "x-tool-runtime-range",
    keywords: &[(["integer", "number"], "minimum", "maximum")],
};

/// The rule of `#[arg(length)]`.
pub(crate) const LENGTH: ArgumentRule = ArgumentRule {
    name: "length",
    mark: "x-tool-runtime-length",
    keywords: &[
        (["string", "string"], "minLength", "maxLength"),
        (["array", "array"], "minItems", "maxItems"),
        (["object", "object"], "minProperties", "maxProperties"),
    ],
};

/// Returns the types to whose values a rule applies.
pub(crate) fn expected_type(rule: &str) -> &'static str {
    if rule == RANGE.name { "a number" } else { "a string, a list or a map" }
}

impl ArgumentRule {
    /// Returns the parameters with this rule for an argument; `None` if the rule applies to no
    /// value of the argument.
    pub(crate) fn apply(
        &self,
        parameters: &Schema,
        argument: &str,
        bounds: &[Option<Value>; 2],
    ) -> Option<Schema> {
        let document = parameters.as_value();
        let part = document.get("properties")?.get(argument)?;
        let keywords = self.keywords(document, part, bounds).into_iter();
        keywords.fold(None, |next, (keyword, bound)| {
            let current = next.as_ref().unwrap_or(parameters);
            Some(current.with_rule(argument, keyword, bound))
        })
    }

    /// Returns the keywords of this rule in a part of a document; none if the rule applies to no
    /// value of the part.
    fn keywords(
        &self,
        document: &Value,
        part: &Value,
        [min, max]: &[Option<Value>; 2],
    ) -> Vec<(&'static str, Value)> {
        let types = types(document, part);
        let mut keywords = Vec::new();
        for (names, min_keyword, max_keyword) in self.keywords {
            if !types.is_empty() && !names.iter().any(|name| types.contains(name)) {
                continue;
            }
            for (keyword, bound, wider) in
                [(min_keyword, min, Ordering::Less), (max_keyword, max, Ordering::Greater)]
            {
                let Some(bound) = bound else { continue };
                keywords.push((*keyword, narrower(part.get(keyword), bound, wider).clone()));
            }
        }
        keywords
    }
}

/// Replaces the marks of fields by their rules. Returns whether there were any.
pub(super) fn apply_marks(document: &mut Value) -> bool {
    let mut marked = Vec::new();
    find_marked(document, &mut String::new(), &mut marked);
    for path in &marked {
        let Some(Value::Object(part)) = document.pointer(path) else { continue };
        let mut part = part.clone();
        for rule in [RANGE, LENGTH] {
            let Some(mark) = part.remove(rule.mark) else { continue };
            let bound = |index: usize| mark.get(index).filter(|bound| !bound.is_null()).cloned();
            let whole = Value::Object(part.clone());
            let keywords = rule.keywords(document, &whole, &[bound(0), bound(1)]);
            if keywords.is_empty() {
                part.insert(rule.mark.to_owned(), mark);
            }
            part.extend(keywords.into_iter().map(|(name, bound)| (name.to_owned(), bound)));
        }
        if let Some(place) = document.pointer_mut(path) {
            *place = Value::Object(part);
        }
    }
    !marked.is_empty()
}

/// Finds the paths of all parts with marks.
fn find_marked(value: &Value, path: &mut String, marked: &mut Vec<String>) {
    let length = path.len();
    match value {
        Value::Object(members) => {
            if [RANGE, LENGTH].iter().any(|rule| members.contains_key(rule.mark)) {
                marked.push(path.clone());
            }
            for (name, member) in members {
                path.push('/');
                path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                find_marked(member, path, marked);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("/{index}"));
                find_marked(item, path, marked);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// Returns the name of a field whose rule has no effect, and the name of the rule.
pub(super) fn unmatched_mark(document: &Value) -> Option<(&str, &'static str)> {
    let found = Cell::new(None);
    any(document, |rules, _| {
        let members = rules.get("properties").and_then(Value::as_object);
        let unmatched = members.into_iter().flatten().find_map(|(name, part)| {
            let rule = [RANGE, LENGTH].into_iter().find(|rule| part.get(rule.mark).is_some())?;
            Some((name.as_str(), rule.name))
        });
        // The field of a tuple struct or of a variant has no name.
        let unnamed = || {
            let rule = [RANGE, LENGTH].into_iter().find(|rule| rules.contains_key(rule.mark))?;
            Some(("", rule.name))
        };
        let unmatched = unmatched.or_else(unnamed);
        found.set(unmatched);
        unmatched.is_some()
    });
    found.get()
}

/// Returns the bounds of `#[arg(range)]` of a field, as the value of its mark.
#[doc(hidden)]
pub fn range_mark(bounds: &[Option<Value>; 2]) -> Value {
    json!(bounds)
}

/// Returns the bounds of `#[arg(length)]` of a field, as the value of its mark.
#[doc(hidden)]
pub fn length_mark(bounds: &[Option<usize>; 2]) -> Value {
    json!(bounds)
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
