use std::fmt;

use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize};

use super::authorization_server::AuthorizationServer;

/// The tokens of a server, with what is needed to renew them.
///
/// The JSON contains the secrets; the `Debug` text does not.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoredTokens {
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
