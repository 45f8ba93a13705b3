//! Resolves names, and refuses those that lead to an address that may not be contacted.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tool_core::async_trait;

use super::Allowed;

/// Looks up the addresses of a host name.
///
/// The addresses are checked after the look-up, and the connection is made to one of them, so a
/// resolver can't open a way to a host that may not be contacted.
///
/// Implement it under `#[async_trait]`, which `tool_runtime` re-exports.
///
/// ```
/// use std::io;
/// use std::net::IpAddr;
///
/// use tool_runtime::async_trait;
/// use tool_runtime::web::{Resolver, Web};
///
/// /// Knows one host.
/// struct Hosts;
///
/// #[async_trait]
/// impl Resolver for Hosts {
///     async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
///         match name {
///             "docs.example" => Ok(vec![IpAddr::from([93, 184, 215, 14])]),
///             _ => Err(io::ErrorKind::NotFound.into()),
///         }
///     }
/// }
///
/// let web = Web::new().resolver(Hosts);
/// # drop(web);
/// ```
#[async_trait]
pub trait Resolver: Send + Sync {
    /// Returns the addresses of a host name.
    ///
    /// # Errors
    /// Returns an error if the name does not exist, or if the look-up failed.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Asks the resolver of the operating system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let name = name.to_owned();
        let look_up = move || (name.as_str(), 0).to_socket_addrs();
        let addresses = tokio::task::spawn_blocking(look_up).await.map_err(io::Error::other)??;
        Ok(addresses.map(|address| address.ip()).collect())
    }
}

/// A host name leads to an address that may not be contacted.
#[derive(Debug, thiserror::Error)]
#[error("name resolves to {range}, which is not allowed")]
pub(crate) struct RefusedAddress {
    pub(crate) range: &'static str,
}

/// Resolves names for the HTTP client, which connects to the addresses that it returns.
pub(crate) struct CheckedResolver {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) allowed: Arc<Allowed>,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (resolver, allowed) = (Arc::clone(&self.resolver), Arc::clone(&self.allowed));
        Box::pin(async move {
            let addresses = resolver.resolve(name.as_str()).await?;
            if addresses.is_empty() {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            // One refused address refuses the answer: a name of which an attacker owns one address
            // must not reach another by a retry.
            for address in &addresses {
                allowed.addresses.check(*address).map_err(|range| RefusedAddress { range })?;
            }
            // The port is that of the URL.
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}
