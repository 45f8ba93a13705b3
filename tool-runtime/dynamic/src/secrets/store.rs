//! The contract of secret stores.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tool_core::async_trait;

/// The longest name of a secret, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// A secret value, such as a token. Its debug output is `[redacted]`.
///
/// ```
/// use tool_runtime::dynamic::Secret;
///
/// let token = Secret::new("ghp_1234");
/// assert_eq!(format!("{token:?}"), "[redacted]");
/// assert_eq!(token.expose(), "ghp_1234");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// Wraps a secret value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into().into())
    }

    /// Returns the secret value, which must never be logged, stored or formatted.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Storage backend for the secrets of connections.
///
/// A catalog stores the names of secrets only. A [`Registrar`](crate::Registrar) loads the values
/// when it connects. A name has 1 to 64 characters of `a-zA-Z0-9_-`.
///
/// ```
/// use std::collections::BTreeMap;
/// use tool_runtime::async_trait;
/// use tool_runtime::dynamic::{Secret, SecretError, SecretStore};
///
/// /// Secrets that the program was started with.
/// #[derive(Debug)]
/// struct Fixed(BTreeMap<String, Secret>);
///
/// #[async_trait]
/// impl SecretStore for Fixed {
///     async fn load(&self, name: &str) -> Result<Option<Secret>, SecretError> {
///         Ok(self.0.get(name).cloned())
///     }
///
///     async fn save(&self, _: &str, _: &Secret) -> Result<(), SecretError> {
///         Err(SecretError::ReadOnly { store: "the fixed secrets" })
///     }
///
///     async fn remove(&self, _: &str) -> Result<(), SecretError> {
///         Err(SecretError::ReadOnly { store: "the fixed secrets" })
///     }
/// }
/// ```
#[async_trait]
pub trait SecretStore: Send + Sync + fmt::Debug {
    /// Loads the secret of this name; `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the store can't be read, or if the name is invalid.
    async fn load(&self, name: &str) -> Result<Option<Secret>, SecretError>;

    /// Saves a secret, and replaces the previous one of this name.
    ///
    /// # Errors
    /// Returns an error if the store can't be written, or if the name is invalid.
    async fn save(&self, name: &str, secret: &Secret) -> Result<(), SecretError>;

    /// Removes the secret of this name, if there is one.
    ///
    /// # Errors
    /// Returns an error if the store can't be written, or if the name is invalid.
    async fn remove(&self, name: &str) -> Result<(), SecretError>;

    /// Returns where the secret of this name belongs, such as a variable, for the error if there is
    /// none. Default: `None`.
    fn location(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }
}

#[async_trait]
impl<S: SecretStore + ?Sized> SecretStore for Arc<S> {
    async fn load(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        self.as_ref().load(name).await
    }

    async fn save(&self, name: &str, secret: &Secret) -> Result<(), SecretError> {
        self.as_ref().save(name, secret).await
    }

    async fn remove(&self, name: &str) -> Result<(), SecretError> {
        self.as_ref().remove(name).await
    }

    fn location(&self, name: &str) -> Option<String> {
        self.as_ref().location(name)
    }
}

/// The reason why a secret store failed. No error contains a secret.
///
/// ```
/// use tool_runtime::dynamic::SecretError;
///
/// let error = SecretError::ReadOnly { store: "the environment" };
/// let text = "secrets of the environment are read-only: use another store to save secrets";
/// assert_eq!(error.to_string(), text);
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The store can only be read.
    #[error("secrets of {store} are read-only: use another store to save secrets")]
    ReadOnly {
        /// The store, such as `the environment`.
        store: &'static str,
    },
    /// The name of a secret is invalid.
    #[error(
        "invalid secret name `{}`: expected 1 to 64 characters of a-z, A-Z, 0-9, `_` and `-`",
        name.escape_debug()
    )]
    InvalidName {
        /// The name that was given. A long name is truncated.
        name: String,
    },
    /// Other users can read the file of secrets.
    #[error(
        "secret file {} is accessible to other users (mode {mode:03o}): run `chmod 600` on it",
        path.display()
    )]
    ExposedFile {
        /// The path of the file.
        path: PathBuf,
        /// The permission bits of the file.
        mode: u32,
    },
    /// The store can't be reached, or has failed.
    #[error("secret store unavailable: {0}")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
}

impl SecretError {
    /// Creates the error of a store that can't be reached. The source must not contain a secret.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }
}

/// Checks the name of a secret.
pub(crate) fn check_name(name: &str) -> Result<(), SecretError> {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(is_valid) {
        return Ok(());
    }
    Err(SecretError::InvalidName { name: name.chars().take(MAX_NAME_BYTES).collect() })
}
