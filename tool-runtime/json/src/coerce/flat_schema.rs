//! A schema at one location, flattened: the schema itself, everything it refers to, and its
//! branches.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::slice;

use serde_json::{Map, Value};

use super::fuel::Fuel;
use super::type_set::TypeSet;

/// The maximum number of references and `allOf` parts followed; beyond it the schema is unresolved.
const MAX_VISITS: usize = 64;
/// The number of values or names in a list of the schema that are compared in one step.
const LISTED_PER_STEP: usize = 8;
/// The number of property names that are normalized in one step.
const NAMES_PER_STEP: usize = 2;

/// The properties by their normalized names; `None` if several have the same.
pub(super) type NormalizedNames = HashMap<String, Option<String>>;

/// Keywords that may allow undeclared properties and are not evaluated.
const OPEN_KEYWORDS: [&str; 6] = [
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "dependentSchemas",
    "if",
    "$dynamicRef",
];

/// All schemas that apply at one location.
#[derive(Clone, Debug)]
pub(super) struct FlatSchema<'s> {
    root: &'s Value,
    /// The first part; most locations have only one, which then needs no list.
    first: Option<&'s Map<String, Value>>,
    more: Vec<&'s Map<String, Value>>,
    /// The types that `type`, `enum` and `const` allow.
    types: TypeSet,
    has_enum_lists: bool,
    /// `anyOf` and `oneOf`: lists of branches, of each of which one must match.
    branch_lists: Vec<&'s [Value]>,
    /// The work of reading the parts and of comparing a value with their listed values.
    cost: usize,
    /// The declared properties by their normalized names, once they are needed.
    names: OnceCell<Rc<NormalizedNames>>,
    /// A part could not be resolved, so values at this location are left alone.
    is_unresolved: bool,
    is_forbidden: bool,
}

impl<'s> FlatSchema<'s> {
    pub(super) fn of(root: &'s Value, schemas: impl IntoIterator<Item = &'s Value>) -> Self {
        let mut flat = Self {
            root,
            first: None,
            more: Vec::new(),
            types: TypeSet::ANY,
            has_enum_lists: false,
            branch_lists: Vec::new(),
            cost: 0,
            names: OnceCell::new(),
            is_unresolved: false,
            is_forbidden: false,
        };
        let mut visits = MAX_VISITS;
        for schema in schemas {
            flat.add(schema, &mut visits);
        }
        flat
    }

    /// Returns the declared properties by their normalized names; `None` without fuel.
    pub(super) fn normalized_names(
        &self,
        fuel: &mut Fuel,
        normalize: impl Fn(&str) -> String,
    ) -> Option<&NormalizedNames> {
        if self.names.get().is_none() && !fuel.consume(self.names_count() / NAMES_PER_STEP) {
            return None;
        }
        let names = self.names.get_or_init(|| {
            let mut names = NormalizedNames::new();
            for name in self.property_names() {
                let known = names.entry(normalize(name)).or_insert_with(|| Some(name.to_owned()));
                if known.as_deref() != Some(name) {
                    *known = None;
                }
            }
            names.remove("");
            Rc::new(names)
        });
        Some(names)
    }

    /// Adds a schema; the recursion is bounded by the visits.
    fn add(&mut self, schema: &'s Value, visits: &mut usize) {
        let part = match schema {
            Value::Object(part) if *visits > 0 => part,
            Value::Bool(true) => return,
            Value::Bool(false) => {
                self.is_forbidden = true;
                return;
            }
            _ => {
                self.is_unresolved = true;
                return;
            }
        };
        *visits -= 1;
        let listed = part.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
        self.cost = self.cost.saturating_add(listed / LISTED_PER_STEP);
        self.types = self.types.and(TypeSet::declared_by(part));
        for (keyword, value) in part {
            match (keyword.as_str(), value) {
                ("$ref", _) => {
                    match value.as_str().and_then(|reference| resolve(self.root, reference)) {
                        Some(target) => self.add(target, visits),
                        None => self.is_unresolved = true,
                    }
                }
                ("allOf", Value::Array(all)) => {
                    // One beyond the limit marks the schema as unresolved.
                    for schema in all.iter().take(*visits + 1) {
                        self.add(schema, visits);
                    }
                }
                ("anyOf" | "oneOf", Value::Array(branches)) => self.branch_lists.push(branches),
                ("enum" | "const", _) => self.has_enum_lists = true,
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

    /// Returns whether the schema is unresolved or declares nothing.
    pub(super) fn is_unconstrained(&self) -> bool {
        self.is_unresolved || (self.first.is_none() && !self.is_forbidden)
    }

    pub(super) const fn is_unresolved(&self) -> bool {
        self.is_unresolved
    }

    pub(super) const fn root(&self) -> &'s Value {
        self.root
    }

    /// Splits off one list of branches.
    pub(super) fn split_branches(&self) -> Option<(&'s [Value], Self)> {
        let mut rest = self.clone();
        let choice = rest.branch_lists.pop()?;
        Some((choice, rest))
    }

    pub(super) fn with_branch(&self, branch: &'s Value) -> Self {
        let mut flat = Self { names: OnceCell::new(), ..self.clone() };
        let mut visits = MAX_VISITS;
        flat.add(branch, &mut visits);
        flat
    }

    /// The types allowed at this location, whichever branches match.
    pub(super) const fn types(&self) -> TypeSet {
        if self.is_forbidden { TypeSet::NONE } else { self.types }
    }

    /// The values of `enum` and `const`: a value must be in each of the lists.
    pub(super) fn enum_lists(&self) -> impl Iterator<Item = &'s [Value]> {
        self.parts().filter(|_| self.has_enum_lists).flat_map(|part| {
            let listed = part.get("enum").and_then(Value::as_array).map(Vec::as_slice);
            listed.into_iter().chain(part.get("const").map(slice::from_ref))
        })
    }

    /// The work of reading the parts and of comparing a value with their listed values.
    pub(super) const fn cost(&self) -> usize {
        self.cost
    }

    fn names_count(&self) -> usize {
        let counts = self.parts().filter_map(properties).map(Map::len);
        counts.fold(0, usize::saturating_add)
    }

    /// The work of searching the required properties for a name.
    pub(super) fn required_cost(&self) -> usize {
        let lists = self.parts().filter_map(|part| part.get("required")?.as_array());
        lists.map(Vec::len).fold(0, usize::saturating_add) / LISTED_PER_STEP
    }

    /// The names of the declared properties.
    pub(super) fn property_names(&self) -> impl Iterator<Item = &'s str> {
        self.parts().filter_map(properties).flat_map(Map::keys).map(String::as_str)
    }

    pub(super) fn required(&self) -> impl Iterator<Item = &'s str> {
        let lists = self.parts().filter_map(|part| part.get("required")?.as_array());
        lists.flatten().filter_map(Value::as_str)
    }

    pub(super) fn has_property(&self, key: &str) -> bool {
        self.parts().filter_map(properties).any(|known| known.contains_key(key))
    }

    pub(super) fn declares_properties(&self) -> bool {
        self.parts().any(|part| properties(part).is_some())
    }

    /// Returns whether the schema explicitly allows undeclared properties.
    pub(super) fn allows_other_properties(&self) -> bool {
        self.parts().any(|part| {
            OPEN_KEYWORDS.iter().any(|keyword| part.contains_key(*keyword))
                || !matches!(part.get("additionalProperties"), None | Some(Value::Bool(false)))
        })
    }

    /// Returns whether undeclared properties are to be expected.
    ///
    /// JSON Schema allows them everywhere by default, but a schema that declares properties and
    /// does not mention others expects only the declared ones.
    pub(super) fn expects_other_properties(&self) -> bool {
        self.is_unresolved || self.allows_other_properties() || !self.declares_properties()
    }

    /// Returns whether an undeclared property is an error.
    pub(super) fn forbids_other_properties(&self) -> bool {
        let closed = Some(&Value::Bool(false));
        self.parts().any(|part| part.get("additionalProperties") == closed)
    }

    pub(super) fn property(&self, key: &str) -> Self {
        let of_part = |part: &'s Map<String, Value>| {
            let named = properties(part).and_then(|known| known.get(key));
            named.or_else(|| part.get("additionalProperties").filter(|schema| schema.is_object()))
        };
        Self::of(self.root, self.parts().filter_map(of_part))
    }

    /// The schema of an item, and whether it also applies to all later items.
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

/// Resolves a reference within the document.
fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let path = reference.strip_prefix('#')?;
    if path.contains('~') {
        return root.pointer(path);
    }
    // Most references have no escapes, and are resolved without copies.
    let mut steps = path.split('/');
    if !steps.next()?.is_empty() {
        return None;
    }
    steps.try_fold(root, |schema, step| match schema {
        Value::Array(schemas) => schemas.get(step.parse::<usize>().ok()?),
        _ => schema.get(step),
    })
}
