//! Records in files: `lines.rs` is the format of a collection, and `damage.rs` decodes what it can
//! of lines that can't be read.

mod damage;
mod lines;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::task::spawn_blocking;
use tool_http::replace_private_file;

use super::{Expected, Record, RecordList, RecordQuery, Records, StoreError, check_sizes};
use lines::Collection;

/// Keeps records in a folder: a file of JSON lines for each collection.
///
/// For programs with a few hundred records: each write replaces the file of its collection, and
/// each list reads it. Several processes on one machine may use one folder. They see each other's
/// changes within a quarter of a second. The folder must not be on a network file system. On Unix,
/// only the user of the process can read the files. A link in the place of a file is not written
/// through, but the folder itself may be a link: choose one that no model can change.
///
/// A write that has returned is on the disk. A write that is killed is done completely or not at
/// all.
///
/// **Damage.** A line that can't be read is listed as corrupt, and stays in the file until its
/// record is replaced or deleted. If its key can be read, only that record is affected. Otherwise
/// the record of any key may be in the line. Loading a key that is in no other line then returns an
/// error instead of `None`; deleting it, or saving it with another expectation than
/// [`Expected::Any`], returns an error, too. Such a line is listed under a generated key,
/// `damaged line …`, by which it can be deleted. A damaged first line affects the whole collection.
///
/// ```
/// use tool_runtime::records::{Expected, FileRecords, Records};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
/// # let folder = std::env::temp_dir().join(format!("records-{}", std::process::id()));
/// let store = FileRecords::open(&folder).await?;
/// store.save("notes", "ada", Expected::Any, "Buy milk", None).await?;
///
/// let file = std::fs::read_to_string(folder.join("notes.jsonl")).unwrap();
/// assert_eq!(
///     file,
///     "{\"version\":1,\"counter\":1}\n{\"key\":\"ada\",\"revision\":1,\"value\":\"Buy milk\"}\n",
/// );
/// # std::fs::remove_dir_all(folder).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FileRecords {
    folder: Arc<Path>,
}

impl FileRecords {
    /// Opens a folder, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the folder can't be created.
    ///
    /// ```
    /// use tool_runtime::records::{FileRecords, RecordQuery, Records};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// # let folder = std::env::temp_dir().join(format!("opened-{}", std::process::id()));
    /// let store = FileRecords::open(&folder).await?;
    /// assert!(store.list("notes", RecordQuery::all()).await?.records.is_empty());
    /// # std::fs::remove_dir_all(folder).unwrap();
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(folder: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let folder: Arc<Path> = folder.into().into();
        let created = Arc::clone(&folder);
        in_background(move || create_folder(&created).map_err(StoreError::unavailable)).await?;
        Ok(Self { folder })
    }

    /// Changes a collection if the record is as expected, and returns the revision.
    async fn write(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        record: Option<Record>,
    ) -> Result<u64, StoreError> {
        let (path, name, key) = (self.path(collection), collection.to_owned(), key.to_owned());
        in_background(move || {
            // Until the end of this operation, also against other processes.
            let _lock = lock(&path.with_extension("lock")).map_err(StoreError::unavailable)?;
            let mut collection = read(&path, &name)?;
            let revision = collection.change(&key, expected, record)?;
            let bytes = collection.encode().map_err(StoreError::unavailable)?;
            replace_private_file(&path, &bytes).map_err(StoreError::unavailable)?;
            Ok(revision)
        })
        .await
    }

    /// Returns the file of a collection. Its name is a valid one on every system, and differs from
    /// others also where the case of letters is ignored.
    fn path(&self, collection: &str) -> PathBuf {
        let mut name = String::new();
        for byte in collection.bytes() {
            match byte {
                b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
                _ => name.push_str(&format!("%{byte:02x}")),
            }
        }
        self.folder.join(name + ".jsonl")
    }
}

async fn in_background<T: Send + 'static>(
    operation: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    spawn_blocking(operation).await.map_err(StoreError::unavailable)?
}

/// Creates a folder that only this user can read.
fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Locks a file that only this user can read, and creates it if it does not exist. The lock ends
/// when the file is dropped.
fn lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // A new file is created only where no link is, which could lead elsewhere.
    let file = match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => options.open(path)?,
        created => created?,
    };
    file.lock()?;
    Ok(file)
}

fn read(path: &Path, collection: &str) -> Result<Collection, StoreError> {
    match fs::read(path) {
        Ok(bytes) => Collection::decode(&bytes, collection),
        Err(error) if is_missing(&error) => Ok(Collection::default()),
        Err(error) => Err(StoreError::unavailable(error)),
    }
}

/// Returns whether there is no file. No file can have a name that is longer than the system allows.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidFilename)
}

/// Reads the first line of a file.
fn read_counter(path: &Path, collection: &str) -> Result<u64, StoreError> {
    let read = || {
        let mut first = Vec::new();
        BufReader::new(File::open(path)?).read_until(b'\n', &mut first)?;
        io::Result::Ok(first)
    };
    match read() {
        Ok(first) => Ok(Collection::decode(&first, collection)?.counter),
        Err(error) if is_missing(&error) => Ok(0),
        Err(error) => Err(StoreError::unavailable(error)),
    }
}

#[async_trait]
impl Records for FileRecords {
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError> {
        let (path, name, key) = (self.path(collection), collection.to_owned(), key.to_owned());
        in_background(move || read(&path, &name)?.load(&key)).await
    }

    async fn save(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: &str,
        order: Option<i64>,
    ) -> Result<u64, StoreError> {
        check_sizes(collection, key, value)?;
        let record = Record::new(key, 0, value).order(order);
        self.write(collection, key, expected, Some(record)).await
    }

    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError> {
        check_sizes(collection, key, "")?;
        self.write(collection, key, expected, None).await
    }

    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError> {
        let (path, name) = (self.path(collection), collection.to_owned());
        if query.limit == Some(0) {
            let counter = in_background(move || read_counter(&path, &name)).await?;
            return Ok(RecordList::new(counter, Vec::new()));
        }
        Ok(in_background(move || read(&path, &name)).await?.list(&query))
    }
}
