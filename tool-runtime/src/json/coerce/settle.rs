//! The walk: each value in its place.

use super::{
    ReadInner,
    data::Data,
    fit::{Strangers, fits},
    fuel::Fuel,
    place::Place,
    rename::renames,
};
use crate::json::{
    Fix, FixKind,
    tree::{Member, Node, Tree},
};

pub(super) struct Settle<'r, 'f> {
    pub(super) fuel: Fuel,
    pub(super) fixes: Vec<Fix>,
    /// What the envelopes around the arguments say is called.
    pub(super) called: Vec<String>,
    pub(super) read: &'r mut ReadInner<'f>,
}

/// Where a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// An item of a list: `[1]` for `[[1]]` has two readings, so no item becomes a list.
    List,
    Other,
}

impl<'r, 'f> Settle<'r, 'f> {
    pub(super) fn new(fuel: Fuel, read: &'r mut ReadInner<'f>) -> Self {
        Self { fuel, fixes: Vec::new(), called: Vec::new(), read }
    }

    pub(super) fn fix(&mut self, kind: FixKind, node: &Node) {
        self.fixes.push(Fix::new(kind, node.span.clone()));
    }

    /// The value as its place wants it, or as it came.
    pub(super) fn settle(&mut self, node: Node, place: &Place<'_>, within: Within) -> Node {
        if place.is_free() || !self.fuel.enter() {
            return node;
        }
        let node = self.look(node, place, within);
        self.fuel.leave();
        node
    }

    fn look(&mut self, node: Node, place: &Place<'_>, within: Within) -> Node {
        if let Some((choice, rest)) = place.choice() {
            return self.choose(node, choice, &rest, within);
        }
        if !place.types().meets(node.root()) {
            return self.reread(node, place, within);
        }
        match node.tree {
            Tree::List(items) => {
                let items = self.items(items, place);
                Node { tree: Tree::List(items), span: node.span }
            }
            Tree::Object(_) => self.members(node, place),
            _ if place.lists().all(|list| list.iter().any(|value| node.is(value))) => node,
            _ => self.reread(node, place, within),
        }
    }

    fn items(&mut self, items: Vec<Node>, place: &Place<'_>) -> Vec<Node> {
        let mut of_item = None;
        let mut settled = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let (here, alike) = of_item.take().unwrap_or_else(|| place.item(index));
            settled.push(self.settle(item, &here, Within::List));
            of_item = alike.then_some((here, alike));
        }
        settled
    }

    fn members(&mut self, mut node: Node, place: &Place<'_>) -> Node {
        let Tree::Object(members) = &mut node.tree else { return node };
        for (index, name) in renames(members, place) {
            if let Some(member) = members.get_mut(index) {
                self.fixes.push(Fix::new(FixKind::KeyCase, member.key_span.clone()));
                member.key = name;
            }
        }
        for member in &mut *members {
            let null = Node { tree: Tree::Null, span: member.value.span.clone() };
            let value = std::mem::replace(&mut member.value, null);
            member.value = self.settle(value, &place.member(&member.key), Within::Other);
        }
        let absent = members.extract_if(.., |member| self.is_absent(member, place));
        let absent: Vec<_> = absent.map(|member| member.value.span).collect();
        self.fixes.extend(absent.into_iter().map(|span| Fix::new(FixKind::Absent, span)));
        node
    }

    /// Whether null says that there is no such member.
    fn is_absent(&mut self, member: &Member, place: &Place<'_>) -> bool {
        matches!(member.value.tree, Tree::Null)
            && place.has_name(&member.key)
            && place.required().all(|name| name != member.key)
            && !self.fits(&member.value, &place.member(&member.key), Strangers::Taken)
    }

    /// Does something to a copy of `node`; gives it with the fixes that it took, which aren't
    /// recorded yet.
    pub(super) fn attempt(
        &mut self,
        node: &Node,
        act: impl FnOnce(&mut Self, Node) -> Node,
    ) -> (Node, Vec<Fix>) {
        let before = self.fixes.len();
        let changed = if self.fuel.pay(size(node)) {
            let copy = node.clone();
            act(self, copy)
        } else {
            Node { tree: Tree::Null, span: node.span.clone() }
        };
        (changed, self.fixes.split_off(before))
    }

    pub(super) fn fits(&mut self, node: &Node, place: &Place<'_>, strangers: Strangers) -> bool {
        fits(&mut self.fuel, node, place, strangers)
    }
}

/// The one of several readings, if they come to the same.
pub(super) fn single(readings: Vec<(Node, Vec<Fix>)>) -> Option<(Node, Vec<Fix>)> {
    let mut readings = readings.into_iter();
    let first = readings.next()?;
    let json = || first.0.to_json();
    let rest: Vec<_> = readings.collect();
    let same = rest.is_empty() || {
        let json = json();
        rest.iter().all(|(node, _)| node.to_json() == json)
    };
    same.then_some(first)
}

/// Nodes, and 64 bytes of text each.
fn size(node: &Node) -> usize {
    let (mut open, mut size) = (vec![node], 0);
    while let Some(node) = open.pop() {
        size += 1;
        match &node.tree {
            Tree::Text { text, .. } => size += text.len() / 64,
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
