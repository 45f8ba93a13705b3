use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Holds values of the program that tools can use, one of each type.
///
/// Give them to an agent with [`Agent::extension`](crate::Agent::extension). A tool reads them from
/// its context: see [`ToolContext::require`](crate::ToolContext::require). Clones share the values.
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
    /// Adds a value of the type `T`. It replaces an earlier value of the same type.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        let values = self.0.get_or_insert_default();
        Arc::make_mut(values).insert(TypeId::of::<T>(), Arc::new(value));
        self
    }

    /// Returns the value of the type `T`.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.as_ref()?.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// Whether there is a value of this type.
    fn contains(&self, id: TypeId) -> bool {
        self.0.as_ref().is_some_and(|values| values.contains_key(&id))
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({})", self.0.as_ref().map_or(0, |values| values.len()))
    }
}

/// Names the type of an extension that a tool requires.
///
/// `#[tool(extensions(Database))]` declares one. [`ToolDefinition::extensions`] lists them.
///
/// [`ToolDefinition::extensions`]: crate::ToolDefinition::extensions
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequiredExtension {
    id: TypeId,
    type_name: &'static str,
}

impl RequiredExtension {
    /// Creates the requirement of a value of the type `T`.
    pub fn of<T: Send + Sync + 'static>() -> Self {
        Self { id: TypeId::of::<T>(), type_name: type_name::<T>() }
    }

    /// Returns the path of the type, such as `shop::Database`, as [`type_name`] gives it.
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }

    /// Returns `true` if `extensions` hold a value of the required type.
    pub fn is_provided_by(&self, extensions: &Extensions) -> bool {
        extensions.contains(self.id)
    }
}

impl fmt::Debug for RequiredExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RequiredExtension").field(&self.type_name).finish()
    }
}
