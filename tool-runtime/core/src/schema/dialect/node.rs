//! The meaning of a schema: the values that it allows at one location, independent of its notation.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::UnsupportedSchema;
use super::location::SchemaLocation;
use super::narrow::intersect_rules;

/// The values of a location, and their annotations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SchemaNode {
    pub(super) shape: Shape,
    pub(super) annotations: Annotations,
}

/// Annotations for the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Annotations {
    pub(super) description: Option<String>,
    /// `title`, `default` and `examples`; and rules without a type, such as `not`.
    pub(super) more: Map<String, Value>,
}

/// The values of a location. The rules beside a shape narrow it, by keyword.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Any,
    Scalar(Scalar),
    List {
        first: Vec<SchemaNode>,
        rest: Option<Box<SchemaNode>>,
        rules: Map<String, Value>,
    },
    Object(Object),
    Choice(Choice),
    /// The target of a reference.
    Reference(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scalar {
    pub(super) kind: ScalarKind,
    /// The only values, if they are listed.
    pub(super) values: Option<Vec<Value>>,
    pub(super) rules: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarKind {
    Null,
    Boolean,
    Integer,
    Number,
    Text,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Object {
    pub(super) members: BTreeMap<String, SchemaMember>,
    pub(super) additional: AdditionalMembers,
    pub(super) rules: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct SchemaMember {
    pub(super) node: SchemaNode,
    pub(super) is_required: bool,
    /// The position among the required members, which are written in this order; optional members
    /// follow.
    pub(super) position: usize,
}

/// Members that the schema doesn't name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AdditionalMembers {
    /// The schema doesn't mention them: they are allowed, but not intended.
    Unspecified,
    None,
    Some(Box<SchemaNode>),
}

/// A choice of several nodes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) branches: Vec<SchemaNode>,
    /// True if a value that matches two branches is invalid.
    pub(super) is_exclusive: bool,
}

impl ScalarKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Text => "string",
        }
    }

    /// Returns the kind of a value; `None` for a list or an object.
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
    /// Returns the members in the order of the schema.
    pub(super) fn in_order(&self) -> Vec<(&String, &SchemaMember)> {
        let mut members: Vec<_> = self.members.iter().collect();
        members.sort_by_key(|(_, member)| member.position);
        members
    }
}

impl SchemaNode {
    pub(super) fn null() -> Self {
        let null = Scalar { kind: ScalarKind::Null, values: None, rules: Map::new() };
        Shape::Scalar(null).into()
    }

    pub(super) const fn is_null(&self) -> bool {
        matches!(self.shape, Shape::Scalar(Scalar { kind: ScalarKind::Null, .. }))
    }
}

impl From<Shape> for SchemaNode {
    fn from(shape: Shape) -> Self {
        Self { shape, annotations: Annotations::default() }
    }
}

impl Annotations {
    /// Merges these annotations with those of `below`. The annotations for the model take
    /// precedence in this order; rules apply from both sides.
    pub(super) fn merged_with(
        self,
        other: Self,
        at: &SchemaLocation,
    ) -> Result<Self, UnsupportedSchema> {
        let description = self.description.or(other.description);
        let is_annotation = |keyword: &str| ["default", "examples", "title"].contains(&keyword);
        let (mut annotations, rules): (Map<_, _>, Map<_, _>) =
            self.more.into_iter().partition(|(keyword, _)| is_annotation(keyword));
        let (other_annotations, other): (Map<_, _>, Map<_, _>) =
            other.more.into_iter().partition(|(keyword, _)| is_annotation(keyword));
        for (keyword, value) in other_annotations {
            annotations.entry(keyword).or_insert(value);
        }
        annotations.append(&mut intersect_rules(rules, other, at)?);
        Ok(Self { description, more: annotations })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.description.is_none() && self.more.is_empty()
    }
}

impl Choice {
    /// Returns true if a value may match two branches.
    pub(super) fn may_overlap(&self) -> bool {
        let mut before: Vec<&SchemaNode> = Vec::new();
        self.branches.iter().any(|node| {
            let overlaps = before.iter().any(|other| !are_disjoint(node, other));
            before.push(node);
            overlaps
        })
    }
}

/// Returns true if certainly no value matches both nodes, without following references.
fn are_disjoint(left: &SchemaNode, right: &SchemaNode) -> bool {
    match (&left.shape, &right.shape) {
        (Shape::Scalar(left), Shape::Scalar(right)) if are_comparable(left.kind, right.kind) => {
            match (&left.values, &right.values) {
                (Some(left), Some(right)) => left.iter().all(|value| !right.contains(value)),
                _ => false,
            }
        }
        (Shape::Object(left), Shape::Object(right)) => {
            let has_own = |left: &Object, right: &Object| {
                left.members.iter().any(|(name, member)| {
                    let other_member = right.members.get(name);
                    member.is_required
                        && match other_member {
                            None => right.additional == AdditionalMembers::None,
                            Some(other_member) => {
                                other_member.is_required
                                    && are_disjoint(&member.node, &other_member.node)
                            }
                        }
                })
            };
            has_own(left, right) || has_own(right, left)
        }
        (Shape::Any | Shape::Reference(_) | Shape::Choice(_), _)
        | (_, Shape::Any | Shape::Reference(_) | Shape::Choice(_))
        | (Shape::List { .. }, Shape::List { .. }) => false,
        _ => true,
    }
}

fn are_comparable(left: ScalarKind, right: ScalarKind) -> bool {
    let is_number = |kind| matches!(kind, ScalarKind::Integer | ScalarKind::Number);
    left == right || is_number(left) && is_number(right)
}
