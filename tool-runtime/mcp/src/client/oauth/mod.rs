//! OAuth for HTTP servers.
//!
//! 1. `options.rs`: [`OAuth`] collects the settings; `handler.rs` and `loopback.rs` let the user
//!    authorize in a browser, and `signing_key.rs` holds the key of a program.
//! 2. `connector.rs` attaches the token to requests, and answers the challenges of responses:
//!    `flow.rs` discovers the authorization server, which `authorization_server.rs` checks, selects
//!    client and scopes, and gets a token; `discovery_client.rs` keeps requests from servers other
//!    than the configured issuer; `redirect.rs` reads the answer to the browser.
//! 3. `tokens.rs` keeps [`Tokens`], which `stored_tokens.rs` describes, in a store of records;
//!    `credentials.rs` is the store as the SDK sees it.
//!    `sent_secrets.rs` remembers the secrets that servers received, which are redacted.
//!
//! # Invariants
//! - A token is sent to the server that it was issued for and to no other: it is stored by the URL
//!   of the server, and redirects are not followed.
//! - What an authorization server issued is not used with another one, and a registered client only
//!   with the issuer that the program names.
//! - Where the program names an issuer, nothing is sent to an authorization server with another.
//! - A refreshed token replaces no newer one.
//! - Authorizations are limited, however many challenges a server sends.

mod authorization_server;
mod connector;
mod credentials;
mod discovery_client;
mod flow;
mod flow_error;
mod handler;
mod loopback;
mod options;
mod redirect;
mod sent_secrets;
#[cfg(feature = "oauth-jwt")]
mod signing_key;
mod stored_tokens;
mod tokens;

pub(super) use connector::OAuthConnector;
pub use handler::AuthorizationHandler;
pub use loopback::LoopbackRedirect;
pub use options::OAuth;
#[cfg(feature = "oauth-jwt")]
pub use signing_key::{SigningAlgorithm, SigningKey};
pub use tokens::Tokens;
