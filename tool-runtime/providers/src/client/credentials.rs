//! Checks of the names and keys that a program sets. An empty variable or a file of two lines is
//! found at startup, not by an error of the provider.

use tool_core::ModelError;

/// Checks the name of a model.
///
/// # Errors
/// [`ModelError::Setup`] if the name is empty, or if white space surrounds it or control characters
/// are in it.
pub(crate) fn check_model_name(name: &str) -> Result<(), ModelError> {
    let problem = match control_character(name) {
        _ if name.trim().is_empty() => "it is empty".to_owned(),
        Some(character) => format!("it contains {character}"),
        None if name.trim() != name => "white space surrounds it".to_owned(),
        None => return Ok(()),
    };
    Err(ModelError::Setup(format!("malformed model name {name:?}: {problem}")))
}

/// Checks a key, which is not printed.
///
/// # Errors
/// [`ModelError::Setup`] if the key is empty, or if control characters are in it.
pub(crate) fn check_key(key: &str) -> Result<(), ModelError> {
    let problem = match control_character(key) {
        _ if key.is_empty() => "it is empty".to_owned(),
        Some(character) => format!("it contains {character}"),
        None => return Ok(()),
    };
    Err(ModelError::Setup(format!("malformed API key: {problem}; check what `key` receives")))
}

/// Checks the value of a header, which is not printed.
///
/// # Errors
/// [`ModelError::Setup`] if control characters are in the value.
pub(crate) fn check_header(name: &str, value: &str) -> Result<(), ModelError> {
    let problem = control_character(value);
    problem.map_or(Ok(()), |character| {
        let text = format!("malformed value of the header `{name}`: it contains {character}");
        Err(ModelError::Setup(text))
    })
}

/// Returns the kind of the first control character, which no header can carry.
fn control_character(text: &str) -> Option<&'static str> {
    let character = text.chars().find(|c| c.is_control())?;
    Some(if matches!(character, '\r' | '\n') { "a line break" } else { "a control character" })
}
