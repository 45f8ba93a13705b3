//! How a server is reached: by a program, by streams or over HTTP.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "client")]
use reqwest::Url;
use serde_json::Value;

use crate::client::challenge::Authorizer;
use crate::client::connect::secrets::Secrets;
use crate::client::wire::BoxFuture;
#[cfg(feature = "client")]
use crate::client::wire::http::{HttpConnector, HttpTarget};
use crate::client::wire::stdio::{BoxReader, BoxWriter};

/// Opens a pair of streams.
pub(crate) type OpenStreams =
    dyn Fn() -> BoxFuture<'static, std::io::Result<(BoxReader, BoxWriter)>> + Send + Sync;

/// How a server is reached.
#[derive(Clone)]
pub(crate) enum Target {
    Process(ProcessTarget),
    Streams(Arc<OpenStreams>),
    #[cfg(feature = "client")]
    Http {
        target: HttpTarget,
        connector: Arc<dyn HttpConnector>,
    },
}

impl Target {
    /// Returns what answers the challenges of the server.
    pub(crate) fn authorizer(&self) -> Option<Arc<dyn Authorizer>> {
        match self {
            #[cfg(feature = "client")]
            Self::Http { connector, .. } => connector.authorizer(),
            _ => None,
        }
    }

    /// Returns the secrets that the server received, with the tokens of an authorization so far.
    pub(crate) fn secrets(&self) -> Secrets {
        match self {
            Self::Process(target) => target.secrets(),
            Self::Streams(_) => Secrets::default(),
            #[cfg(feature = "client")]
            Self::Http { target, connector } => {
                Secrets::of_request(&target.url, target.bearer.as_deref(), &target.headers)
                    .and(connector.secrets())
            }
        }
    }

    /// Returns the identity of the server, to which its pins belong: the command line of a program
    /// with its folder, or an address. `None` for streams, which may lead anywhere.
    ///
    /// Secrets are not part of it: they change, and stores are read by people.
    pub(crate) fn identity(&self) -> Option<String> {
        match self {
            Self::Process(target) => Some(target.identity()),
            Self::Streams(_) => None,
            #[cfg(feature = "client")]
            Self::Http { target, .. } => Some(address(&target.url)),
        }
    }
}

/// A program that is a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessTarget {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) inherits_environment: bool,
    pub(crate) folder: Option<PathBuf>,
}

impl ProcessTarget {
    /// Returns the secrets that the program receives.
    pub(crate) fn secrets(&self) -> Secrets {
        let inherited = self.inherits_environment.then(std::env::vars_os);
        Secrets::of_program(&self.arguments, &self.environment, inherited.into_iter().flatten())
    }

    /// Returns the words of the command line as JSON, and the folder.
    fn identity(&self) -> String {
        let secrets = Secrets::of_program(&self.arguments, &[], []);
        let words = std::iter::once(&self.program).chain(&self.arguments);
        let words: Vec<_> = words.map(|word| secrets.redact(&word.to_string_lossy())).collect();
        let words = Value::from(words);
        match &self.folder {
            Some(folder) => format!("{words} in {}", folder.display()),
            None => words.to_string(),
        }
    }
}

/// Returns the address of a URL in one spelling: without credentials, query and fragment, which do
/// not select the server, and without a slash at the end.
#[cfg(feature = "client")]
fn address(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return url.to_owned() };
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let mut path = String::new();
    for segment in url.path().split('/').filter(|segment| !segment.is_empty()) {
        path.push('/');
        path.push_str(&decode_unreserved(segment));
    }
    format!("{}://{host}{port}{path}", url.scheme())
}

/// Decodes what needs no percent-encoding (RFC 3986, section 6.2.2).
#[cfg(feature = "client")]
fn decode_unreserved(segment: &str) -> String {
    let mut parts = segment.split('%');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        match code.map(char::from) {
            Some(c) if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~') => {
                decoded.push(c);
                decoded.push_str(part.get(2..).unwrap_or_default());
            }
            Some(_) => {
                let (code, rest) = part.split_at(2);
                decoded.push('%');
                decoded.push_str(&code.to_ascii_uppercase());
                decoded.push_str(rest);
            }
            None => {
                decoded.push('%');
                decoded.push_str(part);
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(program: &str, arguments: &[&str]) -> ProcessTarget {
        let arguments = arguments.iter().map(OsString::from).collect();
        ProcessTarget { program: program.into(), arguments, ..ProcessTarget::default() }
    }

    #[test]
    fn identity_of_a_program_is_its_command_line_without_secrets() {
        let mut target = program("npx", &["-y", "docs", "--token", "hunter22"]);
        assert_eq!(target.identity(), r#"["npx","-y","docs","--token","[redacted]"]"#);
        assert_eq!(
            target.identity(),
            program("npx", &["-y", "docs", "--token", "hunter33"]).identity()
        );
        target.environment.push(("KEY".into(), "docs".into()));
        assert_eq!(target.identity(), r#"["npx","-y","docs","--token","[redacted]"]"#);
        target.folder = Some("/srv".into());
        assert_eq!(target.identity(), r#"["npx","-y","docs","--token","[redacted]"] in /srv"#);
        for (left, right) in [
            (program("a", &["b c"]), program("a", &["b", "c"])),
            (program("a", &["b"]), program("a b", &[])),
            (program("a", &["b\",\"c"]), program("a", &["b", "c"])),
            (program("a", &[]), program("a", &[""])),
        ] {
            assert_ne!(left.identity(), right.identity());
        }
    }

    #[cfg(feature = "client")]
    #[test]
    fn spellings_of_one_address_are_one_server() {
        for url in [
            "https://mcp.example/mcp",
            "https://mcp.example/mcp/",
            "https://mcp.example//mcp",
            "https://MCP.example:443/mcp",
            "https://mcp.example./mcp",
            "https://mcp.example/a/../mcp",
            "https://mcp.example/./%6dcp",
            "https://mcp.example/mcp?key=hunter22",
            "https://mcp.example/mcp#top",
            "https://ada:hunter22@mcp.example/mcp",
            "HTTPS:mcp.example/mcp",
        ] {
            assert_eq!(address(url), "https://mcp.example/mcp", "{url}");
        }
        for url in [
            "http://mcp.example/mcp",
            "https://mcp.example:444/mcp",
            "https://mcp.example/mcp2",
            "https://mcp.example/a/mcp",
            "https://mcp.example/mcp%2F",
            "https://mcp.example",
            "https://mcp.example.evil/mcp",
            "https://mcp.example@evil/mcp",
        ] {
            assert_ne!(address(url), "https://mcp.example/mcp", "{url}");
        }
        assert_eq!(address("https://a/%c3%A9%zz%"), "https://a/%C3%A9%zz%");
    }
}
