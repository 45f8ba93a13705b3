use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tool_core::records::MemoryRecords;

use super::authorization_server::is_confidential;
use super::handler::AuthorizationHandler;
#[cfg(feature = "oauth-jwt")]
use super::signing_key::SigningKey;
use super::tokens::Tokens;

/// Settings for how the client gets access tokens for an HTTP server.
///
/// The client asks for a token when the server demands one. It discovers the authorization server,
/// requests the scopes that the server names, refreshes tokens before they expire, and requests
/// further scopes when a call needs them.
///
/// ```
/// use tool_runtime::mcp::{McpClient, OAuth};
///
/// let oauth = OAuth::client_credentials("reporter", "secret").issuer("https://auth.example.com");
/// let client = McpClient::http("https://example.com/mcp").oauth(oauth);
/// # let _ = client;
/// ```
#[derive(Clone)]
#[must_use = "the settings do nothing until `McpClient::oauth` receives them"]
pub struct OAuth {
    pub(super) flow: Flow,
    pub(super) issuer: Option<String>,
    pub(super) resource: Option<String>,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<String>,
    pub(super) client_metadata_url: Option<String>,
    pub(super) client_name: String,
    pub(super) scopes: Vec<String>,
    pub(super) tokens: Tokens,
    pub(super) allows_private_addresses: bool,
    pub(super) timeout: Duration,
}

#[derive(Clone)]
pub(super) enum Flow {
    AuthorizationCode(Arc<dyn AuthorizationHandler>),
    ClientCredentials(Proof),
}

/// How a program proves its identity.
#[derive(Clone)]
pub(super) enum Proof {
    /// The secret of the settings.
    Secret,
    #[cfg(feature = "oauth-jwt")]
    Key(SigningKey),
}

impl OAuth {
    /// Lets the user authorize in a browser (authorization code with PKCE).
    ///
    /// The client identifies itself as the [preregistered](Self::client) client, or by its
    /// [metadata document](Self::client_metadata_url) if the authorization server supports those.
    /// Otherwise, it registers itself.
    pub fn authorization_code(handler: impl AuthorizationHandler + 'static) -> Self {
        Self::new(Flow::AuthorizationCode(Arc::new(handler)))
    }

    /// Authorizes the program itself, with the identifier and the secret of a registered client.
    ///
    /// You have to set the [`issuer`](Self::issuer) of the authorization server that registered the
    /// client.
    pub fn client_credentials(id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self::new(Flow::ClientCredentials(Proof::Secret)).client(id).client_secret(secret)
    }

    /// Authorizes the program itself, with the identifier of a registered client and assertions
    /// that it signs with its private key.
    ///
    /// You have to set the [`issuer`](Self::issuer) of the authorization server that registered the
    /// client.
    #[cfg(feature = "oauth-jwt")]
    #[cfg_attr(docsrs, doc(cfg(feature = "oauth-jwt")))]
    pub fn client_credentials_jwt(id: impl Into<String>, key: SigningKey) -> Self {
        Self::new(Flow::ClientCredentials(Proof::Key(key))).client(id)
    }

    fn new(flow: Flow) -> Self {
        Self {
            flow,
            issuer: None,
            resource: None,
            client_id: None,
            client_secret: None,
            client_metadata_url: None,
            client_name: "tool-mcp".to_owned(),
            scopes: Vec::new(),
            tokens: Tokens::plaintext(MemoryRecords::new()),
            allows_private_addresses: false,
            timeout: Duration::from_secs(300),
        }
    }

    /// Sets the issuer of the authorization server, such as `https://auth.example.com`.
    ///
    /// Without it, the MCP server names any authorization server. With it, the authorization fails
    /// if the MCP server names another one, to which nothing is sent, and the endpoints are those
    /// that the issuer publishes. It is required with a registered client, which
    /// [`client`](Self::client), [`client_credentials`](Self::client_credentials) and
    /// `client_credentials_jwt` name: an MCP server could otherwise name its own authorization
    /// server, which would receive the secret.
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Sets the resource that tokens are for. Default: the URL of the server.
    ///
    /// An authorization fails if the metadata of the server name another one. Set it if you know
    /// that the server is part of a larger resource, such as its whole host, and trust the server
    /// with a token for that resource.
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Sets the identifier of a client that the authorization server knows. The
    /// [`issuer`](Self::issuer) is required with it.
    pub fn client(mut self, id: impl Into<String>) -> Self {
        self.client_id = Some(id.into());
        self
    }

    /// Sets the secret of the [preregistered client](Self::client).
    pub fn client_secret(mut self, secret: impl Into<String>) -> Self {
        self.client_secret = Some(secret.into());
        self
    }

    /// Sets the HTTPS URL of a document that describes this client (client ID metadata document).
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.client_metadata_url = Some(url.into());
        self
    }

    /// Sets the name with which the client registers itself. Default: `tool-mcp`.
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = name.into();
        self
    }

    /// Sets the scopes that are requested if the server names none.
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets where tokens are kept. Default: in memory.
    pub fn tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// Lets a server name an authorization server at a private address, such as `10.0.0.9`, and
    /// lets it be reached by `http` there. Default: refused, unless the server itself is at such an
    /// address.
    ///
    /// The addresses of a configured [`issuer`](Self::issuer) are not limited, but it needs this
    /// setting for `http` on another machine.
    pub fn allow_private_addresses(mut self) -> Self {
        self.allows_private_addresses = true;
        self
    }

    /// Sets the time limit of one authorization, including the time that the user needs. Default: 5
    /// minutes.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Checks the settings before anything is sent.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.client_secret.is_some() && self.client_id.is_none() {
            return Err("OAuth: `client_secret` needs `client`".to_owned());
        }
        let issuer = self.issuer_url()?;
        if let (Some(id), None) = (&self.client_id, issuer) {
            return Err(format!(
                "OAuth: client `{id}` has no `issuer`: set that of its authorization server"
            ));
        }
        match self.resource.as_deref().map(Url::parse) {
            Some(Err(error)) => Err(format!("OAuth: `resource` is invalid: {error}")),
            _ => Ok(()),
        }
    }

    /// Returns the issuer as the URL that RFC 8414 requires.
    pub(super) fn issuer_url(&self) -> Result<Option<Url>, String> {
        let Some(issuer) = &self.issuer else { return Ok(None) };
        let invalid = |reason: &str| format!("OAuth: issuer `{issuer}` is invalid: {reason}");
        let url = Url::parse(issuer).map_err(|error| invalid(&error.to_string()))?;
        if !is_confidential(&url, self.allows_private_addresses) {
            return Err(invalid("expected an HTTPS URL"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(invalid("expected no query and no fragment"));
        }
        Ok(Some(url))
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
