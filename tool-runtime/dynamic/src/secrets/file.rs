//! Secrets in a file that only its owner can read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tool_core::__workspace::replace_private_file;
use tool_core::async_trait;

use super::store::{Secret, SecretError, SecretStore, check_name};

/// Keeps secrets in a JSON file that, on Unix, only its owner can read. Clones share it.
///
/// The file is created with the mode 600, and a file that other users can access is refused. The
/// secrets are not encrypted. A change is written to a second file, which then replaces the first:
/// a crash leaves the old or the new secrets. Do not let several processes write to one file: the
/// last write replaces the others.
///
/// ```
/// use tool_runtime::dynamic::{FileSecrets, Secret, SecretStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = std::env::temp_dir().join(format!("secrets-{}.json", std::process::id()));
/// let secrets = FileSecrets::new(&path);
/// secrets.save("github", &Secret::new("ghp_1234")).await?;
/// let token = secrets.load("github").await?.expect("it was saved");
/// assert_eq!(token.expose(), "ghp_1234");
/// # std::fs::remove_file(path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FileSecrets {
    path: Arc<Path>,
    /// Locked from reading to writing.
    writing: Arc<Mutex<()>>,
}

type Values = BTreeMap<String, String>;

impl FileSecrets {
    /// Uses the file with this path, which is created when the first secret is saved.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into().into(), writing: Arc::default() }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, SecretError> + Send + 'static,
    ) -> Result<T, SecretError> {
        let path = Arc::clone(&self.path);
        spawn_blocking(move || work(&path)).await.map_err(SecretError::unavailable)?
    }

    async fn change(
        &self,
        change: impl FnOnce(&mut Values) + Send + 'static,
    ) -> Result<(), SecretError> {
        // Owned by the operation, which completes if its future is dropped.
        let writing = Arc::clone(&self.writing).lock_owned().await;
        self.blocking(move |path| {
            let _writing = writing;
            let mut values = read(path)?;
            change(&mut values);
            let json = serde_json::to_vec(&values).map_err(SecretError::unavailable)?;
            replace_private_file(path, &json).map_err(|error| failed(path, &error))
        })
        .await
    }
}

fn failed(path: &Path, error: &io::Error) -> SecretError {
    SecretError::unavailable(format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<Values, SecretError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Values::new()),
        Err(error) => return Err(failed(path, &error)),
    };
    // The opened file is checked: the path may lead to another one by now.
    check_mode(path, &file)?;
    let mut json = String::new();
    file.read_to_string(&mut json).map_err(|error| failed(path, &error))?;
    // The error of the parser would quote the values.
    serde_json::from_str(&json).map_err(|_| {
        let reason = "expected a JSON object whose values are texts";
        SecretError::unavailable(format!("{}: {reason}", path.display()))
    })
}

#[cfg(unix)]
fn check_mode(path: &Path, file: &File) -> Result<(), SecretError> {
    use std::os::unix::fs::PermissionsExt;

    let metadata = file.metadata().map_err(|error| failed(path, &error))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(SecretError::ExposedFile { path: path.to_owned(), mode })
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &File) -> Result<(), SecretError> {
    Ok(())
}

#[async_trait]
impl SecretStore for FileSecrets {
    async fn load(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        check_name(name)?;
        let name = name.to_owned();
        self.blocking(move |path| Ok(read(path)?.remove(&name).map(Secret::new))).await
    }

    async fn save(&self, name: &str, secret: &Secret) -> Result<(), SecretError> {
        check_name(name)?;
        let (name, value) = (name.to_owned(), secret.expose().to_owned());
        self.change(move |values| drop(values.insert(name, value))).await
    }

    async fn remove(&self, name: &str) -> Result<(), SecretError> {
        check_name(name)?;
        let name = name.to_owned();
        self.change(move |values| drop(values.remove(&name))).await
    }
}
