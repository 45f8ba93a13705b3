use super::Schema;

/// The schemas of the tools of a registry at one moment.
pub(crate) trait NamedSchemas: Send + Sync {
    /// Returns the schema of the tool that models call by this name, or that has this full name.
    fn schema_of(&self, tool: &str) -> Option<&Schema>;
}
