use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;
use tool_runtime::async_trait;

use super::pins::{PinStore, Pins};

/// Keeps pinned definitions in a JSON file. Clones share it.
///
/// A change is written to a second file, which then replaces the first. Several processes should
/// not write to one file at once: the last one wins.
///
/// ```
/// use tool_mcp::{McpClient, PinFile};
///
/// let client = McpClient::stdio("my-server").pins(PinFile::new("mcp-pins.json"));
/// # let _ = client;
/// ```
#[derive(Clone, Debug)]
pub struct PinFile {
    path: Arc<Path>,
    /// Held from reading to writing.
    writing: Arc<Mutex<()>>,
}

type Servers = BTreeMap<String, Pins>;

impl PinFile {
    /// Uses the file with this path, which is created when the first definitions are pinned.
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
}

fn read(path: &Path) -> io::Result<Servers> {
    match std::fs::read(path) {
        Ok(json) => Ok(serde_json::from_slice(&json)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Servers::new()),
        Err(error) => Err(error),
    }
}

#[async_trait]
impl PinStore for PinFile {
    async fn load(&self, server: &str) -> io::Result<Option<Pins>> {
        let server = server.to_owned();
        self.blocking(move |path| Ok(read(path)?.remove(&server))).await
    }

    async fn save(&self, server: &str, pins: &Pins) -> io::Result<()> {
        let (server, pins) = (server.to_owned(), pins.clone());
        let _writing = self.writing.lock().await;
        self.blocking(move |path| {
            let mut servers = read(path)?;
            servers.insert(server, pins);
            let mut new = path.as_os_str().to_owned();
            new.push(".new");
            std::fs::write(&new, serde_json::to_vec_pretty(&servers)?)?;
            std::fs::rename(&new, path)
        })
        .await
    }
}
