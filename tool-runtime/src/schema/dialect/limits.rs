//! How large schemas may be.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::place::Place;
use super::{Dialect, DialectError, Unfit};

/// OpenAI's, for one schema.
const MOST_MEMBERS: usize = 5_000;
const DEEPEST: usize = 10;
const MOST_LETTERS: usize = 120_000;
const MOST_VALUES: usize = 1_000;
const MANY_VALUES: usize = 250;
const MOST_LETTERS_OF_MANY: usize = 15_000;

/// Anthropic's, for one request.
const MOST_STRICT_TOOLS: usize = 20;
const MOST_OPTIONAL: usize = 24;
const MOST_UNIONS: usize = 16;

type Rules = Map<String, Value>;

pub(super) fn of_openai(document: &Value) -> Result<(), Unfit> {
    let (mut members, mut letters, mut values, mut is_long_list) = (0, 0, 0, false);
    each(document, &mut |rules| {
        let named = ["properties", "$defs"].map(|key| object(rules, key));
        members += named[0].clone().count();
        letters += named.into_iter().flatten().map(|(name, _)| count(name)).sum::<usize>();
        let listed = rules.get("enum").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let texts: usize = listed.iter().filter_map(Value::as_str).map(count).sum();
        is_long_list |= listed.len() > MANY_VALUES && texts > MOST_LETTERS_OF_MANY;
        letters += texts;
        values += listed.len();
    });
    let depth = Depths { document, known: BTreeMap::new(), open: BTreeSet::new() }.of(document);
    let broken = [
        (members > MOST_MEMBERS, format!("it has {members} members, {MOST_MEMBERS} may be")),
        (depth > DEEPEST, format!("objects stand {depth} deep in it, {DEEPEST} may be")),
        (
            letters > MOST_LETTERS,
            format!("names and listed values have {letters} characters, {MOST_LETTERS} may be"),
        ),
        (values > MOST_VALUES, format!("it lists {values} values, {MOST_VALUES} may be")),
        (
            is_long_list,
            format!(
                "a list of more than {MANY_VALUES} values has more than {MOST_LETTERS_OF_MANY} characters"
            ),
        ),
    ];
    first_of(broken)
}

pub(super) fn of_anthropic<'d>(
    documents: impl IntoIterator<Item = &'d Value>,
) -> Result<(), Unfit> {
    let (mut optional, mut unions) = (0, 0);
    for document in documents {
        each(document, &mut |rules| {
            let required = rules.get("required").and_then(Value::as_array).map_or(0, Vec::len);
            optional += object(rules, "properties").count().saturating_sub(required);
            let is_union =
                rules.contains_key("anyOf") || rules.get("type").is_some_and(Value::is_array);
            unions += usize::from(is_union);
        });
    }
    first_of([
        (
            optional > MOST_OPTIONAL,
            format!("{optional} members may be left out, {MOST_OPTIONAL} may be of such"),
        ),
        (
            unions > MOST_UNIONS,
            format!("{unions} members have one of several types, {MOST_UNIONS} may be of such"),
        ),
    ])
}

/// All strict schemas of a request to Anthropic.
pub(super) fn of_request<'d>(
    documents: impl Iterator<Item = &'d Value>,
    dialect: Dialect,
) -> Result<(), DialectError> {
    let documents: Vec<_> = documents.collect();
    let tools = documents.len();
    let too_many = first_of([(
        tools > MOST_STRICT_TOOLS,
        format!("there are {tools}, {MOST_STRICT_TOOLS} may be: let a selector choose"),
    )]);
    too_many.and_then(|()| of_anthropic(documents)).map_err(|Unfit { reason, .. }| DialectError {
        dialect,
        path: String::new(),
        reason: format!("of all strict tools of a request together: {reason}"),
    })
}

/// A definition that leads back to itself through nothing but what has to be there.
pub(super) fn endless(definitions: &Rules) -> Option<&str> {
    definitions.keys().map(String::as_str).find(|name| {
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![*name]);
        while let Some(next) = waiting.pop() {
            let Some(schema) = definitions.get(next) else { continue };
            let mut found = Vec::new();
            needed(schema, &mut found);
            if found.contains(name) {
                return true;
            }
            waiting.extend(found.into_iter().filter(|found| seen.insert(*found)));
        }
        false
    })
}

/// The definitions that a schema refers to, but for members that may be left out.
fn needed<'d>(schema: &'d Value, found: &mut Vec<&'d str>) {
    let Value::Object(rules) = schema else { return };
    found.extend(referred(rules));
    let required = rules.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    for (name, member) in object(rules, "properties") {
        if is_required(name) {
            needed(member, found);
        }
    }
    for part in parts(rules) {
        needed(part, found);
    }
}

fn first_of<const N: usize>(broken: [(bool, String); N]) -> Result<(), Unfit> {
    match broken.into_iter().find(|(is_broken, _)| *is_broken) {
        Some((_, reason)) => Err(Place::root().unfit(reason)),
        None => Ok(()),
    }
}

/// How many objects stand one in another, those that hold themselves counted once.
struct Depths<'d> {
    document: &'d Value,
    known: BTreeMap<&'d str, usize>,
    open: BTreeSet<&'d str>,
}

impl<'d> Depths<'d> {
    fn of(&mut self, schema: &'d Value) -> usize {
        let Value::Object(rules) = schema else { return 0 };
        let members = object(rules, "properties").map(|(_, member)| member);
        let inner: Vec<_> = members.chain(parts(rules)).collect();
        let inner = inner.into_iter().map(|part| self.of(part)).max().unwrap_or(0);
        let target = referred(rules).map_or(0, |name| self.of_definition(name));
        inner.max(target) + usize::from(rules.contains_key("properties"))
    }

    fn of_definition(&mut self, name: &'d str) -> usize {
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

/// Every schema of a bent document.
fn each<'d>(document: &'d Value, look: &mut impl FnMut(&'d Rules)) {
    let mut waiting = vec![document];
    while let Some(schema) = waiting.pop() {
        let Value::Object(rules) = schema else { continue };
        look(rules);
        waiting.extend(parts(rules));
        for key in ["properties", "$defs"] {
            waiting.extend(object(rules, key).map(|(_, schema)| schema));
        }
    }
}

/// The schemas in this one that no names stand before.
fn parts(rules: &Rules) -> impl Iterator<Item = &Value> {
    let several = ["anyOf", "prefixItems"];
    let several = several.into_iter().filter_map(|key| rules.get(key)?.as_array()).flatten();
    let single = ["items", "additionalProperties"].into_iter().filter_map(|key| rules.get(key));
    several.chain(single)
}

fn referred(rules: &Rules) -> Option<&str> {
    rules.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn object<'d>(
    rules: &'d Rules,
    key: &str,
) -> impl Iterator<Item = (&'d String, &'d Value)> + Clone {
    rules.get(key).and_then(Value::as_object).into_iter().flatten()
}

fn count(text: impl AsRef<str>) -> usize {
    text.as_ref().chars().count()
}
