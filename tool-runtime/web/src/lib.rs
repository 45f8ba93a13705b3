//! Tools that fetch and search the web, without a way to hosts that are not public.
//!
//! [`Web`] fetches pages, [`WebRequests`] send other requests, and [`WebSearch`] asks a search
//! engine.
//!
//! tool-runtime exports this crate as `tool_runtime::web`, by the feature `web`. Its
//! [guide](https://docs.rs/tool-runtime) has the page `fetching_and_searching`.
#![cfg_attr(docsrs, feature(doc_cfg))]

// # The path of a request
// 1. `target/`: the URL is checked, its host, and a host that is an address.
// 2. `client.rs` sends the request. The HTTP client asks `target/resolver.rs` for the addresses of
//    a name, which checks each of them, and connects to one of these.
// 3. A redirect is the next request: it begins at the first step.
// 4. `content.rs` decides what the body is, after `decode.rs` has decompressed it and `charset.rs`
//    decoded its text. The crate `tool-html` converts pages, `json.rs` indents JSON.
// 5. `section.rs` cuts long texts; `recent.rs` keeps the document for the next section.
//
// `requests.rs` sends requests that change something on the same path, and `exchange.rs` those of
// the program. `search/` asks search engines, whose addresses the program names.
//
// # Invariants
// - No connection is made to an address that is not allowed, whatever the URL, the resolver and the
//   servers say, and whenever they change it.
// - No proxy, cookie or credential of the program or the environment takes part in a request.
// - Time and memory of a call are bounded, whatever a server sends.
// - What a server sends reaches the model between the tags of untrusted text alone.

mod charset;
mod client;
mod content;
mod decode;
mod exchange;
mod fetch;
mod json;
mod preview;
mod recent;
mod requests;
mod search;
mod section;
mod target;
mod tools;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use exchange::WebResponse;
pub use requests::WebRequests;
pub use search::{
    Brave, Recency, SearXng, SearchEngine, SearchQuery, SearchResult, Tavily, WebSearch,
};
pub use target::address::AddressParseError;
pub use target::resolver::Resolver;

use client::{Client, Settings};
use recent::RecentDocuments;
use target::address::parse_network;
use target::hosts::AllowedHost;

/// Tools that fetch content of the web.
///
/// | tool | what it does |
/// |---|---|
/// | `http_fetch` | fetches a page as Markdown, JSON, an image, a PDF document or a text |
///
/// Only public addresses are contacted: a name or a redirect that leads to another address is
/// refused. [`allow_net`](Self::allow_net) allows further networks, and
/// [`only_hosts`](Self::only_hosts) limits the hosts to a list. [`requests`](Self::requests)
/// returns a tool for requests that change something, and [`WebSearch`] searches. Clones share the
/// connections: pass one to `tools!`, and another to
/// [`Policy::previewer`](tool_core::Policy::previewer).
///
/// ```
/// use tool_runtime::web::Web;
/// use tool_runtime::{Dispatcher, Registry, ToolCall, tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![..Web::new()])?);
/// let call = ToolCall::new("1", "http_fetch", r#"{"url": "http://localhost/admin"}"#);
/// let executions = dispatcher.dispatch(vec![call]).await;
/// let text = "The host leads to a loopback address, which may not be contacted.";
/// assert_eq!(executions[0].result.text, text);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Web {
    settings: Settings,
    shared: Arc<Shared>,
}

/// The connections and documents that clones share.
#[derive(Debug, Default)]
struct Shared {
    client: OnceLock<Arc<Client>>,
    recent: RecentDocuments,
}

impl Web {
    /// Creates tools that contact public addresses only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows the addresses of a network, such as `127.0.0.0/8` or `fd00::/8`, or a single address.
    ///
    /// # Errors
    /// Returns an error if the text is not an address or a network in CIDR notation.
    ///
    /// ```
    /// use tool_runtime::web::Web;
    ///
    /// let web = Web::new().allow_net("10.20.0.0/16")?.allow_net("::1")?;
    /// # drop(web);
    /// # Ok::<(), tool_runtime::web::AddressParseError>(())
    /// ```
    pub fn allow_net(self, cidr: impl AsRef<str>) -> Result<Self, AddressParseError> {
        let text = cidr.as_ref();
        let network =
            parse_network(text).ok_or_else(|| AddressParseError::Network(text.to_owned()))?;
        Ok(self.with_settings(|settings| settings.allowed.addresses.add(network)))
    }

    /// Limits requests and redirects to these hosts, such as `example.com` or `example.com:8443`.
    ///
    /// A host without a port is contacted on the default port of `http` or `https` only. The
    /// addresses of a name are checked as well: see [`allow_net`](Self::allow_net). A host that is
    /// an address, such as `127.0.0.1:8080`, is contacted without `allow_net`, because the program
    /// names it exactly: on this port only, and not by a name that leads to the address. If this
    /// method is called again, a host must be in each of the lists. An empty list allows no host.
    ///
    /// # Errors
    /// Returns an error if a text is not a host with or without a port. Patterns are not hosts.
    ///
    /// ```
    /// use tool_runtime::http::HttpRequest;
    /// use tool_runtime::web::Web;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::web::AddressParseError> {
    /// let web = Web::new().only_hosts(["docs.example", "api.example:8443"])?;
    /// let error = web.send(HttpRequest::get("https://api.example/")).await.unwrap_err();
    /// let text = "`url` leads to `api.example`, which may not be contacted; \
    ///             allowed: `docs.example`, `api.example:8443`.";
    /// assert_eq!(error.text(), text);
    /// # Ok(())
    /// # }
    /// ```
    pub fn only_hosts(
        self,
        hosts: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, AddressParseError> {
        let parse = |host: &str| {
            AllowedHost::parse(host).ok_or_else(|| AddressParseError::Host(host.to_owned()))
        };
        let hosts = hosts.into_iter().map(|host| parse(host.as_ref())).collect::<Result<_, _>>()?;
        Ok(self.with_settings(|settings| settings.allowed.hosts.narrow(hosts)))
    }

    /// Replaces the look-up of host names. Default: that of the operating system.
    #[must_use]
    pub fn resolver(self, resolver: impl Resolver + 'static) -> Self {
        self.with_settings(|settings| settings.resolver = Arc::new(resolver))
    }

    /// Sets the timeout of a request with its redirects and its body. Default: 30 seconds.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with_settings(|settings| settings.timeout = timeout)
    }

    /// Sets the maximum number of bytes of a body that are read. Default: 8 MiB. The limit applies
    /// to the body as it is sent and as it is decompressed.
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        self.with_settings(|settings| settings.max_bytes = bytes)
    }

    /// Changes the settings. The value no longer shares the connections of others.
    fn with_settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self.shared = Arc::default();
        self
    }

    fn client(&self) -> Arc<Client> {
        let client =
            self.shared.client.get_or_init(|| Arc::new(Client::new(self.settings.clone())));
        Arc::clone(client)
    }

    fn recent(&self) -> &RecentDocuments {
        &self.shared.recent
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Web").field("settings", &self.settings).finish_non_exhaustive()
    }
}
