//! The location in a value to which a schema applies, as error messages show it.

use super::UnsupportedSchema;
use crate::schema::{PathSegment, path};

/// The nesting limit of definitions.
const MAX_DEPTH: usize = 128;

#[derive(Clone, Debug)]
pub(super) struct SchemaLocation {
    path: String,
    depth: usize,
}

impl SchemaLocation {
    pub(super) const fn root() -> Self {
        Self { path: String::new(), depth: 0 }
    }

    pub(super) const fn is_root(&self) -> bool {
        self.path.is_empty()
    }

    pub(super) fn member(&self, name: &str) -> Self {
        let step = path(&[PathSegment::Key(name)]);
        let dot = if self.is_root() || step.starts_with('[') { "" } else { "." };
        self.inside(&format!("{dot}{step}"))
    }

    pub(super) fn items(&self) -> Self {
        self.inside("[]")
    }

    pub(super) fn item(&self, index: usize) -> Self {
        self.inside(&path(&[PathSegment::Index(index)]))
    }

    /// Returns this location for one more schema that applies to it.
    pub(super) fn deeper(&self) -> Result<Self, UnsupportedSchema> {
        if self.depth >= MAX_DEPTH {
            return Err(self.unsupported("the schema is nested too deeply"));
        }
        Ok(Self { path: self.path.clone(), depth: self.depth + 1 })
    }

    pub(super) fn unsupported(&self, reason: impl Into<String>) -> UnsupportedSchema {
        UnsupportedSchema { path: self.path.clone(), reason: reason.into() }
    }

    fn inside(&self, step: &str) -> Self {
        Self { path: format!("{}{step}", self.path), depth: self.depth }
    }
}
