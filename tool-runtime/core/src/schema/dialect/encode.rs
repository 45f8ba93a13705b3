//! Encoding of nodes as a document in a dialect.

use std::collections::BTreeMap;
use std::mem;

use serde_json::{Map, Value, json};

use super::UnsupportedSchema;
use super::capabilities::{Capabilities, MapSupport, NullForm, Objects, References};
use super::description::with_rules;
use super::limits::find_endless;
use super::location::SchemaLocation;
use super::narrow::intersect_rules;
use super::node::{
    AdditionalMembers, Annotations, Choice, Object, Scalar, ScalarKind, SchemaNode, Shape,
};
use super::parse::SchemaParser;

/// Encodes the root and the definitions that it needs.
pub(super) fn document(
    root: &SchemaNode,
    parser: &SchemaParser<'_>,
    capabilities: &'static Capabilities,
) -> Result<Value, UnsupportedSchema> {
    let (names, pending, inlining) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut encoder = SchemaEncoder { parser, capabilities, names, pending, inlining };
    let at = &SchemaLocation::root();
    let root = parser.follow(root.clone(), at)?;
    match &root.shape {
        Shape::Choice(_) => {
            return Err(at.unsupported(
                "the root is a choice, but has to be an object: move the choice into a member",
            ));
        }
        Shape::Object(_) => {}
        _ if capabilities.objects == Objects::Complete => {
            return Err(
                at.unsupported("the root has to be an object: move the value into a member")
            );
        }
        _ => {}
    }
    let mut document = encoder.encode(&root, at)?;
    let mut definitions = Map::new();
    let mut locations = BTreeMap::new();
    while let Some((reference, name, at)) = encoder.pending.pop() {
        let target = parser.target(&reference, &at)?;
        definitions.insert(name.clone(), encoder.encode(&target, &at)?.into());
        locations.insert(name, at);
    }
    if capabilities.references == References::KeptIfTerminating
        && let Some(name) = find_endless(&definitions)
    {
        let at = locations.get(name).unwrap_or(at);
        return Err(at.unsupported("the type contains itself in a required member"));
    }
    if !definitions.is_empty() {
        document.insert("$defs".into(), definitions.into());
    }
    Ok(document.into())
}

struct SchemaEncoder<'r, 'd> {
    parser: &'r SchemaParser<'d>,
    capabilities: &'static Capabilities,
    /// The names of definitions, by reference.
    names: BTreeMap<String, String>,
    /// Definitions that still have to be encoded, and where each is needed first.
    pending: Vec<(String, String, SchemaLocation)>,
    /// The references that are being inlined.
    inlining: Vec<String>,
}

impl SchemaEncoder<'_, '_> {
    fn encode(
        &mut self,
        node: &SchemaNode,
        at: &SchemaLocation,
    ) -> Result<Map<String, Value>, UnsupportedSchema> {
        self.parser.spend(at)?;
        let at = &at.deeper()?;
        // Rules that the dialect lacks.
        let mut description_rules = Map::new();
        let mut encoded = match &node.shape {
            Shape::Any if self.capabilities.allows_untyped => Map::new(),
            Shape::Any => {
                return Err(at.unsupported("any value is allowed, but a type is required"));
            }
            Shape::Scalar(scalar) => self.scalar(scalar, &mut description_rules, at)?,
            Shape::List { first, rest, rules } => {
                let mut list = self.list(first, rest.as_deref(), at)?;
                self.encode_rules(rules, &mut list, &mut description_rules, at)?;
                list
            }
            Shape::Object(object) => self.object(object, &mut description_rules, at)?,
            Shape::Choice(choice) => match self.single_branch(choice, &node.annotations, at)? {
                Some(node) => return self.encode(&node, at),
                None => self.choice(choice, &mut description_rules, at)?,
            },
            Shape::Reference(reference) if self.capabilities.references == References::Inlined => {
                return self.inlined(reference, &node.annotations, at);
            }
            Shape::Reference(reference) => self.reference(reference, &node.annotations, at),
        };
        self.encode_rules(&node.annotations.more, &mut encoded, &mut description_rules, at)?;
        if let Some(words) = with_rules(node.annotations.description.as_deref(), &description_rules)
        {
            encoded.insert("description".into(), words.into());
        }
        Ok(encoded)
    }

    /// Writes supported rules as keywords, and collects the others for the description.
    fn encode_rules(
        &self,
        rules: &Map<String, Value>,
        encoded: &mut Map<String, Value>,
        description_rules: &mut Map<String, Value>,
        at: &SchemaLocation,
    ) -> Result<(), UnsupportedSchema> {
        let (mut supported, mut unsupported_rules) = (Map::new(), Map::new());
        for (keyword, value) in rules {
            let target = if self.capabilities.supports(keyword, value) {
                &mut supported
            } else {
                &mut unsupported_rules
            };
            target.insert(keyword.clone(), value.clone());
        }
        *encoded = intersect_rules(mem::take(encoded), supported, at)?;
        *description_rules = intersect_rules(mem::take(description_rules), unsupported_rules, at)?;
        Ok(())
    }

    fn scalar(
        &self,
        scalar: &Scalar,
        description_rules: &mut Map<String, Value>,
        at: &SchemaLocation,
    ) -> Result<Map<String, Value>, UnsupportedSchema> {
        let mut encoded = with_type(scalar.kind.name());
        if let Some(values) = &scalar.values {
            let target = if self.capabilities.can_list(values) {
                &mut encoded
            } else {
                &mut *description_rules
            };
            target.insert("enum".into(), values.as_slice().into());
        }
        self.encode_rules(&scalar.rules, &mut encoded, description_rules, at)?;
        Ok(encoded)
    }

    fn list(
        &mut self,
        first: &[SchemaNode],
        rest: Option<&SchemaNode>,
        at: &SchemaLocation,
    ) -> Result<Map<String, Value>, UnsupportedSchema> {
        let mut encoded = with_type("array");
        if self.capabilities.allows_tuples && !first.is_empty() {
            let items = first.iter().zip(0..);
            let items = items.map(|(item, index)| Ok(self.encode(item, &at.item(index))?.into()));
            let items = items.collect::<Result<Vec<Value>, _>>()?;
            encoded.insert("prefixItems".into(), items.into());
            if let Some(rest) = rest {
                encoded.insert("items".into(), self.encode(rest, &at.items())?.into());
            }
            return Ok(encoded);
        }
        let all: Vec<_> = first.iter().chain(rest).collect();
        let items = match all.split_first() {
            None => return Err(at.unsupported("the list has no items")),
            Some((head, tail)) if tail.iter().all(|item| item == head) => SchemaNode::clone(head),
            Some(_) => choice_of_items(first, rest),
        };
        encoded.insert("items".into(), self.encode(&items, &at.items())?.into());
        Ok(encoded)
    }

    fn object(
        &mut self,
        object: &Object,
        description_rules: &mut Map<String, Value>,
        at: &SchemaLocation,
    ) -> Result<Map<String, Value>, UnsupportedSchema> {
        let Capabilities { objects, maps, .. } = self.capabilities;
        let is_complete = *objects == Objects::Complete;
        let is_closed = is_complete || *objects == Objects::Closed;
        let mut encoded = with_type("object");
        let (mut members, mut required) = (Map::new(), Vec::new());
        for (name, member) in object.in_order() {
            let location = at.member(name);
            let may_be_null =
                !is_complete || member.is_required || self.takes_null(&member.node, &location)?;
            let schema = if may_be_null {
                self.encode(&member.node, &location)?
            } else {
                self.encode(&nullable(member.node.clone()), &location)?
            };
            members.insert(name.clone(), schema.into());
            if is_complete || member.is_required {
                required.push(name.as_str());
            }
        }
        let is_empty = members.is_empty() && !at.is_root();
        match (&object.additional, maps) {
            (AdditionalMembers::Some(_), MapSupport::Unsupported) => {
                let reason = "maps are not supported: name the members, or use a list of objects \
                              with the name as a member";
                return Err(at.unsupported(reason));
            }
            (AdditionalMembers::Some(node), MapSupport::Keyword) => {
                let additional = self.encode(node, &at.member("*"))?;
                encoded.insert("additionalProperties".into(), additional.into());
            }
            (AdditionalMembers::Some(node), MapSupport::Description) => {
                let additional = self.encode(node, &at.member("*"))?;
                description_rules.insert("additionalProperties".into(), additional.into());
            }
            (AdditionalMembers::Unspecified, _) if is_empty && is_closed => {
                return Err(at.unsupported("the object names no members"));
            }
            (_, MapSupport::Unsupported) if is_empty && !is_closed => {
                return Err(at.unsupported("the object has no members, but needs at least one"));
            }
            (additional, _)
                if is_closed
                    || *objects == Objects::Open && *additional == AdditionalMembers::None =>
            {
                encoded.insert("additionalProperties".into(), false.into());
            }
            _ => {}
        }
        if is_closed || !members.is_empty() || object.additional == AdditionalMembers::None {
            encoded.insert("properties".into(), members.into());
        }
        if !required.is_empty() || is_complete {
            encoded.insert("required".into(), required.into());
        }
        self.encode_rules(&object.rules, &mut encoded, description_rules, at)?;
        Ok(encoded)
    }

    /// Returns the only branch of a choice, with the annotations of both.
    fn single_branch(
        &self,
        choice: &Choice,
        annotations: &Annotations,
        at: &SchemaLocation,
    ) -> Result<Option<SchemaNode>, UnsupportedSchema> {
        let [branch] = choice.branches.as_slice() else { return Ok(None) };
        let annotations = annotations.clone().merged_with(branch.annotations.clone(), at)?;
        Ok(Some(SchemaNode { shape: branch.shape.clone(), annotations }))
    }

    fn choice(
        &mut self,
        choice: &Choice,
        description_rules: &mut Map<String, Value>,
        at: &SchemaLocation,
    ) -> Result<Map<String, Value>, UnsupportedSchema> {
        if choice.is_exclusive && choice.may_overlap() {
            description_rules.insert("oneOf".into(), "exactly one has to fit".into());
        }
        let (null, other_branches): (Vec<_>, Vec<_>) =
            choice.branches.iter().partition(|node| node.is_null());
        let null = null.first();
        if let (Some(_), [SchemaNode { shape: Shape::Scalar(scalar), annotations }]) =
            (null, other_branches.as_slice())
            && self.capabilities.null == NullForm::Type
            && scalar.values.is_none()
            && annotations.is_empty()
        {
            let mut encoded = self.scalar(scalar, description_rules, at)?;
            encoded.insert("type".into(), json!([scalar.kind.name(), "null"]));
            return Ok(encoded);
        }
        let by_keyword = null.is_some() && self.capabilities.null == NullForm::Keyword;
        let branches = if by_keyword { other_branches } else { choice.branches.iter().collect() };
        let mut encoded = match branches.as_slice() {
            [] => with_type(ScalarKind::Null.name()),
            [branch] => self.encode(branch, at)?,
            branches => {
                let branches = branches.iter().map(|branch| Ok(self.encode(branch, at)?.into()));
                let branches = branches.collect::<Result<Vec<Value>, _>>()?;
                Map::from_iter([("anyOf".to_owned(), branches.into())])
            }
        };
        if by_keyword {
            encoded.insert("nullable".into(), true.into());
        }
        Ok(encoded)
    }

    fn inlined(
        &mut self,
        reference: &str,
        annotations: &Annotations,
        at: &SchemaLocation,
    ) -> Result<Map<String, Value>, UnsupportedSchema> {
        if self.inlining.iter().any(|inlining| inlining == reference) {
            return Err(at.unsupported("the type contains itself"));
        }
        self.inlining.push(reference.to_owned());
        let target = self.parser.target(reference, at)?;
        let node = SchemaNode {
            shape: target.shape,
            annotations: annotations.clone().merged_with(target.annotations, at)?,
        };
        let encoded = self.encode(&node, at);
        self.inlining.pop();
        encoded
    }

    /// A reference allows no other keywords, so annotations are written around it.
    fn reference(
        &mut self,
        reference: &str,
        annotations: &Annotations,
        at: &SchemaLocation,
    ) -> Map<String, Value> {
        let name = match self.names.get(reference) {
            Some(name) => name.clone(),
            None => {
                let name = self.new_name(reference);
                self.names.insert(reference.to_owned(), name.clone());
                self.pending.push((reference.to_owned(), name.clone(), at.clone()));
                name
            }
        };
        let target = Map::from_iter([("$ref".to_owned(), format!("#/$defs/{name}").into())]);
        if annotations.is_empty() {
            return target;
        }
        Map::from_iter([("anyOf".to_owned(), json!([target]))])
    }

    fn new_name(&self, reference: &str) -> String {
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let letter = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
        let name: String = last.chars().map(letter).collect();
        let name = if name.is_empty() { "root".to_owned() } else { name };
        let is_unused = |name: &String| !self.names.values().any(|used| used == name);
        let mut names = (2..).map(|number| format!("{name}_{number}"));
        if is_unused(&name) { name } else { names.find(is_unused).unwrap_or(name) }
    }

    fn takes_null(
        &self,
        node: &SchemaNode,
        at: &SchemaLocation,
    ) -> Result<bool, UnsupportedSchema> {
        self.parser.spend(at)?;
        let at = &at.deeper()?;
        Ok(match &node.shape {
            Shape::Any => true,
            Shape::Scalar(scalar) => scalar.kind == ScalarKind::Null,
            Shape::Choice(choice) => {
                for node in &choice.branches {
                    if self.takes_null(node, at)? {
                        return Ok(true);
                    }
                }
                false
            }
            Shape::Reference(reference) => {
                self.takes_null(&self.parser.target(reference, at)?, at)?
            }
            Shape::List { .. } | Shape::Object(_) => false,
        })
    }
}

fn with_type(name: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), name.into())])
}

/// Makes an optional member nullable.
fn nullable(SchemaNode { shape, annotations }: SchemaNode) -> SchemaNode {
    let mut choice = match shape {
        Shape::Choice(choice) => choice,
        shape => Choice { branches: vec![shape.into()], is_exclusive: false },
    };
    choice.branches.push(SchemaNode::null());
    SchemaNode { shape: Shape::Choice(choice), annotations }
}

/// Returns a choice of all items, each with its position in the description.
fn choice_of_items(first: &[SchemaNode], rest: Option<&SchemaNode>) -> SchemaNode {
    let with_position = |node: &SchemaNode, position: String| {
        let description = match &node.annotations.description {
            Some(description) => format!("{position}: {description}"),
            None => position,
        };
        SchemaNode {
            shape: node.shape.clone(),
            annotations: Annotations { description: Some(description), ..node.annotations.clone() },
        }
    };
    let first =
        first.iter().zip(1..).map(|(node, number)| with_position(node, format!("Item {number}")));
    let rest = rest.map(|node| with_position(node, "The items behind".to_owned()));
    let branches = first.chain(rest).collect();
    Shape::Choice(Choice { branches, is_exclusive: false }).into()
}
