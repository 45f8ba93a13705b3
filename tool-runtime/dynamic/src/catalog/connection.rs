//! Connections to MCP servers, as a catalog stores them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A connection to an MCP server: its program or URL, and the names of the secrets that it needs.
///
/// A connection names its secrets; a [`SecretStore`](crate::SecretStore) has their values. The
/// arguments of a program and a URL are stored in clear: put no secret into them.
///
/// ```
/// use tool_runtime::dynamic::Connection;
///
/// let github = Connection::http("https://api.example.com/mcp").bearer("github");
/// let files = Connection::stdio("npx")
///     .args(["-y", "@modelcontextprotocol/server-filesystem", "/srv"])
///     .env("API_KEY", "files-key");
/// assert_eq!(files.secret_names().collect::<Vec<_>>(), ["files-key"]);
/// # drop(github);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Connection {
    /// The program or the URL of the server.
    pub target: ConnectionTarget,
    /// Names of secrets, by the environment variable of the program or the header of the requests
    /// that receives the secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, String>,
    /// The name of the secret that is sent as the bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer: Option<String>,
}

/// The program or the URL of an MCP server.
///
/// ```
/// use tool_runtime::dynamic::{Connection, ConnectionTarget};
///
/// let docs = Connection::http("http://127.0.0.1:3001/mcp");
/// assert!(matches!(docs.target, ConnectionTarget::Http { .. }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum ConnectionTarget {
    /// A program that is a server on its standard input and output.
    Stdio {
        /// The program, by its name on `PATH` or its path.
        program: String,
        /// The arguments of the program.
        arguments: Vec<String>,
        /// The working directory of the program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<PathBuf>,
    },
    /// A server at a URL, by Streamable HTTP.
    Http {
        /// The URL of the server.
        url: String,
    },
}

impl Connection {
    fn new(target: ConnectionTarget) -> Self {
        Self { target, secrets: BTreeMap::new(), bearer: None }
    }

    /// Creates a connection to a server that this program starts.
    pub fn stdio(program: impl Into<String>) -> Self {
        Self::new(ConnectionTarget::Stdio {
            program: program.into(),
            arguments: Vec::new(),
            folder: None,
        })
    }

    /// Creates a connection to a server at a URL.
    pub fn http(url: impl Into<String>) -> Self {
        Self::new(ConnectionTarget::Http { url: url.into() })
    }

    /// Adds arguments to the command line of the program. For a server at a URL, this has no
    /// effect.
    #[must_use]
    pub fn args<A: Into<String>>(mut self, added: impl IntoIterator<Item = A>) -> Self {
        if let ConnectionTarget::Stdio { arguments, .. } = &mut self.target {
            arguments.extend(added.into_iter().map(Into::into));
        }
        self
    }

    /// Sets the working directory of the program. For a server at a URL, this has no effect.
    #[must_use]
    pub fn current_dir(mut self, path: impl Into<PathBuf>) -> Self {
        if let ConnectionTarget::Stdio { folder, .. } = &mut self.target {
            *folder = Some(path.into());
        }
        self
    }

    /// Sets an environment variable of the program to a secret, by the name of the secret.
    #[must_use]
    pub fn env(mut self, variable: impl Into<String>, secret: impl Into<String>) -> Self {
        self.secrets.insert(variable.into(), secret.into());
        self
    }

    /// Sends a secret as a header with each request to the URL, by the name of the secret.
    #[must_use]
    pub fn header(self, header: impl Into<String>, secret: impl Into<String>) -> Self {
        self.env(header, secret)
    }

    /// Sends a secret as the bearer token with each request, by the name of the secret.
    #[must_use]
    pub fn bearer(self, secret: impl Into<String>) -> Self {
        Self { bearer: Some(secret.into()), ..self }
    }

    /// Returns the names of the secrets that the connection needs.
    pub fn secret_names(&self) -> impl Iterator<Item = &str> {
        self.secrets.values().chain(&self.bearer).map(String::as_str)
    }
}
