//! `anyOf` and `oneOf`: which branch is meant.
//!
//! What fits a branch as it is stays. Otherwise the branches for its own type come first: a list is
//! rather a list with a wrong item than the item. Of those that it can be brought to fit it takes
//! the one, or none where they would make different things of it.
//!
//! A member such as `kind`, of which each branch lists other values, tells branches apart at a
//! glance: without it each level of a nested value would multiply the work by the branches.

use serde_json::Value;

use super::{
    data::Data,
    fit::Strangers,
    place::Place,
    reading::is_listed,
    rename::renames,
    roots::Roots,
    settle::{Settle, Within, single},
};
use crate::json::tree::{Node, Tree};

impl Settle<'_, '_> {
    pub(super) fn choose(
        &mut self,
        node: Node,
        choice: &[Value],
        rest: &Place<'_>,
        within: Within,
    ) -> Node {
        let own = node.root();
        let branches: Vec<_> = choice
            .iter()
            .map(|branch| {
                let types = Roots::of_branch(branch, rest.root()).and(rest.types());
                (rest.with(branch), types)
            })
            .filter(|(branch, _)| could_be(&node, branch))
            .collect();
        if !self.fuel.pay(choice.len()) {
            return node;
        }
        let (natural, others): (Vec<_>, Vec<_>) =
            branches.into_iter().partition(|(_, types)| types.meets(own));

        // Most choices are between something and null: nothing has to be tried then.
        if let [(place, _)] = natural.as_slice()
            && others.iter().all(|(_, types)| !can_become(&node, *types))
        {
            return self.settle(node, place, within);
        }
        if natural.iter().any(|(place, _)| self.fits(&node, place, Strangers::Refused)) {
            return node;
        }
        for branches in [&natural, &others] {
            let attempts: Vec<_> = branches
                .iter()
                .map(|(place, _)| {
                    let settle = |walk: &mut Self, node| walk.settle(node, place, within);
                    (place, self.attempt(&node, settle))
                })
                .collect();
            for strangers in [Strangers::Refused, Strangers::Taken] {
                let fitting: Vec<_> = attempts
                    .iter()
                    .filter(|(place, (node, _))| self.fits(node, place, strangers))
                    .map(|(_, attempt)| attempt.clone())
                    .collect();
                if fitting.is_empty() {
                    continue;
                }
                return match single(fitting).filter(|_| !self.fuel.is_spent()) {
                    Some((node, fixes)) => {
                        self.fixes.extend(fixes);
                        node
                    }
                    None => node,
                };
            }
        }
        // It fits nothing, but what is wrong is told best in the branch that it must be.
        match natural.as_slice() {
            [(place, _)] => self.settle(node, place, within),
            _ => node,
        }
    }
}

/// Whether a list or object may be read as one of these other types.
fn can_become(node: &Node, types: Roots) -> bool {
    match &node.tree {
        Tree::Object(_) => types.meets(Roots::LIST),
        Tree::List(items) => items.len() == 1 && !types.or(Roots::NULL).is(Roots::NULL),
        _ => true,
    }
}

/// Whether no member says that this is another branch's value.
fn could_be(node: &Node, branch: &Place<'_>) -> bool {
    let Tree::Object(members) = &node.tree else { return true };
    let names = renames(members, branch);
    members.iter().enumerate().all(|(index, member)| {
        let renamed = names.iter().find(|(at, _)| *at == index);
        let key = renamed.map_or(&member.key, |(_, name)| name);
        let Tree::Text { text, .. } = &member.value.tree else { return true };
        if !branch.has_name(key) {
            return true;
        }
        let place = branch.member(key);
        let mut texts = place.lists().filter(|list| list.iter().all(Value::is_string));
        place.choice().is_some() || texts.all(|list| is_listed(text, list))
    })
}
