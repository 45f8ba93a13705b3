/// The description of a model that is known without a request to it.
///
/// ```
/// use tool_runtime::models::ModelInfo;
///
/// let info = ModelInfo::new("qwen3-coder").provider("ollama").context_tokens(262_144);
/// assert_eq!(info.name.as_deref(), Some("qwen3-coder"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The name by which the model is requested.
    pub name: Option<String>,
    /// The provider, by its name in the [registry of
    /// OpenTelemetry](https://github.com/open-telemetry/semantic-conventions-genai), such as
    /// `openai`, `gcp.gemini` or `mistral_ai`. Others, such as `ollama`, are not in it.
    pub provider: Option<String>,
    /// The host of the server.
    pub server_address: Option<String>,
    /// The port of the server.
    pub server_port: Option<u16>,
    /// The size of the context in tokens: input and output together.
    pub context_tokens: Option<u64>,
}

impl ModelInfo {
    /// Creates the description of a model of which only the name is known.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// Sets the name of the provider.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>) -> Self {
        self.provider = Some(name.into());
        self
    }

    /// Sets the host and the port of the server.
    #[must_use]
    pub fn server(mut self, address: impl Into<String>, port: Option<u16>) -> Self {
        (self.server_address, self.server_port) = (Some(address.into()), port);
        self
    }

    /// Sets the size of the context in tokens.
    #[must_use]
    pub fn context_tokens(mut self, tokens: u64) -> Self {
        self.context_tokens = Some(tokens);
        self
    }
}
