//! Where a model is and by which key, as the environment says.

use crate::models::ModelError;

#[derive(Debug)]
pub(super) struct Found {
    pub(super) model: String,
    pub(super) base_url: Option<String>,
    pub(super) key: Option<String>,
}

/// Reads `…_MODEL`, `…_BASE_URL` and `…_API_KEY`; without an address there has to be a key.
pub(super) fn read(
    of: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Found, ModelError> {
    let read = |name: &str| {
        let value = variable(&format!("{of}_{name}"))?;
        Some(value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let (base_url, key) = (read("BASE_URL"), read("API_KEY"));
    let missing = |text: String| ModelError::Setup(text);
    let model =
        read("MODEL").ok_or_else(|| missing(format!("set {of}_MODEL to the name of the model")))?;
    if base_url.is_none() && key.is_none() {
        let text = format!("set {of}_API_KEY, or {of}_BASE_URL to a server that needs no key");
        return Err(missing(text));
    }
    Ok(Found { model, base_url, key })
}
