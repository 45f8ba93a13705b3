//! Two shapes of one place as one: `allOf`, what stands beside a reference, and beside a choice.

use super::Unfit;
use super::narrow::narrowed;
use super::node::{Choice, Kind, Member, Node, Object, Others, Scalar, Shape};
use super::place::Place;
use super::read::Reader;

impl Reader<'_> {
    /// What fits both; none where nothing does.
    pub(super) fn both(&self, one: Node, other: Node, at: &Place) -> Result<Option<Node>, Unfit> {
        let is_one =
            one.shape == other.shape || one.shape == Shape::Any || other.shape == Shape::Any;
        let (one, other) = match is_one {
            true => (one, other),
            false => (self.followed(one, at)?, self.followed(other, at)?),
        };
        let Some(shape) = self.shapes(one.shape, other.shape, at)? else { return Ok(None) };
        Ok(Some(Node { shape, notes: one.notes.over(other.notes, at)? }))
    }

    /// The same of shapes that don't refer to others.
    fn shapes(&self, one: Shape, other: Shape, at: &Place) -> Result<Option<Shape>, Unfit> {
        self.pay(at)?;
        Ok(Some(match (one, other) {
            (one, other) if one == other => one,
            (Shape::Any, shape) | (shape, Shape::Any) => shape,
            (Shape::Choice(choice), shape) | (shape, Shape::Choice(choice)) => {
                let mut among = Vec::new();
                for node in choice.among {
                    among.extend(self.both(node, shape.clone().into(), at)?);
                }
                if among.is_empty() {
                    return Ok(None);
                }
                Shape::Choice(Choice { among, ..choice })
            }
            (Shape::Scalar(one), Shape::Scalar(other)) => {
                let Some(both) = scalars(one, other, at)? else { return Ok(None) };
                Shape::Scalar(both)
            }
            (Shape::Object(one), Shape::Object(other)) => {
                let Some(both) = self.objects(one, other, at)? else { return Ok(None) };
                Shape::Object(both)
            }
            (
                Shape::List { first: one, rest, rules },
                Shape::List { first: other, rest: other_rest, rules: other_rules },
            ) => {
                if !one.is_empty() || !other.is_empty() {
                    return Err(at.unfit("two schemas say what its items are, place by place"));
                }
                let rest = match (rest, other_rest) {
                    (Some(one), Some(other)) => self.both(*one, *other, at)?.map(Box::new),
                    _ => None,
                };
                Shape::List { first: one, rest, rules: narrowed(rules, other_rules, at)? }
            }
            _ => return Ok(None),
        }))
    }

    fn objects(&self, one: Object, other: Object, at: &Place) -> Result<Option<Object>, Unfit> {
        let mut members = one.members.clone();
        for (name, member) in &other.members {
            let both = match members.remove(name) {
                Some(known) => {
                    let is_required = known.is_required || member.is_required;
                    let place = known.place.min(member.place);
                    let node = self.both(known.node, member.node.clone(), &at.member(name))?;
                    (node, is_required, place)
                }
                None => (self.among(member, &one.others, at)?, member.is_required, member.place),
            };
            match both {
                (Some(node), is_required, place) => {
                    members.insert(name.clone(), Member { node, is_required, place });
                }
                (None, true, _) => return Ok(None),
                (None, false, _) => {}
            }
        }
        for (name, member) in &one.members {
            if !other.members.contains_key(name) {
                match self.among(member, &other.others, at)? {
                    Some(node) => {
                        let Member { is_required, place, .. } = *member;
                        members.insert(name.clone(), Member { node, is_required, place });
                    }
                    None if member.is_required => return Ok(None),
                    None => _ = members.remove(name),
                }
            }
        }
        let others = match (one.others, other.others) {
            (Others::None, _) | (_, Others::None) => Others::None,
            (Others::Unsaid, others) | (others, Others::Unsaid) => others,
            (Others::Some(one), Others::Some(other)) => {
                let both = self.both(*one, *other, at)?;
                both.map_or(Others::None, |node| Others::Some(Box::new(node)))
            }
        };
        let rules = narrowed(one.rules, other.rules, at)?;
        Ok(Some(Object { members, others, rules }))
    }

    /// A member where the other object doesn't name it.
    fn among(&self, member: &Member, others: &Others, at: &Place) -> Result<Option<Node>, Unfit> {
        match others {
            Others::Unsaid => Ok(Some(member.node.clone())),
            Others::None => Ok(None),
            Others::Some(node) => self.both(member.node.clone(), Node::clone(node), at),
        }
    }
}

fn scalars(one: Scalar, other: Scalar, at: &Place) -> Result<Option<Scalar>, Unfit> {
    let kind = match (one.kind, other.kind) {
        (one, other) if one == other => one,
        (Kind::Integer, Kind::Number) | (Kind::Number, Kind::Integer) => Kind::Integer,
        _ => return Ok(None),
    };
    let values = match (one.values, other.values) {
        (Some(mut one), Some(other)) => {
            one.retain(|value| other.contains(value));
            Some(one)
        }
        (Some(mut values), None) | (None, Some(mut values)) => {
            values.retain(|value| kind != Kind::Integer || Kind::of(value) == Some(kind));
            Some(values)
        }
        (None, None) => None,
    };
    if values.as_ref().is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    Ok(Some(Scalar { kind, values, rules: narrowed(one.rules, other.rules, at)? }))
}
