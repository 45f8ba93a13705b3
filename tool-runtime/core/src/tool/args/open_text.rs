//! Texts that leave out the values that a type rejected.
//!
//! An object that lacks a value can't be closed: its type would report the missing member. But a
//! type decodes the members one by one, so a text that ends after the other members is rejected
//! only if one of them is wrong.

use super::document::{Node, start_child};
use super::location::{Location, Step};

/// A text that ends within a container.
#[derive(Debug, Default)]
pub(super) struct OpenText {
    pub(super) json: String,
    /// The lists from which items were left out, with the original indices of the others.
    lists: Vec<(Location, Vec<usize>)>,
}

/// Returns the texts for the value at `root`, one for each container that can't be closed.
pub(super) fn open_texts(
    tree: &Node,
    root: &Location,
    skipped: &[Location],
    is_uniform: &dyn Fn(&Location) -> bool,
) -> Vec<OpenText> {
    let mut containers: Vec<Location> = Vec::new();
    for location in skipped.iter().filter(|location| location.is_within(root)) {
        let mut next = location.parent();
        while let Some(container) = next.filter(|container| container.is_within(root)) {
            next = container.parent();
            let is_skipped = skipped.iter().any(|skipped| container.is_within(skipped));
            if !is_skipped && !containers.contains(&container) {
                containers.push(container);
            }
        }
    }
    let text = |container: &Location| {
        let mut text = OpenText::default();
        let mut at = root.clone();
        let rest = container.steps().get(root.steps().len()..)?;
        for step in rest {
            text.write(tree.at(&at)?, &at, Some(step), skipped, is_uniform)?;
            at = at.join(std::slice::from_ref(step));
        }
        text.write(tree.at(&at)?, &at, None, skipped, is_uniform)?;
        Some(text)
    };
    containers.iter().filter_map(text).collect()
}

impl OpenText {
    /// Wraps a complete text.
    pub(super) fn closed(json: String) -> Self {
        Self { json, lists: Vec::new() }
    }

    /// Writes the start of a container up to the step, or, without a step, all of it that is not
    /// left out.
    fn write(
        &mut self,
        node: &Node,
        location: &Location,
        step: Option<&Step>,
        skipped: &[Location],
        is_uniform: &dyn Fn(&Location) -> bool,
    ) -> Option<()> {
        let is_complete = |step: &Step| {
            let child = location.join(std::slice::from_ref(step));
            !skipped.iter().any(|skipped| skipped.is_within(&child))
        };
        match node {
            Node::Scalar(_) => return None,
            Node::Object(members) => {
                self.json.push('{');
                for (key, member) in members {
                    let is_wanted = step.is_none() || matches!(member, Node::Scalar(_));
                    if is_wanted && is_complete(&Step::Key(key.clone())) {
                        start_child(&mut self.json, Some(key));
                        member.write(&mut self.json);
                    }
                }
            }
            Node::List(items) => {
                self.json.push('[');
                let is_uniform = is_uniform(location);
                let mut indices = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    if step == Some(&Step::Index(at)) {
                        break;
                    }
                    if is_complete(&Step::Index(at)) {
                        start_child(&mut self.json, None);
                        item.write(&mut self.json);
                        indices.push(at);
                    } else if !is_uniform {
                        if step.is_none() {
                            break;
                        }
                        // The items after it would be decoded as other types.
                        return None;
                    }
                }
                indices.extend(step.and_then(|step| match step {
                    Step::Index(at) => Some(*at),
                    Step::Key(_) => None,
                }));
                self.lists.push((location.clone(), indices));
            }
        }
        if let Some(step) = step {
            match step {
                Step::Key(key) => start_child(&mut self.json, Some(key)),
                Step::Index(_) => start_child(&mut self.json, None),
            }
        }
        Some(())
    }

    /// Returns the original location of the value at these steps of the text.
    pub(super) fn original(&self, root: &Location, steps: &[Step]) -> Location {
        steps.iter().fold(root.clone(), |location, step| {
            let list = self.lists.iter().find(|(list, _)| *list == location);
            let step = match (step, list) {
                (Step::Index(at), Some((_, indices))) => {
                    Step::Index(indices.get(*at).copied().unwrap_or(*at))
                }
                _ => step.clone(),
            };
            location.join(&[step])
        })
    }
}
