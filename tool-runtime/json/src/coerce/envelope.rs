//! Removes the envelope around the arguments of a call: `{"name": "find", "arguments": {…}}` and
//! the like, and `{"properties": {…}}`, which copies the schema's keyword. If an envelope of
//! another kind remains, and the schema requires no member, it is refused: the arguments would be
//! lost.

use super::{
    InnerText,
    coercer::{Coercer, ValueContext},
    fit::{JsonView, UnknownMembers},
    flat_schema::FlatSchema,
    type_set::TypeSet,
};
use crate::{
    Fix, FixKind,
    call_keys::{
        ARGUMENTS, LAYERS, LISTS, METHOD, NAMED_ARGUMENTS, NAMES, OTHERS, is_one_of, is_similar,
    },
    tree::{Member, Node, Tree},
};

/// Keys that may accompany `properties` in a schema.
const SCHEMA_KEYS: [&str; 6] =
    ["type", "required", "title", "description", "$schema", "additionalProperties"];
/// The maximum number of layers: `[{"type": "function", "function": {"name": …, "arguments":
/// "{…}"}}]` takes four.
const MAX_LAYERS: usize = 6;
/// The maximum depth at which arguments are searched in an envelope of another kind.
const MAX_SHUT_DEPTH: usize = 6;
/// The length of the start of a text in which property names are searched, in bytes.
const MAX_HEAD_LEN: usize = 256;
/// The maximum number of nested branches searched for property names.
const MAX_BRANCHES: usize = 64;

impl Coercer<'_, '_> {
    /// Coerces the arguments of a call, without the envelope around them if they fit then. An
    /// envelope that names the call is always removed: the remaining errors are reported better.
    pub(super) fn coerce_arguments(&mut self, node: Node, schema: &FlatSchema<'_>) -> Node {
        if let Some(unwrapped) = self.unwrap_envelope(&node, schema) {
            let coerce =
                |coercer: &mut Self, node| coercer.coerce_node(node, schema, ValueContext::Other);
            let (inner, fixes) = self.attempt(&unwrapped.node, coerce);
            if unwrapped.is_named || self.fits(&inner, schema, UnknownMembers::Rejected) {
                self.fixes.extend(unwrapped.fixes.into_iter().chain(fixes));
                self.callees = unwrapped.callees;
                self.truncated |= unwrapped.truncated;
                return inner;
            }
        }
        self.coerce_node(node, schema, ValueContext::Other)
    }

    fn unwrap_envelope(&mut self, node: &Node, schema: &FlatSchema<'_>) -> Option<Unwrapped> {
        let names = PropertyNames::of(schema)?;
        if !self.fuel.consume(1) {
            return None;
        }
        let (fixes, callees) = (Vec::new(), Vec::new());
        let node = node.clone();
        let mut unwrapped = Unwrapped { node, fixes, callees, is_named: false, truncated: false };
        let mut is_open = false;
        for _ in 0..MAX_LAYERS {
            let span = unwrapped.node.span.clone();
            let (inner, kind) = match &unwrapped.node.tree {
                Tree::Array(items) if is_open || !schema.types().intersects(TypeSet::ARRAY) => {
                    match items.as_slice() {
                        [item] => (item.clone(), FixKind::OutOfArray),
                        _ => break,
                    }
                }
                Tree::Object(members) => {
                    let Some(holder) = arguments_member(members, &names) else { break };
                    is_open = true;
                    unwrapped.is_named |= is_named(members, &names);
                    unwrapped.callees.extend(named_callees(members, &names));
                    (holder.value.clone(), FixKind::Envelope)
                }
                Tree::Null if is_open => (empty_object(&unwrapped.node), FixKind::Empty),
                Tree::String { text, .. } if is_open && text.trim().is_empty() => {
                    (empty_object(&unwrapped.node), FixKind::Empty)
                }
                Tree::String { text, .. } if is_open => {
                    // Text in a text, as if it came without the envelope.
                    if let Some(text) = self.inner_text(text) {
                        unwrapped.fixes.push(Fix::new(FixKind::EncodedTwice, span.clone()));
                        unwrapped.node = Node { tree: text, span };
                        continue;
                    }
                    let (inner, fixes, truncated) =
                        self.decode_string(&unwrapped.node, TypeSet::OBJECT, InnerText::Arguments)?;
                    unwrapped.truncated |= truncated;
                    unwrapped.fixes.extend(fixes);
                    unwrapped.node = inner;
                    continue;
                }
                _ => break,
            };
            unwrapped.fixes.push(Fix::new(kind, span));
            unwrapped.node = inner;
        }
        let is_object = matches!(unwrapped.node.tree, Tree::Object(_));
        (is_open && is_object).then_some(unwrapped)
    }
}

impl Coercer<'_, '_> {
    /// Decodes a text that holds the JSON of another text.
    fn inner_text(&mut self, text: &str) -> Option<Tree> {
        if !text.trim_start().starts_with('"') || !self.fuel.consume(text.len()) {
            return None;
        }
        serde_json::from_str(text).ok().map(|text| Tree::String { text, is_unquoted: false })
    }
}

/// The arguments without their envelope.
struct Unwrapped {
    node: Node,
    fixes: Vec<Fix>,
    /// The tool names in the removed layers.
    callees: Vec<String>,
    is_named: bool,
    truncated: bool,
}

/// The tool name that a member of a call holds.
fn callee(member: &Member) -> Option<&str> {
    match &member.value.tree {
        Tree::String { text, .. } if is_one_of(&member.key, NAMES) => Some(text),
        _ => None,
    }
}

/// The tool names in a call. It has a `name` even if an argument is called `name`.
fn named_callees(members: &[Member], names: &PropertyNames<'_>) -> Vec<String> {
    let is_name = |member: &Member| member.key == "name" || !names.has_similar(&member.key);
    let named = members.iter().filter_map(|member| Some((member, callee(member)?)));
    let callees = named.filter(|(member, name)| !name.is_empty() && is_name(member));
    callees.map(|(_, name)| name.to_owned()).collect()
}

/// Returns whether a member that is not an argument names the tool.
fn is_named(members: &[Member], names: &PropertyNames<'_>) -> bool {
    members.iter().any(|member| callee(member).is_some() && !names.has_similar(&member.key))
}

/// Returns whether `node`, to which the schema gives no member, seems to be an envelope: its
/// arguments would be lost.
pub(super) fn is_shut_envelope(node: &Node, schema: &FlatSchema<'_>) -> bool {
    let Tree::Object(members) = &node.tree else { return false };
    let Some(names) = PropertyNames::of(schema) else { return false };
    // An argument called `name`, if it may be missing, may be the name of the tool.
    let may_be_callee = |member: &Member| {
        callee(member).is_some() && !schema.required().any(|required| required == member.key)
    };
    let is_argument = |member: &Member| names.has(&member.key) && !may_be_callee(member);
    !members.iter().any(is_argument)
        && members.iter().any(|member| {
            let is_holder = holds_arguments_by_name(&member.key);
            is_holder && !is_empty(&member.value) || holds_arguments(&member.value, &names)
        })
}

/// Returns whether an object in `node`, or in the text of a string, has a member of these names.
fn holds_arguments(node: &Node, names: &PropertyNames<'_>) -> bool {
    let mut level = vec![node];
    for _ in 0..MAX_SHUT_DEPTH {
        let mut next = Vec::new();
        for node in level {
            if node.members().any(|(key, _)| names.has(key)) {
                return true;
            }
            if let Tree::String { text, .. } = &node.tree
                && text.trim_start().starts_with(['{', '['])
                && names.are_in(text)
            {
                return true;
            }
            next.extend(node.items());
            next.extend(node.members().map(|(_, value)| value));
        }
        level = next;
    }
    false
}

/// Returns whether there are no arguments in `node`.
fn is_empty(node: &Node) -> bool {
    match &node.tree {
        Tree::Null => true,
        Tree::String { text, .. } => text.trim().is_empty(),
        Tree::Array(items) => items.is_empty(),
        Tree::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn empty_object(node: &Node) -> Node {
    Node { tree: Tree::Object(Vec::new()), span: node.span.clone() }
}

/// Returns whether the value of a member with this key may be the arguments. Models copy
/// `properties` from the schema.
fn holds_arguments_by_name(key: &str) -> bool {
    is_one_of(key, ARGUMENTS) || key == "properties"
}

/// Returns whether a text begins as an object does.
fn is_object_text(node: &Node) -> bool {
    matches!(&node.tree, Tree::String { text, .. } if text.trim_start().starts_with('{'))
}

/// Returns whether a member is the method of a request of the Model Context Protocol.
fn is_method(member: &Member) -> bool {
    matches!(&member.value.tree, Tree::String { text, .. } if text == METHOD.1)
        && member.key == METHOD.0
}

/// Returns the one member that holds the arguments, if the object is an envelope and nothing more.
fn arguments_member<'n>(members: &'n [Member], names: &PropertyNames<'_>) -> Option<&'n Member> {
    let is_call_named = is_named(members, names);
    let holds = |member: &&Member| {
        let is_object = matches!(member.value.tree, Tree::Object(_));
        // `function` may also be the name of the function.
        let is_layer = (is_object || matches!(member.value.tree, Tree::Array(_)))
            && [LAYERS, LISTS].iter().any(|keys| is_one_of(&member.key, keys));
        let is_named = is_call_named
            && (is_object || is_object_text(&member.value))
            && is_one_of(&member.key, NAMED_ARGUMENTS);
        (is_layer || is_named || holds_arguments_by_name(&member.key))
            && !names.has_similar(&member.key)
    };
    // Empty positional arguments may accompany the others: `"args": [], "kwargs": …`.
    let count = members.iter().filter(holds).count();
    let mut found =
        members.iter().filter(holds).filter(|member| count == 1 || !is_empty(&member.value));
    let holder = found.next().filter(|_| found.next().is_none())?;
    let is_call = holder.key != "properties";
    let has_callee = members.iter().any(|member| callee(member).is_some());
    let is_allowed_beside = |member: &Member| {
        let key = member.key.as_str();
        let is_scalar = !matches!(member.value.tree, Tree::Array(_) | Tree::Object(_));
        // A call has a `name` even if an argument is called `name`.
        let is_unconstrained =
            || !names.has_similar(key) || has_callee && matches!(key, "name" | "type");
        let is_known = if is_call {
            is_one_of(key, OTHERS) || is_one_of(key, NAMES) || is_method(member)
        } else {
            SCHEMA_KEYS.contains(&key)
        };
        let is_empty_holder = count > 1 && holds(&member) && is_empty(&member.value);
        is_known && (is_scalar || !is_call) && is_unconstrained() || is_empty_holder
    };
    let mut others = members.iter().filter(|member| member.key != holder.key);
    others.all(is_allowed_beside).then_some(holder)
}

/// The property names of a schema, in all its branches.
struct PropertyNames<'s>(Vec<FlatSchema<'s>>);

impl<'s> PropertyNames<'s> {
    /// Returns `None` if the schema allows properties of any name, or declares none.
    fn of(schema: &FlatSchema<'s>) -> Option<Self> {
        let (mut open, mut schemas) = (vec![schema.clone()], Vec::new());
        while let Some(mut schema) = open.pop() {
            while let Some((choice, rest)) = schema.split_branches() {
                open.extend(choice.iter().map(|branch| FlatSchema::of(schema.root(), [branch])));
                schema = rest;
            }
            if schema.is_unresolved()
                || schema.allows_other_properties()
                || schemas.len() >= MAX_BRANCHES
            {
                return None;
            }
            schemas.push(schema);
        }
        schemas.iter().any(FlatSchema::declares_properties).then_some(Self(schemas))
    }

    /// Returns whether the start of `text` has one of the names in quotes.
    fn are_in(&self, text: &str) -> bool {
        let end = (0..=MAX_HEAD_LEN.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        let head = text.get(..end.unwrap_or(0)).unwrap_or_default();
        let names = self.0.iter().flat_map(FlatSchema::property_names);
        names.take(MAX_BRANCHES).any(|name| head.contains(&format!("\"{name}\"")))
    }

    fn has(&self, key: &str) -> bool {
        self.0.iter().any(|schema| schema.has_property(key))
    }

    /// Returns whether one of the names is `key`, up to case and separators.
    fn has_similar(&self, key: &str) -> bool {
        let mut names = self.0.iter().flat_map(FlatSchema::property_names);
        self.has(key) || names.any(|name| is_similar(name, key))
    }
}
