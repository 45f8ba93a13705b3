//! A value of another type, or spelled otherwise, read as its place wants it.
//!
//! All readings are made, those that don't fit are dropped, and what is left must be one.

use serde_json::Value;

use super::{
    data::Data,
    digits::{is_integer, number, whole},
    fit::Strangers,
    place::Place,
    roots::Roots,
    settle::{Settle, Within, single},
};
use crate::json::{
    Fix, FixKind,
    tree::{Node, Tree},
};

impl Settle<'_, '_> {
    pub(super) fn reread(&mut self, node: Node, place: &Place<'_>, within: Within) -> Node {
        let types = place.types();
        let mut readings: Vec<(Node, Vec<Fix>)> = plain(&node, types, place)
            .into_iter()
            .map(|(tree, kind)| {
                let span = node.span.clone();
                (Node { tree, span: span.clone() }, vec![Fix::new(kind, span)])
            })
            .collect();
        readings.extend(self.decoded(&node, types, place));
        if within == Within::Other && types.meets(Roots::LIST) && may_be_item(&node.tree) {
            readings.push(self.attempt(&node, |walk, node| {
                walk.fix(FixKind::Listed, &node);
                let span = node.span.clone();
                let list = Node { tree: Tree::List(vec![node]), span };
                walk.settle(list, place, Within::Other)
            }));
        }
        if let Tree::List(items) = &node.tree
            && let [item] = items.as_slice()
            && !matches!(item.tree, Tree::List(_) | Tree::Null)
        {
            readings.push(self.attempt(item, |walk, item| {
                walk.fix(FixKind::Unlisted, &node);
                // Not a list again: it was one that doesn't fit.
                walk.settle(item, place, Within::List)
            }));
        }
        readings.retain(|(node, _)| self.fits(node, place, Strangers::Taken));
        match single(readings).filter(|_| !self.fuel.is_spent()) {
            Some((node, fixes)) => {
                self.fixes.extend(fixes);
                node
            }
            None => node,
        }
    }

    /// The object or list that a text holds.
    fn decoded(
        &mut self,
        node: &Node,
        types: Roots,
        place: &Place<'_>,
    ) -> Option<(Node, Vec<Fix>)> {
        let (inner, mut fixes) = self.decode(node, types)?;
        let (inner, more) =
            self.attempt(&inner, |walk, inner| walk.settle(inner, place, Within::Other));
        fixes.extend(more);
        Some((inner, fixes))
    }

    /// The object or list that a text holds, as it is spelled there.
    pub(super) fn decode(&mut self, node: &Node, types: Roots) -> Option<(Node, Vec<Fix>)> {
        let Tree::Text { text, is_bare: false } = &node.tree else { return None };
        let wanted = types.and(Roots::OBJECT.or(Roots::LIST));
        if types.meets(Roots::TEXT) || wanted.is(Roots::NONE) || !self.fuel.pay(text.len()) {
            return None;
        }
        let (mut inner, kinds) =
            (self.read)(text, wanted).filter(|(inner, _)| wanted.meets(inner.root()))?;
        inner.place_at(&node.span);
        let kinds = [FixKind::EncodedTwice].into_iter().chain(kinds);
        Some((inner, kinds.map(|kind| Fix::new(kind, node.span.clone())).collect()))
    }
}

/// The readings of a scalar as another, where the types allow them.
fn plain(node: &Node, types: Roots, place: &Place<'_>) -> Vec<(Tree, FixKind)> {
    let mut readings = Vec::new();
    let allows = |root| types.meets(root);
    match &node.tree {
        Tree::Text { text, is_bare } => {
            if allows(Roots::TEXT) {
                let listed = listed_as(text, place).map(|text| Tree::Text { text, is_bare: false });
                readings.extend(listed.map(|text| (text, FixKind::ChoiceCase)));
            }
            if !is_bare {
                let unquoted = unquoted(text.trim(), types);
                readings.extend(unquoted.map(|tree| (tree, FixKind::Unquoted)));
            }
        }
        Tree::Number { source, json } => {
            if allows(Roots::INTEGER) && !is_integer(json) {
                let whole = whole(json);
                let number = whole.map(|json| Tree::Number { source: source.clone(), json });
                readings.extend(number.map(|number| (number, FixKind::Whole)));
            }
            if allows(Roots::TEXT) {
                let text = Tree::Text { text: source.clone(), is_bare: false };
                readings.push((text, FixKind::Quoted));
            }
        }
        Tree::Bool(value) if allows(Roots::TEXT) => {
            let text = Tree::Text { text: value.to_string(), is_bare: false };
            readings.push((text, FixKind::Quoted));
        }
        _ => {}
    }
    readings
}

/// The listed text that differs in case and surrounding space alone.
fn listed_as(text: &str, place: &Place<'_>) -> Option<String> {
    let wanted = small(text);
    let list = place.lists().next()?;
    let mut alike =
        list.iter().filter_map(|value| value.as_str()).filter(|one| small(one) == wanted);
    let first = alike.next()?;
    alike.all(|other| other == first).then(|| first.to_owned())
}

/// Whether a text is in the list, case and surrounding space aside.
pub(super) fn is_listed(text: &str, list: &[Value]) -> bool {
    let wanted = small(text);
    list.iter().filter_map(Value::as_str).any(|one| small(one) == wanted)
}

fn small(text: &str) -> String {
    text.trim().to_lowercase()
}

/// The number, boolean or null that a text spells. Python's and others' words differ in case alone,
/// but for `None`.
fn unquoted(text: &str, types: Roots) -> Option<Tree> {
    if types.meets(Roots::BOOL) && text.eq_ignore_ascii_case("true") {
        return Some(Tree::Bool(true));
    }
    if types.meets(Roots::BOOL) && text.eq_ignore_ascii_case("false") {
        return Some(Tree::Bool(false));
    }
    if types.meets(Roots::NULL) && (text.eq_ignore_ascii_case("null") || text == "None") {
        return Some(Tree::Null);
    }
    let source = number(text).filter(|_| types.meets(Roots::NUMBER))?;
    let json = if types.meets(Roots::FRACTION) || is_integer(source) {
        source.to_owned()
    } else {
        whole(source)?
    };
    Some(Tree::Number { source: source.to_owned(), json })
}

/// Whether a value may be the only item of a list. A text may not where it looks like several, or
/// like nothing.
fn may_be_item(tree: &Tree) -> bool {
    match tree {
        Tree::List(_) | Tree::Null => false,
        Tree::Text { text, .. } => {
            !text.trim().is_empty()
                && !text.trim_start().starts_with(['[', '{'])
                && !text.contains([',', ';', '|', '\n', '、', '，'])
        }
        _ => true,
    }
}
