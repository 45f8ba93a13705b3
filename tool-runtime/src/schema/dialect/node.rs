//! What a schema means: the values that it has at one place, apart from how it says so.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Unfit;
use super::narrow::narrowed;
use super::place::Place;

/// A place and what is said of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) shape: Shape,
    pub(super) notes: Notes,
}

/// What is said to the reader alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Notes {
    pub(super) description: Option<String>,
    /// `title`, `default` and `examples`; and rules that are about no type, such as `not`.
    pub(super) more: Map<String, Value>,
}

/// The values of a place. Rules beside it narrow them, each by its keyword.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Any,
    Scalar(Scalar),
    List {
        first: Vec<Node>,
        rest: Option<Box<Node>>,
        rules: Map<String, Value>,
    },
    Object(Object),
    Choice(Choice),
    /// What another place of the document says.
    Reference(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scalar {
    pub(super) kind: Kind,
    /// The only ones, where they are listed.
    pub(super) values: Option<Vec<Value>>,
    pub(super) rules: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    Text,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Object {
    pub(super) members: BTreeMap<String, Member>,
    pub(super) others: Others,
    pub(super) rules: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) node: Node,
    pub(super) is_required: bool,
    /// Where it stands among those that are required, which are told in this order; the others come behind them.
    pub(super) place: usize,
}

/// Members that have no name in the schema.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Others {
    /// Nothing is said: they may come, and nobody means them to.
    Unsaid,
    None,
    Some(Box<Node>),
}

/// One of several.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) among: Vec<Node>,
    /// A value that fits two of them fits not at all.
    pub(super) is_exclusive: bool,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Text => "string",
        }
    }

    /// The one of a value; none of a list or an object.
    pub(super) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::Text,
            Value::Array(_) | Value::Object(_) => return None,
        })
    }
}

impl Object {
    /// The members as the schema they are from tells them.
    pub(super) fn in_order(&self) -> Vec<(&String, &Member)> {
        let mut members: Vec<_> = self.members.iter().collect();
        members.sort_by_key(|(_, member)| member.place);
        members
    }
}

impl Node {
    pub(super) fn null() -> Self {
        let null = Scalar { kind: Kind::Null, values: None, rules: Map::new() };
        Shape::Scalar(null).into()
    }

    pub(super) const fn is_null(&self) -> bool {
        matches!(self.shape, Shape::Scalar(Scalar { kind: Kind::Null, .. }))
    }
}

impl From<Shape> for Node {
    fn from(shape: Shape) -> Self {
        Self { shape, notes: Notes::default() }
    }
}

impl Notes {
    /// These, and what those say that these don't. Of what is said to the reader these are nearer; rules hold
    /// on both sides.
    pub(super) fn over(self, below: Self, at: &Place) -> Result<Self, Unfit> {
        let description = self.description.or(below.description);
        let is_told = |keyword: &str| ["default", "examples", "title"].contains(&keyword);
        let (mut told, rules): (Map<_, _>, Map<_, _>) =
            self.more.into_iter().partition(|(keyword, _)| is_told(keyword));
        let (far, below): (Map<_, _>, Map<_, _>) =
            below.more.into_iter().partition(|(keyword, _)| is_told(keyword));
        for (keyword, value) in far {
            told.entry(keyword).or_insert(value);
        }
        told.append(&mut narrowed(rules, below, at)?);
        Ok(Self { description, more: told })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.description.is_none() && self.more.is_empty()
    }
}

impl Choice {
    /// Whether a value could fit two.
    pub(super) fn may_overlap(&self) -> bool {
        let mut before: Vec<&Node> = Vec::new();
        self.among.iter().any(|node| {
            let overlaps = before.iter().any(|other| !are_apart(node, other));
            before.push(node);
            overlaps
        })
    }
}

/// Whether no value fits both, as far as that can be seen at a glance.
fn are_apart(one: &Node, other: &Node) -> bool {
    match (&one.shape, &other.shape) {
        (Shape::Scalar(one), Shape::Scalar(other)) if are_alike(one.kind, other.kind) => {
            match (&one.values, &other.values) {
                (Some(one), Some(other)) => one.iter().all(|value| !other.contains(value)),
                _ => false,
            }
        }
        (Shape::Object(one), Shape::Object(other)) => {
            let has_own = |one: &Object, other: &Object| {
                one.members.iter().any(|(name, member)| {
                    let others = other.members.get(name);
                    member.is_required
                        && match others {
                            None => other.others == Others::None,
                            Some(others) => {
                                others.is_required && are_apart(&member.node, &others.node)
                            }
                        }
                })
            };
            has_own(one, other) || has_own(other, one)
        }
        (Shape::Any | Shape::Reference(_) | Shape::Choice(_), _)
        | (_, Shape::Any | Shape::Reference(_) | Shape::Choice(_))
        | (Shape::List { .. }, Shape::List { .. }) => false,
        _ => true,
    }
}

fn are_alike(one: Kind, other: Kind) -> bool {
    let is_number = |kind| matches!(kind, Kind::Integer | Kind::Number);
    one == other || is_number(one) && is_number(other)
}
