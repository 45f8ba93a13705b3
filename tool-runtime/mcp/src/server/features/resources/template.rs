use std::collections::BTreeMap;

use rmcp::model::ResourceTemplate as RmcpTemplate;

/// The longest URI that is compared with templates, in bytes.
const MAX_URI_BYTES: usize = 8192;

/// A family of resources whose URIs follow a template.
///
/// A variable such as `{id}` stands for one or more characters except `/`, and `{path*}` or
/// `{+path}` for any characters.
///
/// ```
/// use tool_runtime::mcp::server::ResourceTemplate;
///
/// let template = ResourceTemplate::new("orders://{year}/{id}", "order")
///     .description("An order of a year")
///     .media_type("application/json");
/// assert_eq!(template.uri_template, "orders://{year}/{id}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// The URIs of the resources, with variables in braces.
    pub uri_template: String,
    /// The name of the family.
    pub name: String,
    /// The description of the resources' content.
    pub description: Option<String>,
    /// The media type of the resources, such as `text/plain`.
    pub media_type: Option<String>,
}

impl ResourceTemplate {
    /// Creates a template without a description.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            description: None,
            media_type: None,
        }
    }

    /// Sets the description of the resources' content.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the media type of the resources.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    pub(super) fn to_mcp(&self) -> RmcpTemplate {
        let mut template = RmcpTemplate::new(&self.uri_template, &self.name);
        template.description.clone_from(&self.description);
        template.mime_type.clone_from(&self.media_type);
        template
    }
}

/// A template as literals and the variables between them.
pub(super) struct Pattern {
    start: String,
    /// Each variable with the literal that follows it.
    variables: Vec<Variable>,
}

struct Variable {
    name: String,
    has_slashes: bool,
    suffix: String,
}

impl Pattern {
    pub(super) fn new(template: &str) -> Self {
        let mut pieces = template.split('{');
        let start = pieces.next().unwrap_or_default().to_owned();
        let variables = pieces.map(|piece| {
            let (name, suffix) = piece.split_once('}').unwrap_or((piece, ""));
            let plain = name.trim_start_matches('+').trim_end_matches('*');
            let has_slashes = plain != name;
            Variable { name: plain.to_owned(), has_slashes, suffix: suffix.to_owned() }
        });
        Self { start, variables: variables.collect() }
    }

    /// Returns the values of the variables if the URI matches. Each variable is as short as
    /// possible, except for the last one.
    pub(super) fn variables(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        if uri.len() > MAX_URI_BYTES {
            return None;
        }
        let mut rest = uri.strip_prefix(self.start.as_str())?;
        let mut found = BTreeMap::new();
        for (index, variable) in self.variables.iter().enumerate() {
            let is_last = index + 1 == self.variables.len();
            let value = if is_last {
                rest.strip_suffix(variable.suffix.as_str())?
            } else {
                rest.split_once(variable.suffix.as_str())?.0
            };
            let is_valid = variable.has_slashes || !value.contains('/');
            if value.is_empty() || !is_valid {
                return None;
            }
            rest = rest.get(value.len() + variable.suffix.len()..)?;
            found.insert(variable.name.clone(), percent_decoded(value)?);
        }
        rest.is_empty().then_some(found)
    }
}

/// Decodes `%20` and the like.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_match_templates() {
        for (template, uri, expected) in [
            ("a://{id}/data", "a://7/data", Some(&[("id", "7")][..])),
            ("a://{id}/data", "a://7/8/data", None),
            ("a://{id}/data", "a:///data", None),
            ("a://{x}/{y}", "a://1/2", Some(&[("x", "1"), ("y", "2")])),
            ("a://{x}/{y}", "a://1/2/3", None),
            ("a://{path*}", "a://1/2", Some(&[("path", "1/2")])),
            ("a://{+path}", "a://1/2", Some(&[("path", "1/2")])),
            ("a://{id}", "a://x%20y%C3%A9", Some(&[("id", "x yé")])),
            ("a://{id}", "a://%zz", None),
            ("a://{id}", "a://%ff", None),
            ("a://b", "a://b", Some(&[])),
            ("a://b", "a://bc", None),
            ("a://{id", "a://7", Some(&[("id", "7")])),
        ] {
            let found = Pattern::new(template).variables(uri);
            let expected = expected.map(|variables| {
                let owned = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
                variables.iter().map(owned).collect()
            });
            assert_eq!(found, expected, "{template} {uri}");
        }
    }
}
