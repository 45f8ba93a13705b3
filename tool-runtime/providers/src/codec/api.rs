use std::fmt;

/// An API of models: the address of its servers, and what each request to them has.
///
/// It is the part that a [`Codec`](super::Codec) and an [`EmbeddingCodec`](super::EmbeddingCodec)
/// have in common, and all that [`Client::new`](crate::Client::new) and
/// [`Client::from_env`](crate::Client::from_env) need.
///
/// ```
/// use tool_runtime::providers::codec::Api;
///
/// #[derive(Clone, Debug, Default)]
/// struct Prompts;
///
/// impl Api for Prompts {
///     const ENV_PREFIX: &'static str = "PROMPTS";
///     const BASE_URL: Option<&'static str> = Some("https://prompts.invalid/v1");
///
///     fn path(_model: &str, _is_streamed: bool) -> Vec<&str> {
///         vec!["generate"]
///     }
/// }
///
/// let (name, value) = Prompts::key_header("secret");
/// assert_eq!((name, value.as_str()), ("authorization", "Bearer secret"));
/// ```
pub trait Api: Clone + fmt::Debug + Send + Sync + 'static {
    /// Beginning of the names of the environment variables that a client reads, such as `OPENAI`.
    const ENV_PREFIX: &'static str;

    /// Name of the provider in events and spans, as in the [registry of
    /// OpenTelemetry](https://github.com/open-telemetry/semantic-conventions-genai). Default: none.
    ///
    /// A server with a known host, such as `api.groq.com`, has the name that belongs to it.
    const PROVIDER: Option<&'static str> = None;

    /// End of the variable with the name of the model. Default: `MODEL`.
    const ENV_MODEL: &'static str = "MODEL";

    /// Version that is appended to a base URL of the environment which ends with none, for a
    /// provider whose own clients expect the URL without it. Default: none.
    const ENV_VERSION: Option<&'static str> = None;

    /// Base URL of a client whose environment has none. Default: none, the variable is required.
    const BASE_URL: Option<&'static str> = None;

    /// Hosts whose servers refuse every request without a key, subdomains included. Default: none.
    ///
    /// For these hosts, the check of a client reports a missing key.
    const KEYED_HOSTS: &'static [&'static str] = &[];

    /// Headers of every request, beside that of the key. Default: none.
    const HEADERS: &'static [(&'static str, &'static str)] = &[];

    /// Returns the path of a request, as segments below the base URL.
    ///
    /// A segment that begins with a colon is appended to the one before it without a slash, as in
    /// `models/m:generate`.
    fn path(model: &str, is_streamed: bool) -> Vec<&str>;

    /// Returns the name and the value of the header that carries a key. Default: `authorization`
    /// with `Bearer KEY`.
    fn key_header(key: &str) -> (&'static str, String) {
        ("authorization", format!("Bearer {key}"))
    }

    /// Returns the codec for the server at this base URL. Default: the codec as it is.
    #[must_use]
    fn for_server(self, _base_url: &str) -> Self {
        self
    }
}
