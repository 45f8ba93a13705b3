//! Secrets of connections, which a catalog names and never contains.
//!
//! A [`SecretStore`] (`store.rs`) keeps the values: in the environment (`environment.rs`), in a
//! file that only its owner can read (`file.rs`), or in the keyring of the system (`keyring.rs`).
//! `redaction.rs` replaces the values in texts of servers, which may repeat them.

mod environment;
mod file;
#[cfg(feature = "keyring")]
mod keyring;
mod redaction;
mod store;

pub use environment::EnvironmentSecrets;
pub use file::FileSecrets;
#[cfg(feature = "keyring")]
pub use keyring::{KeyringSecrets, keyring_core};
pub(crate) use redaction::KnownSecrets;
pub(crate) use store::check_name;
pub use store::{Secret, SecretError, SecretStore};
