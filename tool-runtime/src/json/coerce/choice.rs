//! `anyOf` and `oneOf`: which branch is meant.
//!
//! What fits a branch as it is stays. Otherwise the branches for its own type come first: a list is
//! rather a list with a wrong item than the item. Of those that it can be brought to fit it takes
//! the one, or none where they would make different things of it.

use serde_json::Value;

use super::{
    data::Data,
    fit::Strangers,
    place::Place,
    roots::Roots,
    settle::{Settle, Within, only, single},
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
            .collect();
        if !self.fuel.pay(branches.len()) {
            return node;
        }
        let (natural, others): (Vec<_>, Vec<_>) =
            branches.into_iter().partition(|(_, types)| types.meets(own));

        // Most choices are between something and null: nothing has to be tried then.
        if let [(place, _)] = natural.as_slice()
            && matches!(node.tree, Tree::Object(_) | Tree::List(_))
            && others.iter().all(|(_, types)| only(*types, Roots::NULL))
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
                return match single(fitting) {
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
