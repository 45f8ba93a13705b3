//! Removes the envelope around the arguments of a call: `{"name": "find", "arguments": {…}}` and
//! the like, and `{"properties": {…}}`, which copies the schema's keyword.

use super::{
    coercer::{Coercer, ValueContext},
    fit::UnknownMembers,
    flat_schema::FlatSchema,
    type_set::TypeSet,
};
use crate::{
    Fix, FixKind,
    tree::{Member, Node, Tree},
};

/// Keys whose value may be the arguments.
const ARGUMENT_KEYS: [&str; 6] =
    ["arguments", "parameters", "input", "args", "function", "properties"];
/// Keys that may accompany the arguments in a call.
const CALL_KEYS: [&str; 6] = ["name", "type", "id", "call_id", "index", "function"];
/// Keys that may accompany `properties` in a schema.
const SCHEMA_KEYS: [&str; 6] =
    ["type", "required", "title", "description", "$schema", "additionalProperties"];
/// The maximum number of layers: `[{"type": "function", "function": {"name": …, "arguments":
/// "{…}"}}]` takes four.
const MAX_LAYERS: usize = 4;
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
        let mut unwrapped = Unwrapped { node: node.clone(), fixes, callees, is_named: false };
        let mut is_open = false;
        for _ in 0..MAX_LAYERS {
            let span = unwrapped.node.span.clone();
            let (inner, kind) = match &unwrapped.node.tree {
                Tree::Array(items) if !schema.types().intersects(TypeSet::ARRAY) => {
                    match items.as_slice() {
                        [item] => (item.clone(), FixKind::OutOfArray),
                        _ => break,
                    }
                }
                Tree::Object(members) => {
                    let Some(holder) = arguments_member(members, &names) else { break };
                    is_open = true;
                    unwrapped.is_named |= is_named(members) && !names.has("name");
                    unwrapped.callees.extend(named_callees(members));
                    (holder.value.clone(), FixKind::Envelope)
                }
                Tree::Null if is_open => (empty_object(&unwrapped.node), FixKind::Empty),
                Tree::String { text, .. } if is_open && text.trim().is_empty() => {
                    (empty_object(&unwrapped.node), FixKind::Empty)
                }
                Tree::String { .. } if is_open => {
                    let (inner, fixes) = self.decode_string(&unwrapped.node, TypeSet::OBJECT)?;
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

/// The arguments without their envelope.
struct Unwrapped {
    node: Node,
    fixes: Vec<Fix>,
    /// The tool names in the removed layers.
    callees: Vec<String>,
    is_named: bool,
}

/// The tool names in a call: `name`, or `function` if that is a string.
fn named_callees(members: &[Member]) -> impl Iterator<Item = String> {
    members.iter().filter_map(|member| match (member.key.as_str(), &member.value.tree) {
        ("name" | "function", Tree::String { text, .. }) if !text.is_empty() => Some(text.clone()),
        _ => None,
    })
}

fn is_named(members: &[Member]) -> bool {
    let is_text = |member: &Member| matches!(member.value.tree, Tree::String { .. });
    members.iter().any(|member| member.key == "name" && is_text(member))
}

fn empty_object(node: &Node) -> Node {
    Node { tree: Tree::Object(Vec::new()), span: node.span.clone() }
}

/// Returns the one member that holds the arguments, if the object is an envelope and nothing more.
fn arguments_member<'n>(members: &'n [Member], names: &PropertyNames<'_>) -> Option<&'n Member> {
    let holds = |member: &&Member| {
        // `function` may also be the name of the function.
        let may_hold = member.key != "function" || matches!(member.value.tree, Tree::Object(_));
        may_hold && ARGUMENT_KEYS.contains(&member.key.as_str()) && !names.has(&member.key)
    };
    let mut found = members.iter().filter(holds);
    let holder = found.next().filter(|_| found.next().is_none())?;
    let is_call = holder.key != "properties";
    let is_named = is_call && is_named(members);
    let is_allowed_beside = |member: &Member| {
        let key = member.key.as_str();
        let is_scalar = !matches!(member.value.tree, Tree::Array(_) | Tree::Object(_));
        // A call has a `name` even if an argument is called `name`.
        let is_unconstrained = !names.has(key) || (is_named && matches!(key, "name" | "type"));
        let known: &[&str] = if is_call { &CALL_KEYS } else { &SCHEMA_KEYS };
        known.contains(&key) && (is_scalar || !is_call) && is_unconstrained
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

    fn has(&self, key: &str) -> bool {
        self.0.iter().any(|schema| schema.has_property(key))
    }
}
