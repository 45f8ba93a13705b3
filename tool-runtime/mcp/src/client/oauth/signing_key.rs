use std::fmt;
use std::sync::Arc;

use rmcp::transport::auth::JwtSigningAlgorithm;

/// A private key by which a program proves its identity to an authorization server
/// (`private_key_jwt`, RFC 7523).
///
/// The program signs a short-lived assertion with it, so that no secret is sent.
///
/// ```
/// use tool_runtime::mcp::{McpClient, OAuth, SigningAlgorithm, SigningKey};
///
/// let pem = "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----"; // from a file
/// let key = SigningKey::from_pem(pem, SigningAlgorithm::Es256);
/// let oauth = OAuth::client_credentials_jwt("reporter", key)
///     .issuer("https://auth.example.com");
/// let client = McpClient::http("https://example.com/mcp").oauth(oauth);
/// # let _ = client;
/// ```
#[derive(Clone)]
pub struct SigningKey {
    pub(super) pem: Arc<[u8]>,
    pub(super) algorithm: SigningAlgorithm,
    pub(super) audience: Option<String>,
}

/// The algorithm of a signature, by its name in JSON Web Signature (RFC 7518).
///
/// ```
/// use tool_runtime::mcp::{SigningAlgorithm, SigningKey};
///
/// let pem = "-----BEGIN RSA PRIVATE KEY-----\n…\n-----END RSA PRIVATE KEY-----";
/// let key = SigningKey::from_pem(pem, SigningAlgorithm::Rs256);
/// # let _ = key;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SigningAlgorithm {
    /// `RS256`: RSA with SHA-256.
    Rs256,
    /// `RS384`: RSA with SHA-384.
    Rs384,
    /// `RS512`: RSA with SHA-512.
    Rs512,
    /// `ES256`: ECDSA on the curve P-256 with SHA-256.
    Es256,
    /// `ES384`: ECDSA on the curve P-384 with SHA-384.
    Es384,
}

impl SigningKey {
    /// Creates a key from its PEM text: PKCS #8, or PKCS #1 of an RSA key.
    ///
    /// The key is decoded when it signs. If it can't be decoded, or does not fit the algorithm, the
    /// authorization fails with [`McpError::AuthorizationFailed`](crate::McpError).
    ///
    /// ```
    /// use tool_runtime::mcp::{SigningAlgorithm, SigningKey};
    ///
    /// fn read_key(path: &str) -> std::io::Result<SigningKey> {
    ///     Ok(SigningKey::from_pem(std::fs::read(path)?, SigningAlgorithm::Es256))
    /// }
    /// assert!(read_key("missing.pem").is_err());
    /// ```
    pub fn from_pem(pem: impl AsRef<[u8]>, algorithm: SigningAlgorithm) -> Self {
        Self { pem: pem.as_ref().into(), algorithm, audience: None }
    }

    /// Sets the audience of the assertions. Default: the issuer that the authorization server
    /// reports.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audience = Some(audience.into());
        self
    }
}

impl From<SigningAlgorithm> for JwtSigningAlgorithm {
    fn from(algorithm: SigningAlgorithm) -> Self {
        match algorithm {
            SigningAlgorithm::Rs256 => Self::RS256,
            SigningAlgorithm::Rs384 => Self::RS384,
            SigningAlgorithm::Rs512 => Self::RS512,
            SigningAlgorithm::Es256 => Self::ES256,
            SigningAlgorithm::Es384 => Self::ES384,
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("algorithm", &self.algorithm)
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}
