use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;
use tool_core::async_trait;

use super::store::{StoredTokens, TokenStore};

/// Keeps tokens in a JSON file that, on Unix, only its owner can read. Clones share it.
///
/// The tokens are not encrypted. A change is written to a second file, which then replaces the
/// first. Do not let several processes write to one file: the last write replaces the others.
///
/// ```
/// use tool_runtime::mcp::{McpClient, OAuth, TokenFile};
///
/// let tokens = TokenFile::new("mcp-tokens.json");
/// let oauth = OAuth::client_credentials("reporter", "secret")
///     .issuer("https://auth.example.com")
///     .store(tokens);
/// let client = McpClient::http("https://example.com/mcp").oauth(oauth);
/// # let _ = client;
/// ```
#[derive(Clone, Debug)]
pub struct TokenFile {
    path: Arc<Path>,
    /// Held from reading to writing.
    writing: Arc<Mutex<()>>,
}

type Servers = BTreeMap<String, StoredTokens>;

impl TokenFile {
    /// Uses the file with this path, which is created when the first token is saved.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into().into(), writing: Arc::default() }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let path = Arc::clone(&self.path);
        tokio::task::spawn_blocking(move || work(&path)).await.map_err(io::Error::other)?
    }

    async fn change(&self, change: impl FnOnce(&mut Servers) + Send + 'static) -> io::Result<()> {
        let writing = Arc::clone(&self.writing).lock_owned().await;
        self.blocking(move |path| {
            // The work continues if the future is dropped.
            let _writing = writing;
            let mut servers = read(path)?;
            change(&mut servers);
            write(path, &serde_json::to_vec_pretty(&servers)?)
        })
        .await
    }
}

fn read(path: &Path) -> io::Result<Servers> {
    match std::fs::read(path) {
        Ok(json) => Ok(serde_json::from_slice(&json)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Servers::new()),
        Err(error) => Err(error),
    }
}

fn write(path: &Path, json: &[u8]) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    // One that is left over may be readable by others.
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    file.write_all(json)?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

#[async_trait]
impl TokenStore for TokenFile {
    async fn load(&self, server: &str) -> io::Result<Option<StoredTokens>> {
        let server = server.to_owned();
        self.blocking(move |path| Ok(read(path)?.remove(&server))).await
    }

    async fn save(&self, server: &str, tokens: &StoredTokens) -> io::Result<()> {
        let (server, tokens) = (server.to_owned(), tokens.clone());
        self.change(move |servers| drop(servers.insert(server, tokens))).await
    }

    async fn remove(&self, server: &str) -> io::Result<()> {
        let server = server.to_owned();
        self.change(move |servers| drop(servers.remove(&server))).await
    }
}
