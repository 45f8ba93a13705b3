//! Settings of a client from environment variables.

use crate::models::ModelError;

/// Model, address and key from environment variables.
pub(crate) struct Environment {
    /// The name of the model.
    pub(crate) model: String,
    /// Base URL of the API. Default: the one of the provider.
    pub(crate) base_url: Option<String>,
    /// API key; empty if none is set.
    pub(crate) key: String,
}

impl Environment {
    /// Reads `…_MODEL`, `…_BASE_URL` and `…_API_KEY`. A key is required if no base URL is set.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing.
    pub(crate) fn read(prefix: &str) -> Result<Self, ModelError> {
        Self::from_variables(prefix, |name| std::env::var(name).ok())
    }

    /// Reads the same variables through a function.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing.
    pub(crate) fn from_variables(
        prefix: &str,
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
        let model = read("MODEL")
            .ok_or_else(|| missing(format!("{prefix}_MODEL; set it to the name of the model")))?;
        if base_url.is_none() && key.is_none() {
            return Err(missing(format!(
                "{prefix}_API_KEY; set it, or set {prefix}_BASE_URL to a server that needs no key"
            )));
        }
        Ok(Self { model, base_url, key: key.unwrap_or_default() })
    }
}
