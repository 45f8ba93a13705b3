//! Chooses the branch of an `anyOf` or `oneOf`.
//!
//! A value that fits a branch stays unchanged. Otherwise the branches for the value's own type come
//! first: a list with a wrong item is more likely than the item itself. If exactly one branch, or
//! several with the same result, can be made to fit, the value is coerced to it.
//!
//! A discriminator such as `kind`, for which each branch lists other values, excludes branches
//! without an attempt. Without it, each level of nesting would multiply the work by the number of
//! branches.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    coercer::{Coercer, ValueContext, unambiguous},
    conversion::{is_integral, matches_enum},
    fit::{JsonView, UnknownMembers},
    flat_schema::FlatSchema,
    fuel::Fuel,
    rename::renames,
    type_set::TypeSet,
};
use crate::tree::{Node, Tree};

impl Coercer<'_, '_> {
    pub(super) fn coerce_branch(
        &mut self,
        node: Node,
        alternatives: &[Value],
        rest: &FlatSchema<'_>,
        position: ValueContext,
    ) -> Node {
        if !self.fuel.consume(alternatives.len()) {
            return node;
        }
        let own_types = own_types(&node);
        let branches: Vec<_> = alternatives
            .iter()
            .map(|branch| {
                let types = TypeSet::of_branch(branch, rest.root()).and(rest.types());
                (rest.with_branch(branch), types)
            })
            .filter(|(branch, _)| is_possible(&node, branch, &mut self.fuel))
            .collect();
        let (same_type, others): (Vec<_>, Vec<_>) =
            branches.into_iter().partition(|(_, types)| types.intersects(own_types));

        // Most choices are between a type and null: no attempt is necessary then.
        if let [(schema, _)] = same_type.as_slice()
            && others.iter().all(|(_, types)| !can_become(&node, *types))
        {
            return self.coerce_node(node, schema, position);
        }
        if same_type.iter().any(|(schema, _)| self.fits(&node, schema, UnknownMembers::Rejected)) {
            return node;
        }
        for branches in [&same_type, &others] {
            let attempts: Vec<_> = branches
                .iter()
                .map(|(schema, _)| {
                    let coerce =
                        |coercer: &mut Self, node| coercer.coerce_node(node, schema, position);
                    (schema, self.attempt(&node, coerce))
                })
                .collect();
            for unknown in [UnknownMembers::Rejected, UnknownMembers::Allowed] {
                let fitting: Vec<_> = attempts
                    .iter()
                    .filter(|(schema, (node, _))| self.fits(node, schema, unknown))
                    .map(|(_, attempt)| attempt.clone())
                    .collect();
                if fitting.is_empty() {
                    continue;
                }
                return match unambiguous(fitting).filter(|_| !self.fuel.is_exhausted()) {
                    Some((node, fixes)) => {
                        self.fixes.extend(fixes);
                        node
                    }
                    None => node,
                };
            }
        }
        // Nothing fits, but the only branch of this type gives the best validation errors.
        match same_type.as_slice() {
            [(schema, _)] => self.coerce_node(node, schema, position),
            _ => node,
        }
    }
}

/// Returns the types that the value has as it is: 30.0 is an integer, too.
fn own_types(node: &Node) -> TypeSet {
    match &node.tree {
        Tree::Number { json, .. } if is_integral(json) => TypeSet::NUMBER,
        _ => node.json_type(),
    }
}

/// Returns whether an array or object can be converted to one of these types.
fn can_become(node: &Node, types: TypeSet) -> bool {
    match &node.tree {
        Tree::Object(_) => types.intersects(TypeSet::ARRAY),
        Tree::Array(items) => items.len() == 1 && !types.or(TypeSet::NULL).is(TypeSet::NULL),
        _ => true,
    }
}

/// Returns whether no discriminator excludes this branch.
fn is_possible(node: &Node, branch: &FlatSchema<'_>, fuel: &mut Fuel) -> bool {
    let Tree::Object(members) = &node.tree else { return true };
    let names: HashMap<_, _> = renames(members, branch, fuel).into_iter().collect();
    members.iter().enumerate().all(|(index, member)| {
        let key = names.get(&index).unwrap_or(&member.key);
        let Tree::String { text, .. } = &member.value.tree else { return true };
        if !branch.has_property(key) {
            return true;
        }
        let schema = branch.property(key);
        let mut texts = schema.enum_lists().filter(|list| list.iter().all(Value::is_string));
        schema.split_branches().is_some() || texts.all(|list| matches_enum(text, list))
    })
}
