//! The secrets that a server receives, which are redacted in the reasons of failures and in its
//! errors.

#[cfg(feature = "client")]
use std::collections::HashMap;
use std::ffi::OsString;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
#[cfg(feature = "client")]
use reqwest::{
    Url,
    header::{HeaderName, HeaderValue},
};
use rmcp::model::{ContentBlock, ErrorData, ServerResult};
use serde_json::Value;
use tool_core::message::strip_invisible;

/// The minimum length of a redacted value, and of a line of one.
const MIN_SECRET_BYTES: usize = 4;

/// Stands for a redacted value.
const REDACTED: &str = "[redacted]";

/// Texts in the names of variables and arguments whose values are redacted.
const SECRET_PARTS: [&str; 9] = [
    "AUTH",
    "CREDENTIAL",
    "DATABASE_URL",
    "KEY",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "SECRET",
    "TOKEN",
];

/// Whole words in such names. Within other words, they mean something else, as in `PATH`.
const SECRET_WORDS: [&str; 6] = ["COOKIE", "DSN", "JWT", "PASS", "PAT", "PWD"];

/// The variable of the working directory.
const WORKING_DIRECTORY: &str = "PWD";

/// Values that are redacted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    /// The longest first, because one may be part of another.
    values: Vec<String>,
}

impl Secrets {
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = Vec::new();
        for value in values {
            // A line of a key may be printed alone.
            secrets.extend(value.lines().map(|line| line.trim().to_owned()));
            secrets.push(value);
        }
        secrets.retain(|secret| secret.len() >= MIN_SECRET_BYTES);
        secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { values: secrets }
    }

    /// Returns the secrets of a program: the values of the variables that it was given, and of the
    /// arguments and the inherited variables whose names look like those of secrets.
    pub(crate) fn of_program(
        arguments: &[OsString],
        variables: &[(OsString, OsString)],
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        let inherited =
            inherited.into_iter().filter(|(name, _)| is_secret_name(&name.to_string_lossy()));
        let variables = variables.iter().cloned().chain(inherited);
        let values = variables.map(|(_, value)| value.to_string_lossy().into_owned());
        let arguments: Vec<_> =
            arguments.iter().map(|it| it.to_string_lossy().into_owned()).collect();
        Self::new(values.chain(of_arguments(&arguments)))
    }

    /// Adds further secrets.
    #[cfg(feature = "client")]
    pub(crate) fn and(self, values: impl IntoIterator<Item = String>) -> Self {
        Self::new(self.values.into_iter().chain(values))
    }

    /// Returns the secrets of an HTTP request: the token, the values of sensitive headers, those of
    /// the query, and the user information, which is sent as a header.
    #[cfg(feature = "client")]
    pub(crate) fn of_request(
        url: &str,
        bearer: Option<&str>,
        headers: &HashMap<HeaderName, HeaderValue>,
    ) -> Self {
        let headers = headers.values().filter(|value| value.is_sensitive());
        let headers = headers.filter_map(|value| value.to_str().ok()).flat_map(of_header);
        let mut values: Vec<String> = headers.chain(bearer.map(str::to_owned)).collect();
        values.extend(of_url(url));
        if let Ok(url) = Url::parse(url)
            && !(url.username().is_empty() && url.password().is_none())
        {
            let (user, password) = (url.username(), url.password().unwrap_or_default());
            values.extend(of_basic(&percent_decoded(user), &percent_decoded(password)));
        }
        Self::new(values)
    }

    /// Returns the text without invisible characters, which could divide a secret, and secrets.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut text = strip_invisible(text).into_owned();
        for secret in &self.values {
            text = text.replace(secret, REDACTED);
        }
        text
    }

    /// Redacts the secrets in an error of the server.
    pub(crate) fn redact_error(&self, error: &mut ErrorData) {
        if self.values.is_empty() {
            return;
        }
        error.message = self.redact(&error.message).into();
        if let Some(data) = &mut error.data {
            self.redact_value(data);
        }
    }

    /// Redacts the secrets in the result of a call that reports an error.
    pub(crate) fn redact_failure(result: &mut ServerResult, secrets: impl FnOnce() -> Self) {
        match result {
            ServerResult::CallToolResult(result) if result.is_error == Some(true) => {
                let secrets = secrets();
                let mut content = serde_json::to_value(&result.content).unwrap_or_default();
                secrets.redact_value(&mut content);
                result.content = serde_json::from_value(content)
                    .unwrap_or_else(|_| vec![ContentBlock::text(REDACTED)]);
                let structured = result.structured_content.iter_mut();
                structured.for_each(|value| secrets.redact_value(value));
            }
            ServerResult::CustomResult(result) if is_failure(&result.0) => {
                secrets().redact_value(&mut result.0);
            }
            _ => {}
        }
    }

    /// Redacts the secrets in the texts and names of a value. Other texts stay as they are.
    pub(crate) fn redact_value(&self, value: &mut Value) {
        if self.values.is_empty() {
            return;
        }
        let redacted = |text: &str| Some(self.redact(text)).filter(|it| it.contains(REDACTED));
        match value {
            Value::String(text) => {
                if let Some(redacted) = redacted(text) {
                    *text = redacted;
                }
            }
            Value::Number(number) => {
                if let Some(redacted) = redacted(&number.to_string()) {
                    *value = Value::String(redacted);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.redact_value(member));
                let names: Vec<_> = members.keys().cloned().collect();
                for name in names {
                    if let Some(redacted) = redacted(&name)
                        && let Some(member) = members.remove(&name)
                    {
                        members.insert(redacted, member);
                    }
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Returns whether the result of a call reports an error.
pub(crate) fn is_failure(result: &Value) -> bool {
    result.get("isError").and_then(Value::as_bool) == Some(true)
}

fn is_secret_name(name: &str) -> bool {
    let name = name.trim_start_matches('-').replace('-', "_").to_uppercase();
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || (name != WORKING_DIRECTORY && name.split('_').any(|word| SECRET_WORDS.contains(&word)))
}

/// Returns the values of arguments such as `--token X`, `--token=X`, `TOKEN=X` and
/// `Authorization: Bearer X`, and what is secret in URLs.
fn of_arguments(arguments: &[String]) -> Vec<String> {
    let mut values = Vec::new();
    let mut previous = "";
    for argument in arguments {
        if previous.starts_with('-') && is_secret_name(previous) && !argument.starts_with('-') {
            values.extend(of_header(argument));
        }
        if let Some((name, value)) = argument.split_once(['=', ':'])
            && is_name(name)
            && is_secret_name(name)
        {
            values.extend(of_header(value.trim()));
        }
        values.extend(of_url(argument));
        previous = if is_name(argument) { argument } else { "" };
    }
    values
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_'))
}

/// Returns a value, the part after its scheme, as of `Bearer X`, and what is encoded in that of
/// `Basic X`.
fn of_header(value: &str) -> Vec<String> {
    let mut values = vec![value.to_owned()];
    if let Some((scheme, last)) = value.rsplit_once(' ') {
        values.push(last.to_owned());
        if scheme.trim().eq_ignore_ascii_case("basic")
            && let Ok(decoded) = STANDARD.decode(last)
            && let Some((user, password)) = String::from_utf8_lossy(&decoded).split_once(':')
        {
            values.extend(of_basic(user, password));
        }
    }
    values
}

/// Returns the forms in which a server can repeat the credentials that it receives as `Basic`. A
/// user without a password is a token.
pub(crate) fn of_basic(user: &str, password: &str) -> [String; 3] {
    let pair = format!("{user}:{password}");
    let secret = if password.is_empty() { user } else { password };
    [STANDARD.encode(&pair), secret.to_owned(), pair]
}

/// Returns the password and the values of the query of a URL, as they are spelled and decoded.
fn of_url(text: &str) -> Vec<String> {
    let Some((_, rest)) = text.split_once("://") else { return Vec::new() };
    let rest = rest.split('#').next().unwrap_or_default();
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = address.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let password = user.and_then(|user| Some(user.split_once(':')?.1.to_owned()));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let spelled = password.into_iter().chain(pairs.map(|(_, value)| value.to_owned()));
    let decoded =
        |value: &String| [percent_decoded(value), percent_decoded(&value.replace('+', " "))];
    spelled.flat_map(|value| decoded(&value).into_iter().chain([value])).collect()
}

fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of_program(arguments: &[&str], inherited: &[(&str, &str)]) -> Secrets {
        let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
        let inherited = inherited.iter().map(|(name, value)| (name.into(), value.into()));
        Secrets::of_program(&arguments, &[], inherited)
    }

    #[test]
    fn secrets_of_arguments_are_redacted() {
        for arguments in [
            &["--token", "hunter22"] as &[&str],
            &["--api-key=hunter22"],
            &["-e", "DB_PASS=hunter22"],
            &["--header", "Authorization: Bearer hunter22"],
            &["--header", "Authorization: Basic Y2FybDpodW50ZXIyMg=="],
            &["postgres://ada:hunt%65r22@db/orders"],
            &["https://mcp.example/?k=hunt%65r22"],
            &["postgres://ada:hunter22@db/orders"],
            &["https://mcp.example/?k=hunter22&x=1#top"],
        ] {
            let redacted = of_program(arguments, &[]).redact("bad hunter22");
            assert_eq!(redacted, "bad [redacted]", "{arguments:?}");
        }
        for arguments in [
            &["--name", "hunter22"] as &[&str],
            &["--token", "--name", "hunter22"],
            &["--path=hunter22"],
            &["token", "hunter22"],
        ] {
            let text = of_program(arguments, &[]).redact("bad hunter22");
            assert_eq!(text, "bad hunter22", "{arguments:?}");
        }
    }

    #[test]
    fn inherited_variables_are_secret_by_their_names() {
        for name in [
            "MYSQL_PWD",
            "DB_PASS",
            "SENTRY_DSN",
            "DATABASE_URL",
            "COOKIE",
            "my_jwt",
            "GITHUB_PAT",
            "API_KEY",
            "Session-Token",
        ] {
            let redacted = of_program(&[], &[(name, "hunter22")]).redact("bad hunter22");
            assert_eq!(redacted, "bad [redacted]", "{name}");
        }
        for name in ["PATH", "PWD", "OLDPWD", "COMPASS", "PATTERN", "HOME"] {
            let text = of_program(&[], &[(name, "hunter22")]).redact("bad hunter22");
            assert_eq!(text, "bad hunter22", "{name}");
        }
    }

    #[test]
    fn secrets_in_an_error_are_redacted_at_each_place() {
        let secrets = Secrets::new(["hunter22".to_owned(), "987654321".to_owned()]);
        let redacted = |message: &str, data: Value| {
            let mut error = ErrorData::internal_error(message.to_owned(), Some(data));
            secrets.redact_error(&mut error);
            (error.message.into_owned(), error.data.unwrap_or_default())
        };
        for (message, expected) in [
            ("bad hunter22", "bad [redacted]"),
            ("hun\u{200b}ter22hunter22", "[redacted][redacted]"),
            ("Hunter2", "Hunter2"),
        ] {
            assert_eq!(redacted(message, Value::Null).0, expected);
        }
        for (data, expected) in [
            (json!("Bearer hunter22"), json!("Bearer [redacted]")),
            (json!({ "a": [{ "b": "hunter22" }] }), json!({ "a": [{ "b": "[redacted]" }] })),
            (json!({ "hunter22": 1 }), json!({ "[redacted]": 1 })),
            (json!([987_654_321]), json!(["[redacted]"])),
            (json!("hunter\u{202e}22"), json!("[redacted]")),
            (json!({ "a\u{200b}b": [true, 1.5] }), json!({ "a\u{200b}b": [true, 1.5] })),
        ] {
            assert_eq!(redacted("", data).1, expected);
        }
    }

    #[cfg(feature = "client")]
    #[test]
    fn token_sensitive_headers_and_query_of_a_request_are_redacted() {
        let mut sensitive = HeaderValue::from_static("Basic header-secret");
        sensitive.set_sensitive(true);
        let headers = HashMap::from([
            (HeaderName::from_static("x-key"), sensitive),
            (HeaderName::from_static("mcp-method"), HeaderValue::from_static("tools/list")),
        ]);
        let url = "https://mcp.example/?key=query%20secret&more=plus+secret";
        let secrets = Secrets::of_request(url, Some("bearer-secret"), &headers);
        let text = "tools/list: bearer-\u{200b}secret, header-secret, query%20secret, query secret, \
                    plus secret";
        let expected = "tools/list: [redacted], [redacted], [redacted], [redacted], [redacted]";
        assert_eq!(secrets.redact(text), expected);
    }

    #[cfg(feature = "client")]
    #[test]
    fn basic_credentials_are_redacted_in_each_form() {
        // Of `ada:hunter#22`, and of `hunter#22` without a password.
        const PAIR: &str = "YWRhOmh1bnRlciMyMg==";
        const TOKEN: &str = "aHVudGVyIzIyOg==";
        let repeated = |url: &str, header: Option<&'static str>, text: &str| {
            let headers = header.map(|value| {
                let mut value = HeaderValue::from_static(value);
                value.set_sensitive(true);
                (HeaderName::from_static("authorization"), value)
            });
            Secrets::of_request(url, None, &headers.into_iter().collect()).redact(text)
        };
        let spelled = "https://ada:hunter%2322@mcp.example/mcp";
        for (url, header, texts) in [
            (spelled, None, &["hunter%2322", "hunter#22", "ada:hunter#22", PAIR] as &[&str]),
            ("https://hunter%2322@mcp.example", None, &["hunter#22", "hunter#22:", TOKEN]),
            ("https://mcp.example", Some("Basic YWRhOmh1bnRlciMyMg=="), &["hunter#22", PAIR]),
            ("https://mcp.example", Some("basic aHVudGVyIzIyOg=="), &["hunter#22", TOKEN]),
        ] {
            for text in texts {
                let redacted = repeated(url, header, &format!("ada sent {text}!"));
                assert_eq!(redacted, "ada sent [redacted]!", "{url} {header:?}: {text}");
            }
        }
    }
}
