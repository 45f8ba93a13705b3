use serde::{Deserialize, Serialize};

use crate::secret::REDACTED;

/// A request that a tool sent over the network.
///
/// [`new`](Self::new) removes the user, the password, the fragment and secrets from the URL.
///
/// ```
/// use tool_runtime::event::NetworkRequest;
///
/// let url = "https://ada:pw@rail.example/seats?from=Oslo&api_key=k3y";
/// let request = NetworkRequest::new("POST", url).status(201);
/// assert_eq!(request.url, "https://rail.example/seats?from=Oslo&api_key=[redacted]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NetworkRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// The URL of the request, without secrets.
    pub url: String,
    /// The status of the response, such as 201; `None` if none was received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

impl NetworkRequest {
    /// Creates the record of a request, and removes secrets from the URL.
    ///
    /// - The user and the password before the host are removed, and so is the fragment.
    /// - The value of a query parameter is replaced by `[redacted]` if a word of its name marks a
    ///   secret, such as `key`, `token`, `secret`, `password`, `auth`, `session` or `signature`.
    ///   Words are separated by characters such as `_`, or begin with a capital letter: `api_key`,
    ///   `accessToken` and `X-Amz-Signature` match. The parameter `code` of OAuth matches too.
    /// - A query parameter without a name is replaced as a whole.
    ///
    /// Secrets in the path remain. [`Policy::secrets`](crate::Policy::secrets) and arguments that
    /// are marked as secret are redacted in all effects.
    pub fn new(method: impl Into<String>, url: impl AsRef<str>) -> Self {
        Self { method: method.into(), url: without_secrets(url.as_ref()), status: None }
    }

    /// Sets the status of the response.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }
}

fn without_secrets(url: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let (address, query) = match url.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (url, None),
    };
    let mut clean = without_user(address);
    if let Some(query) = query {
        let separators = query.matches(['&', ';']).chain([""]);
        clean.push('?');
        for (parameter, separator) in query.split(['&', ';']).zip(separators) {
            clean.push_str(&redacted_parameter(parameter));
            clean.push_str(separator);
        }
    }
    clean
}

/// Removes the user and the password from a URL without a query.
fn without_user(address: &str) -> String {
    // `//host` inherits the scheme; parsers of web addresses accept `\` as `/`.
    let Some((scheme, rest)) = address.find(['/', '\\']).map(|at| address.split_at(at)) else {
        return address.into();
    };
    let after_slashes = rest.trim_start_matches(['/', '\\']);
    let slashes = rest.strip_suffix(after_slashes).unwrap_or_default();
    if !scheme.ends_with(':') && slashes.len() < 2 {
        return address.into();
    }
    let end = after_slashes.find(['/', '\\']).unwrap_or(after_slashes.len());
    let (authority, path) = after_slashes.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}{slashes}{host}{path}")
}

fn redacted_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, value)) if !value.is_empty() && is_secret(&percent_decoded(name)) => {
            format!("{name}={REDACTED}")
        }
        None if !parameter.is_empty() => REDACTED.into(),
        _ => parameter.into(),
    }
}

/// The words of a name that mark a secret, in lower case.
const SECRET_WORDS: [&str; 19] = [
    "assertion",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "otp",
    "pass",
    "passwd",
    "pin",
    "pw",
    "pwd",
    "session",
    "sessionid",
    "sid",
    "sig",
    "verifier",
];

/// The ends of words that mark a secret, for names without separators.
const SECRET_ENDINGS: [&str; 5] = ["key", "password", "secret", "signature", "token"];

fn is_secret(name: &str) -> bool {
    // The code of an OAuth redirect. In other names it is a country or a language.
    let is_code = name.eq_ignore_ascii_case("code");
    let is_marked = |word: &str| {
        SECRET_WORDS.contains(&word) || SECRET_ENDINGS.iter().any(|end| word.ends_with(end))
    };
    is_code || in_words(name).split(' ').any(is_marked)
}

/// Returns a name in lower case, with a space before each capital letter that follows a small one,
/// and in the place of each character that is neither a letter nor a digit.
fn in_words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    let mut follows_small = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (follows_small && letter.is_uppercase()) {
            words.push(' ');
        }
        if letter.is_alphanumeric() {
            words.extend(letter.to_lowercase());
        }
        follows_small = letter.is_lowercase();
    }
    words
}

/// Decodes `%` and two hexadecimal digits.
fn percent_decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let decoded = part.split_at_checked(2).and_then(|(digits, rest)| {
            u8::from_str_radix(digits, 16).ok().map(|byte| (byte, rest))
        });
        let (byte, rest) = decoded.unwrap_or((b'%', part));
        bytes.push(byte);
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::NetworkRequest;

    #[test]
    fn url_of_a_request_contains_no_secret() {
        for (url, clean) in [
            ("https://h/v1/a?q=seats&page=2", "https://h/v1/a?q=seats&page=2"),
            ("https://me:p%40ss@h:80/a@b", "https://h:80/a@b"),
            ("https://me:p@ss@h", "https://h"),
            ("https:\\\\me:pass@h\\a", "https:\\\\h\\a"),
            ("https:/me:pass@h/a", "https:/h/a"),
            ("//me@h/a", "//h/a"),
            ("/a@b/c", "/a@b/c"),
            ("a/b@c", "a/b@c"),
            ("mailto:ada@h", "mailto:ada@h"),
            ("https://h?a@b", "https://h?[redacted]"),
            ("https://h/a#token=1", "https://h/a"),
            ("https://me:p@h?next=x@y", "https://h?next=x@y"),
            ("https://h?key=1&keyword=2", "https://h?key=[redacted]&keyword=2"),
            ("https://h?api%5Fkey=1;%6Bey=2", "https://h?api%5Fkey=[redacted];%6Bey=[redacted]"),
            ("https://h?accessToken=a%26b&n=1", "https://h?accessToken=[redacted]&n=1"),
            ("https://h?X-Amz-Signature=a=b", "https://h?X-Amz-Signature=[redacted]"),
            (
                "https://h?accesstoken=1&APIKEY=2",
                "https://h?accesstoken=[redacted]&APIKEY=[redacted]",
            ),
            ("https://h?auth[pw]=1&%zz=1&%é=1", "https://h?auth[pw]=[redacted]&%zz=1&%é=1"),
            ("https://h?code=1&lang_code=2", "https://h?code=[redacted]&lang_code=2"),
            ("https://h?key=&&=v", "https://h?key=&&=v"),
            ("https://h?s3cr3t", "https://h?[redacted]"),
            ("", ""),
        ] {
            assert_eq!(NetworkRequest::new("GET", url).url, clean, "{url}");
        }
    }
}
