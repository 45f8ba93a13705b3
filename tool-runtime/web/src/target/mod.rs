//! Checks URLs before each request, also those of redirects: a host by `hosts.rs`, an address by
//! `address.rs`, and those of a name by `resolver.rs`.

pub(crate) mod address;
pub(crate) mod hosts;
pub(crate) mod resolver;

use std::net::IpAddr;

use tool_core::{ToolError, ToolErrorKind};
use url::{Host, Url};

use address::AllowedAddresses;
use hosts::AllowedHosts;

/// The longest URL, in bytes.
const MAX_URL_LEN: usize = 8 * 1024;

/// The hosts and the addresses that may be contacted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowed {
    pub(crate) addresses: AllowedAddresses,
    pub(crate) hosts: AllowedHosts,
}

/// Parses and checks the URL of a call.
pub(crate) fn parse(text: &str, allowed: &Allowed) -> Result<Url, ToolError> {
    if text.len() > MAX_URL_LEN {
        let len = text.len();
        let text = format!("`url` has {len} bytes; at most {MAX_URL_LEN} are accepted.");
        return Err(ToolError::invalid_arguments(text));
    }
    let mut url = Url::parse(text.trim()).map_err(|error| {
        ToolError::invalid_arguments(format!(
            "`url` is not a valid URL: {error}. Send an absolute one, such as https://example.com/."
        ))
    })?;
    url.set_fragment(None);
    check(&url, allowed).map_err(|refusal| refusal.into_error("`url`"))?;
    Ok(url)
}

/// Resolves the location of a redirect, and checks it.
pub(crate) fn redirected(from: &Url, location: &str, allowed: &Allowed) -> Result<Url, ToolError> {
    let invalid = || ToolError::failed("The server redirects to a URL that is not valid.");
    if location.len() > MAX_URL_LEN {
        return Err(invalid());
    }
    let mut url = from.join(location).map_err(|_| invalid())?;
    url.set_fragment(None);
    check(&url, allowed).map_err(|refusal| refusal.into_error("The redirect"))?;
    Ok(url)
}

/// The reason why a URL is not requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Scheme,
    Credentials,
    Host,
    /// The program limits the hosts, and this is none of them.
    OtherHost(String),
    /// The address is one of these.
    Address(&'static str),
}

impl Refusal {
    pub(crate) fn into_error(self, subject: &str) -> ToolError {
        let text = match self {
            Self::Scheme => format!("{subject} must begin with http:// or https://."),
            Self::Credentials => {
                format!("{subject} contains a user name or a password, which are refused.")
            }
            Self::Host => format!("{subject} has no host."),
            Self::OtherHost(host) => {
                let text = format!("{subject} leads to {host}.");
                return ToolError::new(ToolErrorKind::Denied, text);
            }
            Self::Address(range) => {
                return ToolError::new(
                    ToolErrorKind::Denied,
                    format!("{subject} leads to {range}, which may not be contacted."),
                );
            }
        };
        ToolError::invalid_arguments(text)
    }
}

/// Checks a URL. A host that is an address is checked here, because it never reaches the resolver.
pub(crate) fn check(url: &Url, allowed: &Allowed) -> Result<(), Refusal> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refusal::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal::Credentials);
    }
    let address = match url.host() {
        None | Some(Host::Domain("" | ".")) => return Err(Refusal::Host),
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(Host::Domain(name)) => name.trim_end_matches('.').parse().ok(),
    };
    allowed.hosts.check(url).map_err(Refusal::OtherHost)?;
    if allowed.hosts.is_limited() {
        // A host that is an address is in the list itself, with its port.
        return Ok(());
    }
    match address.map(|address| allowed.addresses.check(address)) {
        Some(Err(range)) => Err(Refusal::Address(range)),
        _ => Ok(()),
    }
}
