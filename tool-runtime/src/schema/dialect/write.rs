//! A shape in a provider's words.

use std::collections::BTreeMap;
use std::mem;

use serde_json::{Map, Value, json};

use super::Unfit;
use super::limits::endless;
use super::narrow::narrowed;
use super::node::{Choice, Kind, Node, Notes, Object, Others, Scalar, Shape};
use super::place::Place;
use super::read::Reader;
use super::rules::{NullBeside, Objects, References, Rules, Wording};
use super::words::described;

/// The document of a root.
pub(super) fn document(
    root: &Node,
    reader: &Reader<'_>,
    rules: &'static Rules,
) -> Result<Value, Unfit> {
    let (names, waiting, open) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut writer = Writer { reader, rules, names, waiting, open };
    let at = &Place::root();
    let root = reader.followed(root.clone(), at)?;
    match &root.shape {
        Shape::Choice(_) => {
            return Err(at.unfit("it has to be one object: put the choice into a member"));
        }
        Shape::Object(_) => {}
        _ if rules.objects == Objects::Complete => {
            return Err(at.unfit("it has to be an object: put this into a member"));
        }
        _ => {}
    }
    let mut document = writer.write(&root, at)?;
    let mut definitions = Map::new();
    let mut places = BTreeMap::new();
    while let Some((reference, name, at)) = writer.waiting.pop() {
        let target = reader.target(&reference, &at)?;
        definitions.insert(name.clone(), writer.write(&target, &at)?.into());
        places.insert(name, at);
    }
    if rules.references == References::KeptIfEnding
        && let Some(name) = endless(&definitions)
    {
        let at = places.get(name).unwrap_or(at);
        return Err(at.unfit("its type holds itself where that can't be left out"));
    }
    if !definitions.is_empty() {
        document.insert("$defs".into(), definitions.into());
    }
    Ok(document.into())
}

struct Writer<'r, 'd> {
    reader: &'r Reader<'d>,
    rules: &'static Rules,
    /// The names of definitions, by the references that lead to them.
    names: BTreeMap<String, String>,
    /// Definitions that are still to be written, and where they are first needed.
    waiting: Vec<(String, String, Place)>,
    /// The references that are being replaced.
    open: Vec<String>,
}

impl Writer<'_, '_> {
    fn write(&mut self, node: &Node, at: &Place) -> Result<Map<String, Value>, Unfit> {
        self.reader.pay(at)?;
        let at = &at.deeper()?;
        // Rules that the provider doesn't take.
        let mut told = Map::new();
        let mut written = match &node.shape {
            Shape::Any if self.rules.takes_any => Map::new(),
            Shape::Any => return Err(at.unfit("it may be anything: give it a type")),
            Shape::Scalar(scalar) => self.scalar(scalar, &mut told, at)?,
            Shape::List { first, rest, rules } => {
                let mut list = self.list(first, rest.as_deref(), at)?;
                self.rule(rules, &mut list, &mut told, at)?;
                list
            }
            Shape::Object(object) => self.object(object, &mut told, at)?,
            Shape::Choice(choice) => match self.lone(choice, &node.notes, at)? {
                Some(node) => return self.write(&node, at),
                None => self.choice(choice, &mut told, at)?,
            },
            Shape::Reference(reference) if self.rules.references == References::Replaced => {
                return self.replaced(reference, &node.notes, at);
            }
            Shape::Reference(reference) => self.reference(reference, &node.notes, at),
        };
        self.rule(&node.notes.more, &mut written, &mut told, at)?;
        if let Some(words) = described(node.notes.description.as_deref(), &told) {
            written.insert("description".into(), words.into());
        }
        Ok(written)
    }

    /// Puts rules where they are held to, or else where they are read.
    fn rule(
        &self,
        rules: &Map<String, Value>,
        written: &mut Map<String, Value>,
        told: &mut Map<String, Value>,
        at: &Place,
    ) -> Result<(), Unfit> {
        let (mut taken, mut left) = (Map::new(), Map::new());
        for (keyword, value) in rules {
            let place = if self.rules.takes(keyword, value) { &mut taken } else { &mut left };
            place.insert(keyword.clone(), value.clone());
        }
        *written = narrowed(mem::take(written), taken, at)?;
        *told = narrowed(mem::take(told), left, at)?;
        Ok(())
    }

    fn scalar(
        &self,
        scalar: &Scalar,
        told: &mut Map<String, Value>,
        at: &Place,
    ) -> Result<Map<String, Value>, Unfit> {
        let mut written = typed(scalar.kind.name());
        if let Some(values) = &scalar.values {
            let place = if self.rules.lists(values) { &mut written } else { &mut *told };
            place.insert("enum".into(), values.as_slice().into());
        }
        self.rule(&scalar.rules, &mut written, told, at)?;
        Ok(written)
    }

    fn list(
        &mut self,
        first: &[Node],
        rest: Option<&Node>,
        at: &Place,
    ) -> Result<Map<String, Value>, Unfit> {
        let mut written = typed("array");
        if self.rules.takes_tuples && !first.is_empty() {
            let items = first.iter().zip(0..);
            let items = items.map(|(item, index)| Ok(self.write(item, &at.item(index))?.into()));
            let items = items.collect::<Result<Vec<Value>, _>>()?;
            written.insert("prefixItems".into(), items.into());
            if let Some(rest) = rest {
                written.insert("items".into(), self.write(rest, &at.items())?.into());
            }
            return Ok(written);
        }
        let all: Vec<_> = first.iter().chain(rest).collect();
        let items = match all.split_first() {
            None => return Err(at.unfit("it has no items")),
            Some((one, others)) if others.iter().all(|other| other == one) => Node::clone(one),
            Some(_) => one_of_each(first, rest),
        };
        written.insert("items".into(), self.write(&items, &at.items())?.into());
        Ok(written)
    }

    fn object(
        &mut self,
        object: &Object,
        told: &mut Map<String, Value>,
        at: &Place,
    ) -> Result<Map<String, Value>, Unfit> {
        let Rules { objects, maps, .. } = self.rules;
        let is_complete = *objects == Objects::Complete;
        let is_closed = is_complete || *objects == Objects::Closed;
        let mut written = typed("object");
        let (mut members, mut required) = (Map::new(), Vec::new());
        for (name, member) in object.in_order() {
            let place = at.member(name);
            let may_be_null =
                !is_complete || member.is_required || self.takes_null(&member.node, &place)?;
            let schema = if may_be_null {
                self.write(&member.node, &place)?
            } else {
                self.write(&or_null(member.node.clone()), &place)?
            };
            members.insert(name.clone(), schema.into());
            if is_complete || member.is_required {
                required.push(name.as_str());
            }
        }
        let is_nothing = members.is_empty() && !at.is_root();
        match (&object.others, maps) {
            (Others::Some(_), Wording::No) => {
                let reason = "its members may have any name: name them, or take a list of objects \
                              that have the name as a member";
                return Err(at.unfit(reason));
            }
            (Others::Some(node), Wording::Keyword) => {
                let others = self.write(node, &at.member("*"))?;
                written.insert("additionalProperties".into(), others.into());
            }
            (Others::Some(node), Wording::Description) => {
                let others = self.write(node, &at.member("*"))?;
                told.insert("additionalProperties".into(), others.into());
            }
            (Others::Unsaid, _) if is_nothing && is_closed => {
                return Err(at.unfit("it doesn't say which members it has"));
            }
            (_, Wording::No) if is_nothing && !is_closed => {
                return Err(at.unfit("it has no members: an object has to have one"));
            }
            (others, _) if is_closed || *objects == Objects::Free && *others == Others::None => {
                written.insert("additionalProperties".into(), false.into());
            }
            _ => {}
        }
        if is_closed || !members.is_empty() || object.others == Others::None {
            written.insert("properties".into(), members.into());
        }
        if !required.is_empty() || is_complete {
            written.insert("required".into(), required.into());
        }
        self.rule(&object.rules, &mut written, told, at)?;
        Ok(written)
    }

    /// The one thing that a choice is about, with what is said of both.
    fn lone(&self, choice: &Choice, notes: &Notes, at: &Place) -> Result<Option<Node>, Unfit> {
        let [one] = choice.among.as_slice() else { return Ok(None) };
        let notes = notes.clone().over(one.notes.clone(), at)?;
        Ok(Some(Node { shape: one.shape.clone(), notes }))
    }

    fn choice(
        &mut self,
        choice: &Choice,
        told: &mut Map<String, Value>,
        at: &Place,
    ) -> Result<Map<String, Value>, Unfit> {
        if choice.is_exclusive && choice.may_overlap() {
            told.insert("oneOf".into(), "exactly one has to fit".into());
        }
        let (null, others): (Vec<_>, Vec<_>) = choice.among.iter().partition(|node| node.is_null());
        let null = null.first();
        if let (Some(_), [Node { shape: Shape::Scalar(scalar), notes }]) = (null, others.as_slice())
            && self.rules.null == NullBeside::Type
            && scalar.values.is_none()
            && notes.is_empty()
        {
            let mut written = self.scalar(scalar, told, at)?;
            written.insert("type".into(), json!([scalar.kind.name(), "null"]));
            return Ok(written);
        }
        let by_keyword = null.is_some() && self.rules.null == NullBeside::Keyword;
        let branches = if by_keyword { others } else { choice.among.iter().collect() };
        let mut written = match branches.as_slice() {
            [] => typed(Kind::Null.name()),
            [one] => self.write(one, at)?,
            branches => {
                let branches = branches.iter().map(|branch| Ok(self.write(branch, at)?.into()));
                let branches = branches.collect::<Result<Vec<Value>, _>>()?;
                Map::from_iter([("anyOf".to_owned(), branches.into())])
            }
        };
        if by_keyword {
            written.insert("nullable".into(), true.into());
        }
        Ok(written)
    }

    fn replaced(
        &mut self,
        reference: &str,
        notes: &Notes,
        at: &Place,
    ) -> Result<Map<String, Value>, Unfit> {
        if self.open.iter().any(|open| open == reference) {
            return Err(at.unfit("its type holds itself"));
        }
        self.open.push(reference.to_owned());
        let target = self.reader.target(reference, at)?;
        let node = Node { shape: target.shape, notes: notes.clone().over(target.notes, at)? };
        let written = self.write(&node, at);
        self.open.pop();
        written
    }

    /// Nothing may stand beside a reference, so what is said of it stands around it.
    fn reference(&mut self, reference: &str, notes: &Notes, at: &Place) -> Map<String, Value> {
        let name = match self.names.get(reference) {
            Some(name) => name.clone(),
            None => {
                let name = self.new_name(reference);
                self.names.insert(reference.to_owned(), name.clone());
                self.waiting.push((reference.to_owned(), name.clone(), at.clone()));
                name
            }
        };
        let bare = Map::from_iter([("$ref".to_owned(), format!("#/$defs/{name}").into())]);
        if notes.is_empty() {
            return bare;
        }
        Map::from_iter([("anyOf".to_owned(), json!([bare]))])
    }

    fn new_name(&self, reference: &str) -> String {
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let letter = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
        let name: String = last.chars().map(letter).collect();
        let name = if name.is_empty() { "root".to_owned() } else { name };
        let is_free = |name: &String| !self.names.values().any(|taken| taken == name);
        let mut names = (2..).map(|number| format!("{name}_{number}"));
        if is_free(&name) { name } else { names.find(is_free).unwrap_or(name) }
    }

    fn takes_null(&self, node: &Node, at: &Place) -> Result<bool, Unfit> {
        self.reader.pay(at)?;
        let at = &at.deeper()?;
        Ok(match &node.shape {
            Shape::Any => true,
            Shape::Scalar(scalar) => scalar.kind == Kind::Null,
            Shape::Choice(choice) => {
                for node in &choice.among {
                    if self.takes_null(node, at)? {
                        return Ok(true);
                    }
                }
                false
            }
            Shape::Reference(reference) => {
                self.takes_null(&self.reader.target(reference, at)?, at)?
            }
            Shape::List { .. } | Shape::Object(_) => false,
        })
    }
}

fn typed(name: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), name.into())])
}

/// What may be left out, for those who want it told.
fn or_null(Node { shape, notes }: Node) -> Node {
    let mut choice = match shape {
        Shape::Choice(choice) => choice,
        shape => Choice { among: vec![shape.into()], is_exclusive: false },
    };
    choice.among.push(Node::null());
    Node { shape: Shape::Choice(choice), notes }
}

/// An item of any place, told of its place.
fn one_of_each(first: &[Node], rest: Option<&Node>) -> Node {
    let placed = |node: &Node, place: String| {
        let said = node.notes.description.as_deref();
        let description =
            Some(said.map_or_else(|| place.clone(), |said| format!("{place}: {said}")));
        Node { shape: node.shape.clone(), notes: Notes { description, ..node.notes.clone() } }
    };
    let first = first.iter().zip(1..).map(|(node, number)| placed(node, format!("Item {number}")));
    let rest = rest.map(|node| placed(node, "The items behind".to_owned()));
    let among = first.chain(rest).collect();
    Shape::Choice(Choice { among, is_exclusive: false }).into()
}
