use std::fmt;

use crate::models::ModelError;

/// Where a model is and by which key, as the environment says.
#[non_exhaustive]
pub struct Environment {
    /// The name of the model.
    pub model: String,
    /// Where its API is, if not where its maker has it.
    pub base_url: Option<String>,
    /// The key; empty for none.
    pub key: String,
}

impl Environment {
    /// Reads `…_MODEL`, `…_BASE_URL` and `…_API_KEY`; without an address there has to be a key.
    ///
    /// # Errors
    /// [`ModelError::Setup`] names the variable that is missing.
    pub fn read(prefix: &str) -> Result<Self, ModelError> {
        Self::from_variables(prefix, |name| std::env::var(name).ok())
    }

    /// The same, from variables that are found in this way.
    ///
    /// # Errors
    /// As above.
    pub fn from_variables(
        prefix: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        let read = |name: &str| {
            let value = variable(&format!("{prefix}_{name}"))?;
            Some(value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let (base_url, key) = (read("BASE_URL"), read("API_KEY"));
        let missing = |text: String| ModelError::Setup(text);
        let model = read("MODEL")
            .ok_or_else(|| missing(format!("set {prefix}_MODEL to the name of the model")))?;
        if base_url.is_none() && key.is_none() {
            let text =
                format!("set {prefix}_API_KEY, or {prefix}_BASE_URL to a server that needs no key");
            return Err(missing(text));
        }
        Ok(Self { model, base_url, key: key.unwrap_or_default() })
    }
}

/// Without the key.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, base_url, .. } = self;
        f.debug_struct("Environment")
            .field("model", model)
            .field("base_url", base_url)
            .finish_non_exhaustive()
    }
}
