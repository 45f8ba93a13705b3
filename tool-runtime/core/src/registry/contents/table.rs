//! Tools by their own names.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::registry::Entry;
use crate::registry::naming::namesakes::Namesakes;

/// Tools by their own names. A change copies the map, unless nothing shares it.
#[derive(Clone, Default)]
pub(crate) struct Table(Arc<HashMap<Arc<str>, Namesakes, RandomState>>);

impl Table {
    /// Returns the tools with this own name.
    pub(crate) fn find(&self, own_name: &str) -> Option<&Namesakes> {
        self.0.get(own_name)
    }

    /// Returns all tools, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.0.values().flat_map(Namesakes::iter)
    }

    /// Changes the tools with this own name. There may be none before or after the change.
    pub(crate) fn edit(&mut self, own_name: &str, edit: impl FnOnce(&mut Vec<Arc<Entry>>)) {
        let tools = Arc::make_mut(&mut self.0);
        let (name, old) = tools.remove_entry(own_name).unzip();
        let mut same_name = old.map(Namesakes::into_tools).unwrap_or_default();
        edit(&mut same_name);
        if let Some(new) = Namesakes::of(same_name) {
            tools.insert(name.unwrap_or_else(|| own_name.into()), new);
        }
    }
}
