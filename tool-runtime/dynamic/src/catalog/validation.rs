//! Checks names and contents before they are stored.

use serde_json::json;
use tool_core::ToolDefinition;

use super::connection::{Connection, ConnectionTarget};
use super::content::EntryContent;
use super::error::CatalogError;
use super::id::EntryId;
use crate::secrets::check_name;
use crate::spec::{PROVIDER, ToolSpec};

/// The longest content of an entry as JSON, in bytes.
const MAX_CONTENT_BYTES: usize = 1 << 20;

/// The longest name of a connection, which is the provider of its tools.
const MAX_PROVIDER_BYTES: usize = 32;

/// Checks an entry with all of its content.
pub(crate) fn check(id: &EntryId, content: &EntryContent) -> Result<(), CatalogError> {
    let reason = match content {
        EntryContent::Connection(connection) => check_connection(connection),
        EntryContent::Tool(spec) => spec.check().map(drop).map_err(|error| error.to_string()),
        EntryContent::Preference(preference) => any_tool(id.name())
            .preference(preference.clone())
            .validate()
            .map_err(|error| error.to_string()),
        EntryContent::Description(text) => {
            let mut described = any_tool(id.name());
            described.description.clone_from(text);
            described.validate().map_err(|error| error.to_string())
        }
    };
    let reason = check_name_of(id, content).and(reason).and_then(|()| check_size(content));
    reason.map_err(|reason| CatalogError::Invalid { id: id.clone(), reason })
}

fn any_tool(name: &str) -> ToolDefinition {
    ToolDefinition::new(name, "Any.", json!({ "type": "object" }))
}

fn check_size(content: &EntryContent) -> Result<(), String> {
    let bytes = serde_json::to_vec(content).map_err(|error| error.to_string())?.len();
    if bytes <= MAX_CONTENT_BYTES {
        return Ok(());
    }
    Err(format!("its content has {bytes} bytes: expected at most {MAX_CONTENT_BYTES}"))
}

/// Checks the name of an entry whose content becomes tools. The name has to keep these tools apart
/// from those of every other entry, so it is also checked when a record is read.
pub(super) fn check_name_of(id: &EntryId, content: &EntryContent) -> Result<(), String> {
    match content {
        EntryContent::Tool(spec) => check_tool_name(id.name(), spec),
        EntryContent::Connection(_) => check_connection_name(id.name()),
        EntryContent::Preference(_) | EntryContent::Description(_) => Ok(()),
    }
}

fn check_tool_name(name: &str, spec: &ToolSpec) -> Result<(), String> {
    if spec.name != name {
        return Err(format!("its spec has another name, `{}`", spec.name.escape_debug()));
    }
    Ok(())
}

fn check_connection_name(name: &str) -> Result<(), String> {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let has_length = (1..=MAX_PROVIDER_BYTES).contains(&name.len());
    if !has_length || !name.chars().all(is_valid) || name.contains("__") || name.ends_with('_') {
        return Err("expected a name of 1 to 32 characters of a-z, A-Z, 0-9, `_` and `-`, \
                    without `__` and without `_` at the end"
            .to_owned());
    }
    if name == PROVIDER {
        return Err(format!("`{PROVIDER}` is the provider of dynamic tools; use another name"));
    }
    Ok(())
}

fn check_connection(connection: &Connection) -> Result<(), String> {
    for secret in connection.secret_names() {
        check_name(secret).map_err(|error| error.to_string())?;
    }
    match &connection.target {
        ConnectionTarget::Stdio { program, .. } if program.is_empty() => {
            Err("the program is empty".to_owned())
        }
        ConnectionTarget::Stdio { .. } if connection.bearer.is_some() => {
            Err("a program has no bearer token: set an environment variable".to_owned())
        }
        ConnectionTarget::Stdio { .. } => {
            let is_invalid = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
            match connection.secrets.keys().find(is_invalid) {
                Some(variable) => Err(format!("invalid environment variable {variable:?}")),
                None => Ok(()),
            }
        }
        ConnectionTarget::Http { url } => check_url(url),
    }
}

/// Refuses URLs with credentials. The client checks the rest when it connects.
fn check_url(url: &str) -> Result<(), String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let rest = rest.ok_or_else(|| "expected a URL with http or https".to_owned())?;
    // A backslash ends the authority in the parser of the client.
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if authority.is_empty() {
        return Err("the URL has no host".to_owned());
    }
    if authority.contains('@') {
        return Err("the URL contains credentials: name a secret instead".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::BodyLanguage;

    fn reason(id: &EntryId, content: impl Into<EntryContent>) -> String {
        check(id, &content.into()).map_or_else(|error| error.to_string(), |()| "valid".to_owned())
    }

    #[test]
    fn invalid_connections_are_refused_with_the_reason() {
        let http = || Connection::http("https://example.com/mcp");
        for (name, connection, expected) in [
            ("docs", http().bearer("token").header("X-Key", "key"), "valid"),
            ("docs", Connection::stdio("npx").env("KEY", "key"), "valid"),
            ("a__b", http(), "without `__`"),
            ("dynamic", http(), "is the provider of dynamic tools"),
            ("", http(), "expected a name"),
            ("docs", http().bearer("my token"), "invalid secret name `my token`"),
            ("docs", Connection::http("https://ada:pw@example.com/"), "contains credentials"),
            ("docs", Connection::http("https://ada@example.com\\@x"), "contains credentials"),
            ("docs", Connection::http("ftp://example.com/"), "expected a URL with http"),
            ("docs", Connection::http("https:///mcp"), "no host"),
            ("docs", Connection::stdio(""), "the program is empty"),
            ("docs", Connection::stdio("npx").bearer("token"), "no bearer token"),
            ("docs", Connection::stdio("npx").env("A=B", "token"), "invalid environment variable"),
        ] {
            let id = EntryId::connection(name);
            let reason = reason(&id, connection);
            assert!(reason.contains(expected), "{name}: {reason}");
        }
    }

    #[test]
    fn tool_has_the_name_of_its_entry_and_a_valid_spec() {
        let tool = |name: &str| ToolSpec::new(BodyLanguage::JavaScript, name, "Adds.", "return 1;");
        for (name, tool, expected) in [
            ("add", tool("add"), "valid"),
            ("add", tool("sub"), "its spec has another name, `sub`"),
            ("a__b", tool("a__b"), "without `__`"),
            ("a b", tool("a b"), "name"),
        ] {
            let reason = reason(&EntryId::tool(name), tool);
            assert!(reason.contains(expected), "{name}: {reason}");
        }
    }
}
