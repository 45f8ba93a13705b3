//! Settings of a client from environment variables.

use tool_core::models::ModelError;

/// The end of the variable with the name of a model for embeddings.
pub(crate) const EMBEDDING_MODEL: &str = "EMBEDDING_MODEL";

/// Model, address and key from environment variables.
pub(crate) struct Environment {
    /// The name of the model.
    pub(crate) model: String,
    /// Base URL of the API. Default: the one of the provider.
    pub(crate) base_url: Option<String>,
    /// API key, if one is set.
    pub(crate) key: Option<String>,
}

impl Environment {
    /// Reads `…_MODEL`, `…_BASE_URL` and `…_API_KEY`. A key is required if no base URL is set.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing.
    pub(crate) fn read(prefix: &str) -> Result<Self, ModelError> {
        Self::from_variables(prefix, "MODEL", |name| std::env::var(name).ok())
    }

    /// Reads the variables of an embedder: `…_EMBEDDING_MODEL` instead of `…_MODEL`.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing.
    pub(crate) fn read_embedder(prefix: &str) -> Result<Self, ModelError> {
        Self::from_variables(prefix, EMBEDDING_MODEL, |name| std::env::var(name).ok())
    }

    /// Reads the variables through a function. `model` is the end of the one with the model.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing.
    pub(crate) fn from_variables(
        prefix: &str,
        model: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        let read = |name: &str| {
            let value = variable(&format!("{prefix}_{name}"))?;
            Some(value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let (base_url, key) = (read("BASE_URL"), read("API_KEY"));
        let missing = |advice: String| {
            ModelError::Setup(format!("missing or empty environment variable: {advice}"))
        };
        let advice = || format!("{prefix}_{model}; set it to the name of the model");
        let model = read(model).ok_or_else(|| missing(advice()))?;
        if base_url.is_none() && key.is_none() {
            return Err(missing(format!(
                "{prefix}_API_KEY; set it, or set {prefix}_BASE_URL to a server that needs no key"
            )));
        }
        Ok(Self { model, base_url, key })
    }
}
