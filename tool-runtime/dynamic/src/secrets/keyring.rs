//! Secrets in the keyring of the operating system.

use std::fmt;
use std::sync::Arc;

/// The version of the crate `keyring-core` that this crate uses, for its stores.
pub use keyring_core;
use keyring_core::{CredentialStore, Entry, Error};
use tokio::task::spawn_blocking;
use tool_core::async_trait;

use super::store::{Secret, SecretError, SecretStore, check_name};

/// Keeps secrets in a keyring, such as that of the operating system.
///
/// The program chooses the store: the crate `keyring` and the crates of its project have stores for
/// the Secret Service and the kernel keyring of Linux, the Keychain of macOS and the Credential
/// Manager of Windows. Without [`store`](Self::store), the default store of `keyring_core` is used.
///
/// ```
/// use tool_runtime::dynamic::keyring_core::mock;
/// use tool_runtime::dynamic::{KeyringSecrets, Secret, SecretStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let secrets = KeyringSecrets::new("my-program").store(mock::Store::new()?);
/// secrets.save("github", &Secret::new("ghp_1234")).await?;
/// assert_eq!(secrets.load("github").await?, Some(Secret::new("ghp_1234")));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct KeyringSecrets {
    service: Arc<str>,
    store: Option<Arc<CredentialStore>>,
}

impl KeyringSecrets {
    /// Keeps secrets under this service name, such as the name of the program.
    pub fn new(service: impl Into<String>) -> Self {
        Self { service: service.into().into(), store: None }
    }

    /// Sets the keyring that keeps the secrets. Default: the default store of `keyring_core`.
    #[must_use]
    pub fn store(self, store: Arc<CredentialStore>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Runs an operation on the blocking pool: a keyring may ask the user for a password.
    async fn blocking<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce(&Entry) -> keyring_core::Result<T> + Send + 'static,
    ) -> Result<Option<T>, SecretError> {
        check_name(name)?;
        let (keyring, name) = (self.clone(), name.to_owned());
        let result = spawn_blocking(move || {
            let entry = match &keyring.store {
                Some(store) => Entry::new_in_store(store, &keyring.service, &name),
                None => Entry::new(&keyring.service, &name),
            };
            work(&entry?)
        });
        match result.await.map_err(SecretError::unavailable)? {
            Ok(value) => Ok(Some(value)),
            Err(Error::NoEntry) => Ok(None),
            // Without the error as the source: its debug output may contain the value.
            Err(Error::BadDataFormat(..)) => {
                Err(SecretError::unavailable("the keyring has malformed data"))
            }
            Err(error) => Err(SecretError::unavailable(error.to_string())),
        }
    }
}

impl fmt::Debug for KeyringSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyringSecrets").field("service", &self.service).finish_non_exhaustive()
    }
}

#[async_trait]
impl SecretStore for KeyringSecrets {
    async fn load(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        Ok(self.blocking(name, Entry::get_password).await?.map(Secret::new))
    }

    async fn save(&self, name: &str, secret: &Secret) -> Result<(), SecretError> {
        let value = secret.clone();
        self.blocking(name, move |entry| entry.set_password(value.expose())).await.map(drop)
    }

    async fn remove(&self, name: &str) -> Result<(), SecretError> {
        self.blocking(name, Entry::delete_credential).await.map(drop)
    }
}
