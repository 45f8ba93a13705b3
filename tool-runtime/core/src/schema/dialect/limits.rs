//! Size limits of schemas.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::location::SchemaLocation;
use super::{Dialect, DialectError, UnsupportedSchema};

/// Limits of OpenAI, for one schema.
const MAX_MEMBERS: usize = 5_000;
const MAX_DEPTH: usize = 10;
const MAX_CHARACTERS: usize = 120_000;
const MAX_VALUES: usize = 1_000;
const MANY_VALUES: usize = 250;
const MAX_CHARACTERS_OF_MANY: usize = 15_000;

/// Limits of Anthropic, for one request.
const MAX_STRICT_TOOLS: usize = 20;
const MAX_OPTIONAL: usize = 24;
const MAX_UNIONS: usize = 16;

pub(super) fn check_openai(document: &Value) -> Result<(), UnsupportedSchema> {
    let (mut members, mut characters, mut values, mut is_long_list) = (0, 0, 0, false);
    each(document, &mut |rules| {
        let named = ["properties", "$defs"].map(|key| members_of(rules, key));
        members += named[0].clone().count();
        characters += named.into_iter().flatten().map(|(name, _)| count(name)).sum::<usize>();
        let listed = rules.get("enum").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let texts: usize = listed.iter().filter_map(Value::as_str).map(count).sum();
        is_long_list |= listed.len() > MANY_VALUES && texts > MAX_CHARACTERS_OF_MANY;
        characters += texts;
        values += listed.len();
    });
    let depth = Depths { document, known: BTreeMap::new(), open: BTreeSet::new() }.of(document);
    let checks = [
        (members > MAX_MEMBERS, format!("member limit exceeded: {members} of {MAX_MEMBERS}")),
        (depth > MAX_DEPTH, format!("nesting limit exceeded: {depth} of {MAX_DEPTH}")),
        (
            characters > MAX_CHARACTERS,
            format!(
                "character limit of names and values exceeded: {characters} of {MAX_CHARACTERS}"
            ),
        ),
        (values > MAX_VALUES, format!("listed value limit exceeded: {values} of {MAX_VALUES}")),
        (
            is_long_list,
            format!(
                "more than {MANY_VALUES} listed values have more than {MAX_CHARACTERS_OF_MANY} characters"
            ),
        ),
    ];
    first_violation(checks)
}

pub(super) fn check_anthropic<'d>(
    documents: impl IntoIterator<Item = &'d Value>,
) -> Result<(), UnsupportedSchema> {
    let (mut optional, mut unions) = (0, 0);
    for document in documents {
        each(document, &mut |rules| {
            let required = rules.get("required").and_then(Value::as_array).map_or(0, Vec::len);
            optional += members_of(rules, "properties").count().saturating_sub(required);
            let is_union =
                rules.contains_key("anyOf") || rules.get("type").is_some_and(Value::is_array);
            unions += usize::from(is_union);
        });
    }
    first_violation([
        (
            optional > MAX_OPTIONAL,
            format!("optional member limit exceeded: {optional} of {MAX_OPTIONAL}"),
        ),
        (unions > MAX_UNIONS, format!("union limit exceeded: {unions} of {MAX_UNIONS}")),
    ])
}

/// Checks all strict schemas of a request to Anthropic.
pub(super) fn check_request<'d>(
    documents: impl Iterator<Item = &'d Value>,
    dialect: Dialect,
) -> Result<(), DialectError> {
    let documents: Vec<_> = documents.collect();
    let tools = documents.len();
    let too_many = first_violation([(
        tools > MAX_STRICT_TOOLS,
        format!("strict tool limit exceeded: {tools} of {MAX_STRICT_TOOLS}: use a selector"),
    )]);
    too_many.and_then(|()| check_anthropic(documents)).map_err(
        |UnsupportedSchema { reason, .. }| DialectError {
            dialect,
            path: String::new(),
            reason: format!("strict tools of one request: {reason}"),
        },
    )
}

/// Returns a definition that leads back to itself through required members only.
pub(super) fn find_endless(definitions: &Map<String, Value>) -> Option<&str> {
    definitions.keys().map(String::as_str).find(|name| {
        let (mut visited, mut pending) = (BTreeSet::new(), vec![*name]);
        while let Some(next) = pending.pop() {
            let Some(schema) = definitions.get(next) else { continue };
            let mut found = Vec::new();
            collect_required(schema, &mut found);
            if found.contains(name) {
                return true;
            }
            pending.extend(found.into_iter().filter(|found| visited.insert(*found)));
        }
        false
    })
}

/// Collects the definitions that a schema refers to, except through optional members.
fn collect_required<'d>(schema: &'d Value, found: &mut Vec<&'d str>) {
    let Value::Object(rules) = schema else { return };
    found.extend(reference_target(rules));
    let required = rules.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    for (name, member) in members_of(rules, "properties") {
        if is_required(name) {
            collect_required(member, found);
        }
    }
    for part in parts(rules) {
        collect_required(part, found);
    }
}

fn first_violation<const N: usize>(checks: [(bool, String); N]) -> Result<(), UnsupportedSchema> {
    match checks.into_iter().find(|(is_violated, _)| *is_violated) {
        Some((_, reason)) => Err(SchemaLocation::root().unsupported(reason)),
        None => Ok(()),
    }
}

/// Computes the nesting depth of objects; a recursive type counts once.
struct Depths<'d> {
    document: &'d Value,
    known: BTreeMap<&'d str, usize>,
    open: BTreeSet<&'d str>,
}

impl<'d> Depths<'d> {
    fn of(&mut self, schema: &'d Value) -> usize {
        let Value::Object(rules) = schema else { return 0 };
        let members = members_of(rules, "properties").map(|(_, member)| member);
        let inner: Vec<_> = members.chain(parts(rules)).collect();
        let inner = inner.into_iter().map(|part| self.of(part)).max().unwrap_or(0);
        let target = reference_target(rules).map_or(0, |name| self.definition_depth(name));
        inner.max(target) + usize::from(rules.contains_key("properties"))
    }

    fn definition_depth(&mut self, name: &'d str) -> usize {
        if let Some(depth) = self.known.get(name) {
            return *depth;
        }
        if !self.open.insert(name) {
            return 0;
        }
        let definition = self.document.get("$defs").and_then(|all| all.get(name));
        let depth = definition.map_or(0, |schema| self.of(schema));
        self.open.remove(name);
        self.known.insert(name, depth);
        depth
    }
}

/// Calls `look` with every schema of a converted document.
fn each<'d>(document: &'d Value, look: &mut impl FnMut(&'d Map<String, Value>)) {
    let mut pending = vec![document];
    while let Some(schema) = pending.pop() {
        let Value::Object(rules) = schema else { continue };
        look(rules);
        pending.extend(parts(rules));
        for key in ["properties", "$defs"] {
            pending.extend(members_of(rules, key).map(|(_, schema)| schema));
        }
    }
}

/// Returns the nested schemas without a name.
fn parts(rules: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let several = ["anyOf", "prefixItems"];
    let several = several.into_iter().filter_map(|key| rules.get(key)?.as_array()).flatten();
    let single = ["items", "additionalProperties"].into_iter().filter_map(|key| rules.get(key));
    several.chain(single)
}

fn reference_target(rules: &Map<String, Value>) -> Option<&str> {
    rules.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn members_of<'d>(
    rules: &'d Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = (&'d String, &'d Value)> + Clone {
    rules.get(key).and_then(Value::as_object).into_iter().flatten()
}

fn count(text: impl AsRef<str>) -> usize {
    text.as_ref().chars().count()
}
