use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize};
use tool_core::async_trait;

use super::authorization_server::AuthorizationServer;

/// Storage backend for the tokens of servers.
///
/// Tokens are secrets: keep them where only this program can read them.
///
/// ```
/// use tool_runtime::mcp::{MemoryTokens, TokenStore};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let store = MemoryTokens::new();
/// assert!(store.load("https://example.com/mcp").await.unwrap().is_none());
/// # });
/// ```
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// Loads the tokens of a server by its URL.
    async fn load(&self, server: &str) -> io::Result<Option<StoredTokens>>;

    /// Saves the tokens of a server, and replaces previous ones.
    async fn save(&self, server: &str, tokens: &StoredTokens) -> io::Result<()>;

    /// Removes the tokens of a server.
    async fn remove(&self, server: &str) -> io::Result<()>;
}

/// The tokens of a server, with what is needed to renew them.
///
/// The JSON contains the secrets; the `Debug` text does not.
///
/// ```
/// # fn store(tokens: &tool_runtime::mcp::StoredTokens) -> serde_json::Result<()> {
/// let json = serde_json::to_string(tokens)?;
/// let loaded: tool_runtime::mcp::StoredTokens = serde_json::from_str(&json)?;
/// # let _ = loaded;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Serialize, Deserialize)]
pub struct StoredTokens {
    /// `None` between a registration and the first token.
    pub(super) credentials: Option<StoredCredentials>,
    #[serde(flatten)]
    pub(super) grant: Grant,
}

/// The client and the scopes that a token was requested with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) authorization_server: Option<AuthorizationServer>,
    pub(super) client: Option<RegisteredClient>,
    pub(super) requested_scopes: Vec<String>,
    /// The challenge from which the authorization server was discovered.
    pub(super) challenge: Option<String>,
}

/// A client that is known to an authorization server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RegisteredClient {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) redirect_uri: String,
}

impl fmt::Debug for RegisteredClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredClient").field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for StoredTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredTokens").field("grant", &self.grant).finish_non_exhaustive()
    }
}

/// Keeps tokens in memory. Clones share them.
///
/// ```
/// use tool_runtime::mcp::{MemoryTokens, OAuth};
///
/// let tokens = MemoryTokens::new();
/// let oauth = OAuth::client_credentials("reporter", "secret")
///     .issuer("https://auth.example.com")
///     .store(tokens.clone());
/// # let _ = oauth;
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryTokens(Arc<Mutex<HashMap<String, StoredTokens>>>);

impl MemoryTokens {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl TokenStore for MemoryTokens {
    async fn load(&self, server: &str) -> io::Result<Option<StoredTokens>> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server).cloned())
    }

    async fn save(&self, server: &str, tokens: &StoredTokens) -> io::Result<()> {
        let mut servers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        servers.insert(server.to_owned(), tokens.clone());
        Ok(())
    }

    async fn remove(&self, server: &str) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(server);
        Ok(())
    }
}
