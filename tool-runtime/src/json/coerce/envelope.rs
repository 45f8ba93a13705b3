//! What stands around the arguments of a call: `{"name": "find", "arguments": {…}}` and its kind,
//! and `{"properties": {…}}`, the schema's own word.

use super::{
    fit::Strangers,
    place::Place,
    roots::Roots,
    settle::{Settle, Within},
};
use crate::json::{
    Fix, FixKind,
    tree::{Member, Node, Tree},
};

/// What holds the arguments.
const HOLDERS: [&str; 6] = ["arguments", "parameters", "input", "args", "function", "properties"];
/// What may stand beside them in a call.
const BESIDE_CALL: [&str; 6] = ["name", "type", "id", "call_id", "index", "function"];
/// What may stand beside `properties` in a schema.
const BESIDE_SCHEMA: [&str; 6] =
    ["type", "required", "title", "description", "$schema", "additionalProperties"];
/// `[{"type": "function", "function": {"name": …, "arguments": "{…}"}}]` takes four.
const LAYERS: usize = 4;
/// Branches within branches in which names of members are looked for.
const BRANCHES: usize = 64;

impl Settle<'_, '_> {
    /// The arguments of a call in their place: without what is around them, where they fit then. Of
    /// what says the call's name it is clear without, and what doesn't fit is told better.
    pub(super) fn arguments(&mut self, node: Node, place: &Place<'_>) -> Node {
        if let Some(opened) = self.open(&node, place) {
            let settle = |walk: &mut Self, node| walk.settle(node, place, Within::Other);
            let (inner, fixes) = self.attempt(&opened.node, settle);
            if opened.is_named || self.fits(&inner, place, Strangers::Refused) {
                self.fixes.extend(opened.fixes.into_iter().chain(fixes));
                self.called = opened.called;
                return inner;
            }
        }
        self.settle(node, place, Within::Other)
    }

    fn open(&mut self, node: &Node, place: &Place<'_>) -> Option<Opened> {
        let names = Names::of(place)?;
        if !self.fuel.pay(1) {
            return None;
        }
        let (fixes, called) = (Vec::new(), Vec::new());
        let mut opened = Opened { node: node.clone(), fixes, called, is_named: false };
        let mut is_open = false;
        for _ in 0..LAYERS {
            let span = opened.node.span.clone();
            let (inner, kind) = match &opened.node.tree {
                Tree::List(items) if !place.types().meets(Roots::LIST) => match items.as_slice() {
                    [item] => (item.clone(), FixKind::Unlisted),
                    _ => break,
                },
                Tree::Object(members) => {
                    let Some(holder) = holder(members, &names) else { break };
                    is_open = true;
                    opened.is_named |= is_named(members) && !names.has("name");
                    opened.called.extend(callees(members));
                    (holder.value.clone(), FixKind::Envelope)
                }
                Tree::Null if is_open => (nothing(&opened.node), FixKind::Empty),
                Tree::Text { text, .. } if is_open && text.trim().is_empty() => {
                    (nothing(&opened.node), FixKind::Empty)
                }
                Tree::Text { .. } if is_open => {
                    let (inner, fixes) = self.decode(&opened.node, Roots::OBJECT)?;
                    opened.fixes.extend(fixes);
                    opened.node = inner;
                    continue;
                }
                _ => break,
            };
            opened.fixes.push(Fix::new(kind, span));
            opened.node = inner;
        }
        let is_object = matches!(opened.node.tree, Tree::Object(_));
        (is_open && is_object).then_some(opened)
    }
}

struct Opened {
    node: Node,
    fixes: Vec<Fix>,
    /// What the layers say is called.
    called: Vec<String>,
    is_named: bool,
}

/// What a call says is called: `name`, or `function` where that is no object.
fn callees(members: &[Member]) -> impl Iterator<Item = String> {
    members.iter().filter_map(|member| match (member.key.as_str(), &member.value.tree) {
        ("name" | "function", Tree::Text { text, .. }) if !text.is_empty() => Some(text.clone()),
        _ => None,
    })
}

fn is_named(members: &[Member]) -> bool {
    let is_text = |member: &Member| matches!(member.value.tree, Tree::Text { .. });
    members.iter().any(|member| member.key == "name" && is_text(member))
}

fn nothing(node: &Node) -> Node {
    Node { tree: Tree::Object(Vec::new()), span: node.span.clone() }
}

/// The one member that holds the arguments, if this is an envelope and nothing more.
fn holder<'n>(members: &'n [Member], names: &Names<'_>) -> Option<&'n Member> {
    let holds = |member: &&Member| {
        // `function` is the function's name, at times.
        let may = member.key != "function" || matches!(member.value.tree, Tree::Object(_));
        may && HOLDERS.contains(&member.key.as_str()) && !names.has(&member.key)
    };
    let mut found = members.iter().filter(holds);
    let holder = found.next().filter(|_| found.next().is_none())?;
    let is_call = holder.key != "properties";
    let is_named = is_call && is_named(members);
    let may_be_beside = |member: &Member| {
        let key = member.key.as_str();
        let is_scalar = !matches!(member.value.tree, Tree::List(_) | Tree::Object(_));
        // A call says its name even where an argument is called `name`.
        let is_free = !names.has(key) || (is_named && matches!(key, "name" | "type"));
        let known: &[&str] = if is_call { &BESIDE_CALL } else { &BESIDE_SCHEMA };
        known.contains(&key) && (is_scalar || !is_call) && is_free
    };
    let mut others = members.iter().filter(|member| member.key != holder.key);
    others.all(may_be_beside).then_some(holder)
}

/// The members that a schema spells out, in all its branches.
struct Names<'s>(Vec<Place<'s>>);

impl<'s> Names<'s> {
    /// `None` where the schema may have members of any name, or says of none.
    fn of(place: &Place<'s>) -> Option<Self> {
        let (mut open, mut places) = (vec![place.clone()], Vec::new());
        while let Some(mut place) = open.pop() {
            while let Some((choice, rest)) = place.choice() {
                open.extend(choice.iter().map(|branch| Place::of(place.root(), [branch])));
                place = rest;
            }
            if place.is_unknown() || place.takes_any_name() || places.len() >= BRANCHES {
                return None;
            }
            places.push(place);
        }
        places.iter().any(Place::spells_out).then_some(Self(places))
    }

    fn has(&self, key: &str) -> bool {
        self.0.iter().any(|place| place.has_name(key))
    }
}
