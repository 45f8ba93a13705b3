//! Adding of the files of a folder.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::Knowledge;
use super::document::{Document, DocumentFormat};
use super::error::KnowledgeError;
use super::index::AddReport;

/// The most bytes of a file. Larger ones hold data, not texts.
const MAX_FILE: u64 = 4 << 20;

/// The number of documents that are read ahead.
const AHEAD: usize = 64;

/// The number of records that are listed at once.
const PAGE: usize = 1_000;

/// The name of the metadata with the folder that a document was read from.
const FOLDER: &str = "folder";

/// The result of [`Knowledge::add_folder`]: what was added, removed and skipped.
///
/// ```
/// use tool_toolbox::knowledge::FolderReport;
///
/// assert!(FolderReport::default().skipped.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FolderReport {
    /// The documents that were added.
    pub added: AddReport,
    /// The documents that were removed, because their files are gone.
    pub removed: usize,
    /// The files that could not be added, with the reasons.
    pub skipped: Vec<(PathBuf, String)>,
}

impl Knowledge {
    /// Adds the text files of a folder for a tenant, and removes documents whose files are gone.
    ///
    /// The source of a document is the path within the folder, with `/` between names. Files with
    /// an unknown extension, hidden files, and files that are ignored by git are left out. Links
    /// are not followed.
    ///
    /// # Errors
    /// Returns an error if the folder can't be read, or if the store or the embedder fails. A file
    /// that can't be read is [skipped](FolderReport::skipped).
    ///
    /// ```
    /// use tool_runtime::store::Sqlite;
    /// use tool_toolbox::knowledge::{Knowledge, SqliteDocuments};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("knowledge-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// std::fs::write(folder.join("leave.md"), "# Leave\n\nEveryone has 30 days.")?;
    /// let knowledge = Knowledge::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
    /// assert_eq!(knowledge.add_folder(&folder, "").await?.added.new, 1);
    ///
    /// std::fs::remove_file(folder.join("leave.md"))?;
    /// assert_eq!(knowledge.add_folder(&folder, "").await?.removed, 1);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn add_folder(
        &self,
        folder: impl AsRef<Path>,
        tenant: &str,
    ) -> Result<FolderReport, KnowledgeError> {
        let path = folder.as_ref().to_owned();
        let folder = fs::canonicalize(&path)
            .and_then(|folder| fs::read_dir(&folder).map(|_| folder))
            .map_err(|source| KnowledgeError::Folder { path, source })?;
        let name = folder.to_string_lossy().into_owned();
        let (sender, mut files) = mpsc::channel(AHEAD);
        let reading = spawn_blocking(move || read_files(&folder, &sender));
        let mut report = FolderReport::default();
        let mut sources = HashSet::new();
        let mut batch = Vec::new();
        loop {
            let file = files.recv().await;
            let is_last = file.is_none();
            match file {
                Some(Ok(document)) => {
                    sources.insert(document.source.clone());
                    batch.push(document.tenant(tenant).metadata(FOLDER, name.clone()));
                }
                Some(Err(skipped)) => report.skipped.push(skipped),
                None => {}
            }
            if is_last || batch.len() >= AHEAD {
                let added = self.add_all(std::mem::take(&mut batch)).await?;
                report.added.new += added.new;
                report.added.replaced += added.replaced;
                report.added.unchanged += added.unchanged;
                report.added.embedded_chunks += added.embedded_chunks;
            }
            if is_last {
                break;
            }
        }
        // A walk that panicked has not seen all files.
        if reading.await.is_ok() {
            report.removed = self.remove_missing(tenant, &name, &sources).await?;
        }
        Ok(report)
    }

    async fn remove_missing(
        &self,
        tenant: &str,
        folder: &str,
        sources: &HashSet<String>,
    ) -> Result<usize, KnowledgeError> {
        let mut missing = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store.list(tenant, "", after.as_deref(), PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.source.clone());
            let is_missing = |record: &super::DocumentRecord| {
                record.metadata.get(FOLDER) == Some(&Value::from(folder))
                    && !sources.contains(&record.source)
            };
            missing.extend(page.into_iter().filter(is_missing).map(|record| record.source));
        }
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        Ok(self.store.remove(tenant, &missing).await?)
    }
}

type FileResult = Result<Document, (PathBuf, String)>;

fn read_files(folder: &Path, files: &mpsc::Sender<FileResult>) {
    for entry in WalkBuilder::new(folder).require_git(false).sort_by_file_name(Ord::cmp).build() {
        let file = match entry {
            Ok(entry) if entry.file_type().is_some_and(|it| it.is_file()) => {
                match DocumentFormat::of_path(entry.path()) {
                    Some(format) => read_file(folder, entry.path(), format),
                    None => continue,
                }
            }
            Ok(_) => continue,
            Err(error) => Err((folder.to_owned(), error.to_string())),
        };
        // The receiver is gone if the program dropped the future.
        if files.blocking_send(file).is_err() {
            return;
        }
    }
}

fn read_file(folder: &Path, path: &Path, format: DocumentFormat) -> FileResult {
    let skipped = |reason: String| (path.to_owned(), reason);
    let len = fs::metadata(path).map_err(|error| skipped(error.to_string()))?.len();
    if len > MAX_FILE {
        return Err(skipped(format!("{len} bytes, more than {MAX_FILE}")));
    }
    let bytes = fs::read(path).map_err(|error| skipped(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| skipped("not UTF-8".into()))?;
    let relative = path.strip_prefix(folder).unwrap_or(path);
    let names: Vec<_> = relative.iter().map(|name| name.to_string_lossy()).collect();
    Ok(Document::new(names.join("/"), text, format))
}
