//! What a schema says of one place: the schema itself, all it refers to, and the choices it leaves.

use std::slice;

use serde_json::{Map, Value};

use super::roots::Roots;

/// References and `allOf` that are followed for one place; past this the place is unknown.
const VISITS: usize = 64;

/// Words that may name members in ways that are not looked into.
const OPEN: [&str; 6] = [
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "dependentSchemas",
    "if",
    "$dynamicRef",
];

/// All schemas that hold at one place, flat.
#[derive(Clone, Debug)]
pub(super) struct Place<'s> {
    root: &'s Value,
    /// Most places have one part: it costs no list.
    first: Option<&'s Map<String, Value>>,
    more: Vec<&'s Map<String, Value>>,
    /// What `type`, `enum` and `const` allow.
    types: Roots,
    has_lists: bool,
    /// `anyOf` and `oneOf`, each a list of branches of which one shall hold.
    choices: Vec<&'s [Value]>,
    /// Something was said that can't be followed: whatever stands here is left alone.
    is_unknown: bool,
    is_forbidden: bool,
}

impl<'s> Place<'s> {
    pub(super) fn of(root: &'s Value, schemas: impl IntoIterator<Item = &'s Value>) -> Self {
        let mut place = Self {
            root,
            first: None,
            more: Vec::new(),
            types: Roots::ANY,
            has_lists: false,
            choices: Vec::new(),
            is_unknown: false,
            is_forbidden: false,
        };
        let mut visits = VISITS;
        for schema in schemas {
            place.add(schema, &mut visits);
        }
        place
    }

    /// As deep as there are visits.
    fn add(&mut self, schema: &'s Value, visits: &mut usize) {
        let part = match schema {
            Value::Object(part) if *visits > 0 => part,
            Value::Bool(true) => return,
            Value::Bool(false) => {
                self.is_forbidden = true;
                return;
            }
            _ => {
                self.is_unknown = true;
                return;
            }
        };
        *visits -= 1;
        self.types = self.types.and(Roots::stated(part));
        for (word, said) in part {
            match (word.as_str(), said) {
                ("$ref", _) => {
                    match said.as_str().and_then(|reference| target(self.root, reference)) {
                        Some(target) => self.add(target, visits),
                        None => self.is_unknown = true,
                    }
                }
                ("allOf", Value::Array(all)) => {
                    for schema in all {
                        self.add(schema, visits);
                    }
                }
                ("anyOf" | "oneOf", Value::Array(branches)) => self.choices.push(branches),
                ("enum" | "const", _) => self.has_lists = true,
                _ => {}
            }
        }
        match self.first {
            None => self.first = Some(part),
            Some(_) => self.more.push(part),
        }
    }

    fn parts(&self) -> impl Iterator<Item = &'s Map<String, Value>> {
        self.first.into_iter().chain(self.more.iter().copied())
    }

    /// Whether nothing is known of it, or nothing said.
    pub(super) fn is_free(&self) -> bool {
        self.is_unknown || (self.first.is_none() && !self.is_forbidden)
    }

    pub(super) const fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    pub(super) const fn root(&self) -> &'s Value {
        self.root
    }

    /// One choice, and the place without it.
    pub(super) fn choice(&self) -> Option<(&'s [Value], Self)> {
        let mut rest = self.clone();
        let choice = rest.choices.pop()?;
        Some((choice, rest))
    }

    pub(super) fn with(&self, branch: &'s Value) -> Self {
        let mut place = self.clone();
        let mut visits = VISITS;
        place.add(branch, &mut visits);
        place
    }

    /// The types that may stand here, whatever is chosen.
    pub(super) const fn types(&self) -> Roots {
        if self.is_forbidden { Roots::NONE } else { self.types }
    }

    /// `enum` and `const`: the value shall be in each of the lists.
    pub(super) fn lists(&self) -> impl Iterator<Item = &'s [Value]> {
        self.parts().filter(|_| self.has_lists).flat_map(|part| {
            let listed = part.get("enum").and_then(Value::as_array).map(Vec::as_slice);
            listed.into_iter().chain(part.get("const").map(slice::from_ref))
        })
    }

    /// The names of members that are spelled out.
    pub(super) fn names(&self) -> impl Iterator<Item = &'s str> {
        self.parts().filter_map(properties).flat_map(Map::keys).map(String::as_str)
    }

    pub(super) fn required(&self) -> impl Iterator<Item = &'s str> {
        let lists = self.parts().filter_map(|part| part.get("required")?.as_array());
        lists.flatten().filter_map(Value::as_str)
    }

    pub(super) fn has_name(&self, key: &str) -> bool {
        self.parts().filter_map(properties).any(|known| known.contains_key(key))
    }

    pub(super) fn spells_out(&self) -> bool {
        self.parts().any(|part| properties(part).is_some())
    }

    /// Whether it says that members may have names of their own.
    pub(super) fn takes_any_name(&self) -> bool {
        self.parts().any(|part| {
            OPEN.iter().any(|word| part.contains_key(*word))
                || !matches!(part.get("additionalProperties"), None | Some(Value::Bool(false)))
        })
    }

    /// Whether members with names of their own are meant to be here.
    ///
    /// JSON Schema takes them everywhere unless told otherwise. A schema that spells out members
    /// and is silent about others means these.
    pub(super) fn is_open(&self) -> bool {
        self.is_unknown || self.takes_any_name() || !self.spells_out()
    }

    /// Whether a member that isn't spelled out is an error.
    pub(super) fn is_closed(&self) -> bool {
        let closed = Some(&Value::Bool(false));
        self.parts().any(|part| part.get("additionalProperties") == closed)
    }

    pub(super) fn member(&self, key: &str) -> Self {
        let of_part = |part: &'s Map<String, Value>| {
            let named = properties(part).and_then(|known| known.get(key));
            named.or_else(|| part.get("additionalProperties").filter(|schema| schema.is_object()))
        };
        Self::of(self.root, self.parts().filter_map(of_part))
    }

    /// The place of an item, and whether all from here on are alike.
    pub(super) fn item(&self, index: usize) -> (Self, bool) {
        let mut alike = true;
        let mut found = Vec::new();
        for part in self.parts() {
            let first =
                part.get("prefixItems").or_else(|| part.get("items")).and_then(Value::as_array);
            alike &= first.is_none_or(|first| index >= first.len());
            let rest = || part.get("items").filter(|schema| !schema.is_array());
            found.extend(first.and_then(|first| first.get(index)).or_else(rest));
        }
        (Self::of(self.root, found), alike)
    }
}

fn properties(part: &Map<String, Value>) -> Option<&Map<String, Value>> {
    part.get("properties")?.as_object()
}

/// What a reference within the document leads to.
fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let path = reference.strip_prefix('#')?;
    if path.contains('~') {
        return root.pointer(path);
    }
    // The same without copies, which is how almost all are.
    let mut steps = path.split('/');
    if !steps.next()?.is_empty() {
        return None;
    }
    steps.try_fold(root, |schema, step| match schema {
        Value::Array(schemas) => schemas.get(step.parse::<usize>().ok()?),
        _ => schema.get(step),
    })
}
