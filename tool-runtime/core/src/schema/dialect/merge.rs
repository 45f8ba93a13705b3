//! Intersection of shapes that apply to one location: `allOf`, and schemas beside a reference or a
//! choice.

use super::UnsupportedSchema;
use super::location::SchemaLocation;
use super::narrow::intersect_rules;
use super::node::{
    AdditionalMembers, Choice, Object, Scalar, ScalarKind, SchemaMember, SchemaNode, Shape,
};
use super::parse::SchemaParser;

impl SchemaParser<'_> {
    /// Returns the intersection of two nodes; `None` if no value satisfies both.
    pub(super) fn intersect(
        &self,
        left: SchemaNode,
        right: SchemaNode,
        at: &SchemaLocation,
    ) -> Result<Option<SchemaNode>, UnsupportedSchema> {
        let is_trivial =
            left.shape == right.shape || left.shape == Shape::Any || right.shape == Shape::Any;
        let (left, right) = if is_trivial {
            (left, right)
        } else {
            (self.follow(left, at)?, self.follow(right, at)?)
        };
        let Some(shape) = self.shapes(left.shape, right.shape, at)? else { return Ok(None) };
        Ok(Some(SchemaNode {
            shape,
            annotations: left.annotations.merged_with(right.annotations, at)?,
        }))
    }

    /// Intersects shapes that are no references.
    fn shapes(
        &self,
        left: Shape,
        right: Shape,
        at: &SchemaLocation,
    ) -> Result<Option<Shape>, UnsupportedSchema> {
        self.spend(at)?;
        Ok(Some(match (left, right) {
            (left, right) if left == right => left,
            (Shape::Any, shape) | (shape, Shape::Any) => shape,
            (Shape::Choice(choice), shape) | (shape, Shape::Choice(choice)) => {
                let mut branches = Vec::new();
                for node in choice.branches {
                    branches.extend(self.intersect(node, shape.clone().into(), at)?);
                }
                if branches.is_empty() {
                    return Ok(None);
                }
                Shape::Choice(Choice { branches, ..choice })
            }
            (Shape::Scalar(left), Shape::Scalar(right)) => {
                let Some(intersection) = scalars(left, right, at)? else { return Ok(None) };
                Shape::Scalar(intersection)
            }
            (Shape::Object(left), Shape::Object(right)) => {
                let Some(intersection) = self.objects(left, right, at)? else { return Ok(None) };
                Shape::Object(intersection)
            }
            (
                Shape::List { first: left, rest, rules },
                Shape::List { first: right, rest: right_rest, rules: right_rules },
            ) => {
                if !left.is_empty() || !right.is_empty() {
                    return Err(at.unsupported("two schemas define its items by position"));
                }
                let rest = match (rest, right_rest) {
                    (Some(left), Some(right)) => self.intersect(*left, *right, at)?.map(Box::new),
                    _ => None,
                };
                Shape::List { first: left, rest, rules: intersect_rules(rules, right_rules, at)? }
            }
            _ => return Ok(None),
        }))
    }

    fn objects(
        &self,
        left: Object,
        right: Object,
        at: &SchemaLocation,
    ) -> Result<Option<Object>, UnsupportedSchema> {
        let mut members = left.members.clone();
        for (name, member) in &right.members {
            let intersection = match members.remove(name) {
                Some(known) => {
                    let is_required = known.is_required || member.is_required;
                    let position = known.position.min(member.position);
                    let node = self.intersect(known.node, member.node.clone(), &at.member(name))?;
                    (node, is_required, position)
                }
                None => (
                    self.intersect_additional(member, &left.additional, at)?,
                    member.is_required,
                    member.position,
                ),
            };
            match intersection {
                (Some(node), is_required, position) => {
                    members.insert(name.clone(), SchemaMember { node, is_required, position });
                }
                (None, true, _) => return Ok(None),
                (None, false, _) => {}
            }
        }
        for (name, member) in &left.members {
            if !right.members.contains_key(name) {
                match self.intersect_additional(member, &right.additional, at)? {
                    Some(node) => {
                        let SchemaMember { is_required, position, .. } = *member;
                        members.insert(name.clone(), SchemaMember { node, is_required, position });
                    }
                    None if member.is_required => return Ok(None),
                    None => _ = members.remove(name),
                }
            }
        }
        let additional = match (left.additional, right.additional) {
            (AdditionalMembers::None, _) | (_, AdditionalMembers::None) => AdditionalMembers::None,
            (AdditionalMembers::Unspecified, additional)
            | (additional, AdditionalMembers::Unspecified) => additional,
            (AdditionalMembers::Some(left), AdditionalMembers::Some(right)) => {
                let intersection = self.intersect(*left, *right, at)?;
                intersection
                    .map_or(AdditionalMembers::None, |node| AdditionalMembers::Some(Box::new(node)))
            }
        };
        let rules = intersect_rules(left.rules, right.rules, at)?;
        Ok(Some(Object { members, additional, rules }))
    }

    /// Intersects a member with the additional members of another object, which doesn't name it.
    fn intersect_additional(
        &self,
        member: &SchemaMember,
        additional: &AdditionalMembers,
        at: &SchemaLocation,
    ) -> Result<Option<SchemaNode>, UnsupportedSchema> {
        match additional {
            AdditionalMembers::Unspecified => Ok(Some(member.node.clone())),
            AdditionalMembers::None => Ok(None),
            AdditionalMembers::Some(node) => {
                self.intersect(member.node.clone(), SchemaNode::clone(node), at)
            }
        }
    }
}

fn scalars(
    left: Scalar,
    right: Scalar,
    at: &SchemaLocation,
) -> Result<Option<Scalar>, UnsupportedSchema> {
    let kind = match (left.kind, right.kind) {
        (left, right) if left == right => left,
        (ScalarKind::Integer, ScalarKind::Number) | (ScalarKind::Number, ScalarKind::Integer) => {
            ScalarKind::Integer
        }
        _ => return Ok(None),
    };
    let values = match (left.values, right.values) {
        (Some(mut left), Some(right)) => {
            left.retain(|value| right.contains(value));
            Some(left)
        }
        (Some(mut values), None) | (None, Some(mut values)) => {
            values
                .retain(|value| kind != ScalarKind::Integer || ScalarKind::of(value) == Some(kind));
            Some(values)
        }
        (None, None) => None,
    };
    if values.as_ref().is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    Ok(Some(Scalar { kind, values, rules: intersect_rules(left.rules, right.rules, at)? }))
}
