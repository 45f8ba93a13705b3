use std::fmt;

use tool_core::ToolError;

use super::limits::MAX_ERRORS;

/// One error in the spec of a tool.
///
/// ```
/// use tool_runtime::dynamic::SpecError;
///
/// let error = SpecError::new("fields[0].min", "expected an integer, got 0.5");
/// assert_eq!(error.to_string(), "`fields[0].min`: expected an integer, got 0.5");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {message}")]
#[non_exhaustive]
pub struct SpecError {
    /// The path of the invalid member, such as `fields[0].name`.
    pub path: String,
    /// The expected value, or the correction to make, as a text for the model.
    pub message: String,
}

impl SpecError {
    /// Creates the error of the member at a path.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// Returns the member of the spec to which the path leads, such as `fields`.
    #[cfg(feature = "catalog")]
    pub(crate) fn member(&self) -> &str {
        self.path.split(['[', '.']).next().unwrap_or_default()
    }
}

/// All errors in the spec of a tool.
///
/// ```
/// use tool_runtime::dynamic::{BodyLanguage, ToolSpec};
///
/// let errors = ToolSpec::new(BodyLanguage::JavaScript, "A", "", "return 1;").check().unwrap_err();
/// let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
/// assert_eq!(paths, ["name", "description"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecErrors(Vec<SpecError>);

impl SpecErrors {
    /// Returns the number of errors.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there is no error.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an iterator over the errors, in the order of the members.
    pub fn iter(&self) -> std::slice::Iter<'_, SpecError> {
        self.0.iter()
    }

    /// Returns whether a member of the spec, such as `fields`, has an error.
    #[cfg(feature = "catalog")]
    pub(crate) fn has_error_in(&self, member: &str) -> bool {
        self.iter().any(|error| error.member() == member)
    }

    /// Converts the errors into one for the model that wrote the spec.
    pub fn to_tool_error(&self) -> ToolError {
        ToolError::invalid_arguments(format!("The tool was not made. Correct its spec:\n{self}"))
    }

    pub(super) fn push(&mut self, path: impl Into<String>, message: impl Into<String>) {
        if self.0.len() < MAX_ERRORS {
            self.0.push(SpecError::new(path, message));
        }
    }
}

impl From<Vec<SpecError>> for SpecErrors {
    fn from(errors: Vec<SpecError>) -> Self {
        Self(errors)
    }
}

impl IntoIterator for SpecErrors {
    type Item = SpecError;
    type IntoIter = std::vec::IntoIter<SpecError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a SpecErrors {
    type Item = &'a SpecError;
    type IntoIter = std::slice::Iter<'a, SpecError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for SpecErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "- {error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SpecErrors {}
