//! Walks a value together with its schema and coerces each part.

use super::{
    ParseInner,
    fit::{JsonView, UnknownMembers, fits},
    flat_schema::FlatSchema,
    fuel::Fuel,
    rename::renames,
};
use crate::{
    Fix, FixKind,
    tree::{Member, Node, Tree},
};

/// The walk: coerces values and collects the fixes.
pub(super) struct Coercer<'r, 'f> {
    pub(super) fuel: Fuel,
    pub(super) fixes: Vec<Fix>,
    /// The tool names in the envelopes around the arguments.
    pub(super) callees: Vec<String>,
    /// Whether the text of the arguments in an envelope was cut off.
    pub(super) truncated: bool,
    pub(super) parse_inner: &'r mut ParseInner<'f>,
}

/// The position of a value in its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueContext {
    /// An item of an array: `[1]` for `[[1]]` has two readings, so no item becomes an array.
    ArrayItem,
    Other,
}

impl<'r, 'f> Coercer<'r, 'f> {
    pub(super) fn new(fuel: Fuel, parse_inner: &'r mut ParseInner<'f>) -> Self {
        Self { fuel, fixes: Vec::new(), callees: Vec::new(), truncated: false, parse_inner }
    }

    pub(super) fn record_fix(&mut self, kind: FixKind, node: &Node) {
        self.fixes.push(Fix::new(kind, node.span.clone()));
    }

    /// Coerces a value to its schema, or returns it unchanged.
    pub(super) fn coerce_node(
        &mut self,
        node: Node,
        schema: &FlatSchema<'_>,
        position: ValueContext,
    ) -> Node {
        if schema.is_unconstrained() || !self.fuel.enter() {
            return node;
        }
        let node = if self.fuel.consume(schema.cost()) {
            self.coerce_constrained(node, schema, position)
        } else {
            node
        };
        self.fuel.leave();
        node
    }

    fn coerce_constrained(
        &mut self,
        node: Node,
        schema: &FlatSchema<'_>,
        position: ValueContext,
    ) -> Node {
        if let Some((choice, rest)) = schema.split_branches() {
            return self.coerce_branch(node, choice, &rest, position);
        }
        if !schema.types().intersects(node.json_type()) {
            return self.convert(node, schema, position);
        }
        match node.tree {
            Tree::Array(items) => {
                let items = self.coerce_items(items, schema);
                Node { tree: Tree::Array(items), span: node.span }
            }
            Tree::Object(_) => self.coerce_members(node, schema),
            _ if schema.enum_lists().all(|list| list.iter().any(|value| node.equals(value))) => {
                node
            }
            _ => self.convert(node, schema, position),
        }
    }

    fn coerce_items(&mut self, items: Vec<Node>, schema: &FlatSchema<'_>) -> Vec<Node> {
        let mut cached = None;
        let mut coerced = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let (item_schema, is_shared) = cached.take().unwrap_or_else(|| schema.item(index));
            coerced.push(self.coerce_node(item, &item_schema, ValueContext::ArrayItem));
            cached = is_shared.then_some((item_schema, is_shared));
        }
        coerced
    }

    fn coerce_members(&mut self, mut node: Node, schema: &FlatSchema<'_>) -> Node {
        let Tree::Object(members) = &mut node.tree else { return node };
        for (index, name) in renames(members, schema, &mut self.fuel) {
            if let Some(member) = members.get_mut(index) {
                self.fixes.push(Fix::new(FixKind::KeyCase, member.key_span.clone()));
                member.key = name;
            }
        }
        for member in &mut *members {
            let null = Node { tree: Tree::Null, span: member.value.span.clone() };
            let value = std::mem::replace(&mut member.value, null);
            member.value =
                self.coerce_node(value, &schema.property(&member.key), ValueContext::Other);
        }
        let absent = members.extract_if(.., |member| self.is_absent(member, schema));
        let absent: Vec<_> = absent.map(|member| member.value.span).collect();
        self.fixes.extend(absent.into_iter().map(|span| Fix::new(FixKind::NullMember, span)));
        node
    }

    /// Returns whether null stands for the absence of this member.
    fn is_absent(&mut self, member: &Member, schema: &FlatSchema<'_>) -> bool {
        matches!(member.value.tree, Tree::Null)
            && schema.has_property(&member.key)
            && self.fuel.consume(schema.required_cost())
            && schema.required().all(|name| name != member.key)
            && !self.fits(&member.value, &schema.property(&member.key), UnknownMembers::Allowed)
    }

    /// Applies `act` to a copy of `node`, and returns the result with its fixes, which are not
    /// recorded yet.
    pub(super) fn attempt(
        &mut self,
        node: &Node,
        apply: impl FnOnce(&mut Self, Node) -> Node,
    ) -> (Node, Vec<Fix>) {
        let before = self.fixes.len();
        let changed = if self.fuel.consume(copy_cost(node)) {
            let copy = node.clone();
            apply(self, copy)
        } else {
            Node { tree: Tree::Null, span: node.span.clone() }
        };
        (changed, self.fixes.split_off(before))
    }

    pub(super) fn fits(
        &mut self,
        node: &Node,
        schema: &FlatSchema<'_>,
        unknown: UnknownMembers,
    ) -> bool {
        fits(&mut self.fuel, node, schema, unknown)
    }
}

/// Returns the first of several conversions, if all have the same result.
pub(super) fn unambiguous(conversions: Vec<(Node, Vec<Fix>)>) -> Option<(Node, Vec<Fix>)> {
    let mut conversions = conversions.into_iter();
    let first = conversions.next()?;
    let json = || first.0.to_json();
    let rest: Vec<_> = conversions.collect();
    let same = rest.is_empty() || {
        let json = json();
        rest.iter().all(|(node, _)| node.to_json() == json)
    };
    same.then_some(first)
}

/// The cost of copying a node: one step for each node and for every 64 bytes of text.
fn copy_cost(node: &Node) -> usize {
    let (mut open, mut size) = (vec![node], 0);
    while let Some(node) = open.pop() {
        size += 1;
        match &node.tree {
            Tree::String { text, .. } => size += text.len() / 64,
            Tree::Number { source, .. } => size += source.len() / 64,
            _ => {}
        }
        open.extend(node.items());
        for (key, value) in node.members() {
            size += key.len() / 64;
            open.push(value);
        }
    }
    size
}
