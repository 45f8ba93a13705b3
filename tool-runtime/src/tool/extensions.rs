use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Values of the program that tools may use, one of each type. Clones share them.
///
/// ```
/// use tool_runtime::Extensions;
///
/// struct Database(&'static str);
///
/// let extensions = Extensions::default().with(Database("orders"));
/// assert_eq!(extensions.get::<Database>().unwrap().0, "orders");
/// assert!(extensions.get::<String>().is_none());
/// ```
#[derive(Clone, Default)]
pub struct Extensions(Option<Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>);

impl Extensions {
    /// Adds a value, in the place of one of the same type.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        let values = self.0.get_or_insert_default();
        Arc::make_mut(values).insert(TypeId::of::<T>(), Arc::new(value));
        self
    }

    /// The value of this type.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.as_ref()?.get(&TypeId::of::<T>())?.downcast_ref()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({})", self.0.as_ref().map_or(0, |values| values.len()))
    }
}
