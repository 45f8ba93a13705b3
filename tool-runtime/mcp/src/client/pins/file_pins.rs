use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;
use tool_core::__workspace::replace_file;
use tool_core::async_trait;

use crate::client::pins::{PinStore, Pins};

/// Keeps pinned definitions in a JSON file. Clones share it.
///
/// A change is written to a second file, which then replaces the first. When a save returns, the
/// change is on disk. A link in its place is replaced, but its folder may be a link: choose one
/// that no model can change. Do not let several processes write to one file: the last write
/// replaces the others.
///
/// ```
/// use tool_runtime::mcp::{McpClient, FilePins};
///
/// let client = McpClient::stdio("my-server").pin_store(FilePins::new("mcp-pins.json"));
/// # let _ = client;
/// ```
#[derive(Clone, Debug)]
pub struct FilePins {
    path: Arc<Path>,
    /// Held from reading to writing.
    writing: Arc<Mutex<()>>,
}

type Servers = BTreeMap<String, Pins>;

impl FilePins {
    /// Uses the file with this path, which is created when the first definitions are pinned.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into().into(), writing: Arc::default() }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let path = Arc::clone(&self.path);
        let work = move || {
            work(&path).map_err(|error| {
                io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
            })
        };
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
    }
}

fn read(path: &Path) -> io::Result<Servers> {
    match fs::read(path) {
        Ok(json) => serde_json::from_slice(&json).map_err(|error| {
            let text = format!(
                "this is no file of pinned definitions: {error}. Restore it; if you delete it, the \
                 definitions that the servers have now are pinned"
            );
            io::Error::new(io::ErrorKind::InvalidData, text)
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Servers::new()),
        Err(error) => Err(error),
    }
}

#[async_trait]
impl PinStore for FilePins {
    async fn load(&self, server: &str) -> io::Result<Option<Pins>> {
        let server = server.to_owned();
        self.blocking(move |path| Ok(read(path)?.remove(&server))).await
    }

    async fn save(&self, server: &str, pins: &Pins) -> io::Result<()> {
        let (server, pins) = (server.to_owned(), pins.clone());
        let writing = Arc::clone(&self.writing).lock_owned().await;
        self.blocking(move |path| {
            // The work continues if the future is dropped.
            let _writing = writing;
            let mut servers = read(path)?;
            servers.insert(server, pins);
            replace_file(path, &serde_json::to_vec_pretty(&servers)?)
        })
        .await
    }
}
