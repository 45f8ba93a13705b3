//! Where in a value a schema holds, for people to read.

use super::Unfit;
use crate::schema::check::{Step, path};

/// As deep as definitions may be.
const DEEPEST: usize = 128;

#[derive(Clone, Debug)]
pub(super) struct Place {
    path: String,
    depth: usize,
}

impl Place {
    pub(super) const fn root() -> Self {
        Self { path: String::new(), depth: 0 }
    }

    pub(super) const fn is_root(&self) -> bool {
        self.path.is_empty()
    }

    pub(super) fn member(&self, name: &str) -> Self {
        let step = path(&[Step::Key(name)]);
        let dot = if self.is_root() || step.starts_with('[') { "" } else { "." };
        self.inside(&format!("{dot}{step}"))
    }

    pub(super) fn items(&self) -> Self {
        self.inside("[]")
    }

    pub(super) fn item(&self, index: usize) -> Self {
        self.inside(&path(&[Step::Index(index)]))
    }

    /// The same place, by one more schema that holds there.
    pub(super) fn deeper(&self) -> Result<Self, Unfit> {
        if self.depth >= DEEPEST {
            return Err(self.unfit("its schema is nested too deep"));
        }
        Ok(Self { path: self.path.clone(), depth: self.depth + 1 })
    }

    pub(super) fn unfit(&self, reason: impl Into<String>) -> Unfit {
        Unfit { path: self.path.clone(), reason: reason.into() }
    }

    fn inside(&self, step: &str) -> Self {
        Self { path: format!("{}{step}", self.path), depth: self.depth }
    }
}
