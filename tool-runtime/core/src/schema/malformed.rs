//! Keywords whose values are not of their kind, which validation would ignore.

use serde_json::{Map, Value};

use super::constraints::{
    SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS, is_reachable,
};
use super::pattern::is_malformed;
use crate::json::__private::resolve;

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// A keyword that has a value of the wrong kind.
#[derive(Debug)]
pub(crate) struct MalformedKeyword {
    /// The keywords that lead to it from the root or from a definition, joined by points.
    pub(crate) path: String,
    pub(crate) value: Value,
    pub(crate) expected: &'static str,
}

/// Keywords other than those that hold schemas, with the kind of their value.
type Kind = (&'static str, fn(&Value) -> bool);

const A_NUMBER: Kind = ("a number", Value::is_number);
const A_COUNT: Kind = ("a whole number of at least 0", is_count);
const A_BOOLEAN: Kind = ("true or false", Value::is_boolean);
const A_SCHEMA: &str = "a schema";

const KINDS: [(&str, Kind); 23] = [
    ("$ref", ("a string", Value::is_string)),
    ("dependentRequired", ("lists of names by name", is_map_of_names)),
    ("enum", ("a list", Value::is_array)),
    // A boolean before draft 6.
    ("exclusiveMaximum", ("a number", is_exclusive_bound)),
    ("exclusiveMinimum", ("a number", is_exclusive_bound)),
    ("maxContains", A_COUNT),
    ("maxItems", A_COUNT),
    ("maxLength", A_COUNT),
    ("maxProperties", A_COUNT),
    ("maximum", A_NUMBER),
    ("minContains", A_COUNT),
    ("minItems", A_COUNT),
    ("minLength", A_COUNT),
    ("minProperties", A_COUNT),
    ("minimum", A_NUMBER),
    ("multipleOf", ("a number above 0", is_above_zero)),
    ("pattern", ("a regular expression", is_pattern)),
    ("required", ("a list of names", is_names)),
    ("type", ("the name of a type, or a list of them", is_type)),
    ("uniqueItems", A_BOOLEAN),
    ("writeOnly", A_BOOLEAN),
    // Without a branch, they would add no rule.
    ("anyOf", ("a list of at least one schema", is_branches)),
    ("oneOf", ("a list of at least one schema", is_branches)),
];

/// Returns the first keyword whose value is not of its kind. The depth of the schema is limited by
/// the caller.
pub(super) fn malformed_keyword(schema: &Value) -> Option<MalformedKeyword> {
    let mut search = Search { root: schema, followed: Vec::new(), pending: Vec::new() };
    let mut found = search.schema(schema);
    while found.is_none()
        && let Some(reference) = search.pending.pop()
    {
        found = resolve(schema, reference).and_then(|target| {
            let mut found = if is_schema(target) {
                search.schema(target)
            } else {
                Some(malformed(target, A_SCHEMA))
            };
            found.iter_mut().for_each(|found| found.prepend(reference));
            found
        });
    }
    found
}

struct Search<'s> {
    root: &'s Value,
    /// The references to parts that the walk does not reach by itself; each is followed once.
    followed: Vec<&'s str>,
    pending: Vec<&'s str>,
}

impl<'s> Search<'s> {
    fn schema(&mut self, schema: &'s Value) -> Option<MalformedKeyword> {
        let rules = schema.as_object()?;
        rules.iter().find_map(|(keyword, value)| {
            let mut found = self.keyword(keyword, value);
            found.iter_mut().for_each(|found| found.prepend(keyword));
            found
        })
    }

    fn keyword(&mut self, keyword: &str, value: &'s Value) -> Option<MalformedKeyword> {
        if let Some((_, (expected, is_valid))) = KINDS.iter().find(|(name, _)| *name == keyword)
            && !is_valid(value)
        {
            return Some(malformed(value, expected));
        }
        if keyword == "$ref"
            && let Some(reference) = value.as_str()
            && !is_reachable(reference)
            && !self.followed.contains(&reference)
            && resolve(self.root, reference).is_some()
        {
            self.followed.push(reference);
            self.pending.push(reference);
        }
        match value {
            Value::Array(parts) if SCHEMA_LIST_KEYWORDS.contains(&keyword) => {
                parts.iter().enumerate().find_map(|(at, part)| self.part(&at.to_string(), part))
            }
            _ if SCHEMA_KEYWORDS.contains(&keyword) && is_schema(value) => self.schema(value),
            _ if SCHEMA_KEYWORDS.contains(&keyword) => Some(malformed(value, A_SCHEMA)),
            _ if SCHEMA_LIST_KEYWORDS.contains(&keyword) => {
                Some(malformed(value, "a list of schemas"))
            }
            _ if SCHEMA_MAP_KEYWORDS.contains(&keyword) => match value {
                Value::Object(parts) => self.map(keyword, parts),
                _ => Some(malformed(value, "schemas by name")),
            },
            _ => None,
        }
    }

    fn map(&mut self, keyword: &str, parts: &'s Map<String, Value>) -> Option<MalformedKeyword> {
        parts.iter().find_map(|(name, part)| {
            if keyword == "patternProperties" && is_malformed(name) {
                return Some(malformed(&name.as_str().into(), "regular expressions as names"));
            }
            self.part(name, part)
        })
    }

    fn part(&mut self, name: &str, part: &'s Value) -> Option<MalformedKeyword> {
        let mut found =
            if is_schema(part) { self.schema(part) } else { Some(malformed(part, A_SCHEMA)) };
        found.iter_mut().for_each(|found| found.prepend(name));
        found
    }
}

impl MalformedKeyword {
    fn prepend(&mut self, step: &str) {
        let separator = if self.path.is_empty() { "" } else { "." };
        self.path.insert_str(0, separator);
        self.path.insert_str(0, step);
    }
}

fn malformed(value: &Value, expected: &'static str) -> MalformedKeyword {
    MalformedKeyword { path: String::new(), value: value.clone(), expected }
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn is_branches(value: &Value) -> bool {
    value.as_array().is_some_and(|branches| !branches.is_empty())
}

fn is_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

fn is_map_of_names(value: &Value) -> bool {
    value.as_object().is_some_and(|lists| lists.values().all(is_names))
}

fn is_type(value: &Value) -> bool {
    let is_name = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    match value {
        Value::Array(names) => !names.is_empty() && names.iter().all(is_name),
        name => is_name(name),
    }
}

fn is_exclusive_bound(value: &Value) -> bool {
    value.is_number() || value.is_boolean()
}

fn is_count(value: &Value) -> bool {
    value.is_u64() || value.as_f64().is_some_and(|count| count >= 0.0 && count.fract() == 0.0)
}

fn is_above_zero(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number > 0.0)
}

fn is_pattern(value: &Value) -> bool {
    value.as_str().is_some_and(|pattern| !is_malformed(pattern))
}
