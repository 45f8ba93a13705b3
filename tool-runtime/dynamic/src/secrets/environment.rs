//! Secrets in environment variables.

use std::env::VarError;

use tool_core::async_trait;

use super::store::{Secret, SecretError, SecretStore, check_name};

/// Reads secrets from environment variables whose names begin with a prefix.
///
/// The prefix limits which variables a catalog can name: without it, a connection could send any
/// variable of the program to its server.
///
/// ```
/// use tool_runtime::dynamic::{EnvironmentSecrets, SecretStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::SecretError> {
/// // The secret `GITHUB` is the variable `MCP_SECRET_GITHUB`.
/// let secrets = EnvironmentSecrets::new("MCP_SECRET_");
/// assert_eq!(secrets.load("GITHUB").await?, None);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct EnvironmentSecrets {
    prefix: String,
}

impl EnvironmentSecrets {
    /// Reads secrets from variables with this prefix.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into() }
    }
}

const READ_ONLY: SecretError = SecretError::ReadOnly { store: "the environment" };

#[async_trait]
impl SecretStore for EnvironmentSecrets {
    async fn load(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        check_name(name)?;
        let variable = format!("{}{name}", self.prefix);
        match std::env::var(&variable) {
            Ok(value) => Ok(Some(Secret::new(value))),
            Err(VarError::NotPresent) => Ok(None),
            // The error of the standard library contains the value.
            Err(VarError::NotUnicode(_)) => {
                Err(SecretError::unavailable(format!("variable `{variable}` is not valid UTF-8")))
            }
        }
    }

    async fn save(&self, _: &str, _: &Secret) -> Result<(), SecretError> {
        Err(READ_ONLY)
    }

    async fn remove(&self, _: &str) -> Result<(), SecretError> {
        Err(READ_ONLY)
    }

    fn location(&self, name: &str) -> Option<String> {
        Some(format!("the environment variable `{}{name}`", self.prefix))
    }
}
