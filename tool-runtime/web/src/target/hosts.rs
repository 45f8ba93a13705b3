//! Decides which hosts may be contacted, if the program limits them.

use std::fmt;

use url::{Host, Url};

/// The most hosts that an error lists.
const MAX_LISTED: usize = 10;

/// The hosts that may be contacted: those of every list. Without a list, all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedHosts(Vec<Vec<AllowedHost>>);

impl AllowedHosts {
    /// Allows no hosts but those of a list.
    pub(crate) fn narrow(&mut self, hosts: Vec<AllowedHost>) {
        self.0.push(hosts);
    }

    /// Whether there is a list.
    pub(super) fn is_limited(&self) -> bool {
        !self.0.is_empty()
    }

    /// Checks the host and the port of a URL.
    ///
    /// # Errors
    /// Returns a text that names the host, and the hosts that may be contacted.
    pub(super) fn check(&self, url: &Url) -> Result<(), String> {
        let refuses = |hosts: &&Vec<AllowedHost>| !hosts.iter().any(|host| host.allows(url));
        let Some(hosts) = self.0.iter().find(refuses) else { return Ok(()) };
        let mut allowed: Vec<_> =
            hosts.iter().take(MAX_LISTED).map(|host| format!("`{host}`")).collect();
        match hosts.len() {
            0 => allowed.push("no host".to_owned()),
            count if count > MAX_LISTED => allowed.push("others".to_owned()),
            _ => {}
        }
        let target = AllowedHost { host: host_of(url), port: url.port() };
        Err(format!("`{target}`, which may not be contacted; allowed: {}", allowed.join(", ")))
    }
}

/// A host that may be contacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllowedHost {
    host: String,
    /// `None` means the default port of the scheme.
    port: Option<u16>,
}

impl AllowedHost {
    /// Parses `host` or `host:port`, in each spelling that the host of a URL can have.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // Everything else in a URL would be ignored, and a pattern would match nothing.
        let is_plain = !text.contains(['/', '\\', '?', '#', '@', '*'])
            && !text.contains(|c: char| c.is_whitespace() || c.is_control())
            && !text.ends_with(':');
        // A URL drops the default port of its scheme, so a port of 80 or 443 is in one of them.
        let [http, https] =
            ["http", "https"].map(|scheme| Url::parse(&format!("{scheme}://{text}/")).ok());
        let (http, https) = (http?, https?);
        let host = host_of(&http);
        let port = http.port().or_else(|| https.port());
        (is_plain && !host.is_empty()).then_some(Self { host, port })
    }

    fn allows(&self, url: &Url) -> bool {
        let has_port = match self.port {
            None => url.port().is_none(),
            port => url.port_or_known_default() == port,
        };
        has_port && host_of(url) == self.host
    }
}

/// Returns the host of a URL as it is compared: a dot at the end names the same host.
fn host_of(url: &Url) -> String {
    match url.host() {
        Some(Host::Domain(name)) => name.trim_end_matches('.').to_owned(),
        Some(address) => address.to_string(),
        None => String::new(),
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}
