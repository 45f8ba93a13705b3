//! Calls of a script that the host executes.

/// A call that the script waits for.
#[derive(Debug)]
pub(super) struct HostCall {
    pub(super) id: u32,
    pub(super) request: HostRequest,
}

/// A request of a script to the host.
#[derive(Debug)]
pub(super) enum HostRequest {
    /// A call of a tool. The arguments are JSON.
    Tool { name: String, arguments: String },
    /// A request over the network.
    #[cfg(feature = "fetch")]
    Fetch(FetchRequest),
}

/// A request over the network, as the script writes it.
#[cfg(feature = "fetch")]
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FetchRequest {
    pub(super) url: String,
    #[serde(default = "get")]
    pub(super) method: String,
    #[serde(default)]
    pub(super) headers: std::collections::BTreeMap<String, String>,
    pub(super) body: Option<String>,
}

#[cfg(feature = "fetch")]
fn get() -> String {
    "GET".to_owned()
}

/// The result of a call: JSON or text, or the text of an error.
pub(super) enum HostResult {
    Json(String),
    Text(String),
    Error(String),
}
