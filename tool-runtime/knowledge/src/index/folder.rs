//! Adding of the files of a folder.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::AddReport;
use crate::Knowledge;
use crate::document::{Document, DocumentFormat};
use crate::error::KnowledgeError;
use crate::store::DocumentRecord;

/// The most bytes of a file. Larger ones hold data, not texts.
const MAX_FILE: u64 = 4 << 20;

/// The number of documents that are read ahead.
const AHEAD: usize = 64;

/// The number of records that are listed at once.
const PAGE: usize = 1_000;

/// The number of documents that are removed at once.
const PART: usize = 256;

/// The name of the metadata with the folder that a document was read from.
const FOLDER: &str = "folder";

/// The result of [`Knowledge::add_folder`]: what was added, removed and skipped.
///
/// ```
/// use tool_runtime::knowledge::FolderReport;
///
/// assert!(FolderReport::default().skipped.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FolderReport {
    /// The documents that were added.
    pub added: AddReport,
    /// The documents that were removed, because their files no longer exist or no longer contain
    /// text.
    pub removed: usize,
    /// The files and folders that could not be added, with the reasons.
    pub skipped: Vec<(PathBuf, String)>,
}

/// One result of the walk through a folder.
enum Found {
    Document(Document),
    /// A file that holds no text. The document that it was before is outdated.
    NoText(PathBuf, String),
    /// A file that can't be read now. The document of this source stays as it is.
    Unreadable(String, PathBuf, String),
    /// A folder whose files can't be listed now, so that no file is known to be gone.
    Unlisted(PathBuf, String),
}

impl Knowledge {
    /// Adds the text files of a folder for a tenant, and removes documents whose files no longer
    /// exist.
    ///
    /// The source of a document is the path within the folder, with `/` between names. Files with
    /// an unknown extension, hidden files, and files that are ignored by git are left out. Links
    /// are not followed.
    ///
    /// A file is [skipped](FolderReport::skipped) if it can't be read now, and its document stays.
    /// A file is also skipped if its source belongs to a document that was not read from this
    /// folder. To add folders with files of the same names, add a folder that contains both, or use
    /// two tenants. If a folder was moved, its documents belong to the new path.
    ///
    /// # Errors
    /// Returns an error if the folder can't be read, or if the store or the embedder fails.
    ///
    /// ```
    /// use tool_runtime::knowledge::{Knowledge, SqliteDocuments};
    /// use tool_runtime::store::Sqlite;
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
        let mut walk = WalkBuilder::new(&folder);
        let entries = walk.require_git(false).sort_by_file_name(Ord::cmp).build();
        self.add_entries(folder, entries, tenant).await
    }

    async fn add_entries(
        &self,
        folder: PathBuf,
        entries: impl Iterator<Item = Result<DirEntry, ignore::Error>> + Send + 'static,
        tenant: &str,
    ) -> Result<FolderReport, KnowledgeError> {
        let name = folder.to_string_lossy().into_owned();
        // Before the walk, which may not see the file of a document that is added meanwhile.
        let stored = self.sources_of(tenant, &name).await?;
        let (sender, mut files) = mpsc::channel(AHEAD);
        let reading = spawn_blocking(move || read_files(&folder, entries, &sender));
        let mut report = FolderReport::default();
        // Sources that are not known to be gone; `None` if a part of the folder was not seen.
        let mut present = Some(HashSet::new());
        let mut batch = Vec::new();
        loop {
            let file = files.recv().await;
            let is_last = file.is_none();
            match file {
                Some(Found::Document(document)) => {
                    present.as_mut().map(|it| it.insert(document.source.clone()));
                    batch.push(document.tenant(tenant).metadata(FOLDER, name.clone()));
                }
                Some(Found::Unreadable(source, path, reason)) => {
                    present.as_mut().map(|it| it.insert(source));
                    report.skipped.push((path, reason));
                }
                Some(Found::Unlisted(path, reason)) => {
                    present = None;
                    report.skipped.push((path, reason));
                }
                Some(Found::NoText(path, reason)) => report.skipped.push((path, reason)),
                None => {}
            }
            if is_last || batch.len() >= AHEAD {
                let batch = self.without_others(std::mem::take(&mut batch), &mut report).await?;
                let added = self.add_all(batch).await?;
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
        if let (Ok(()), Some(present)) = (reading.await, present) {
            let missing: Vec<&str> =
                stored.iter().filter(|it| !present.contains(*it)).map(String::as_str).collect();
            // Other writers wait for each of these parts, and not for all of them.
            for part in missing.chunks(PART) {
                report.removed += self.store.remove(tenant, part).await?;
            }
        }
        Ok(report)
    }

    /// Returns the documents of a batch that replace none of another origin, and reports the
    /// others.
    async fn without_others(
        &self,
        mut batch: Vec<Document>,
        report: &mut FolderReport,
    ) -> Result<Vec<Document>, KnowledgeError> {
        let stored = self.stored_records(&batch).await?;
        batch.retain(|document| {
            let key = (document.tenant.clone(), document.source.clone());
            let folder = document.metadata.get(FOLDER).and_then(Value::as_str);
            let Some(reason) = stored.get(&key).and_then(|it| other_origin(it, folder)) else {
                return true;
            };
            let path = folder.map(Path::new).unwrap_or_else(|| Path::new(""));
            report.skipped.push((path.join(&document.source), reason));
            false
        });
        Ok(batch)
    }

    /// Returns the sources of the documents that were read from a folder.
    async fn sources_of(&self, tenant: &str, folder: &str) -> Result<Vec<String>, KnowledgeError> {
        let mut sources = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store.list(tenant, "", after.as_deref(), PAGE).await?;
            let Some(last) = page.last() else { return Ok(sources) };
            after = Some(last.source.clone());
            let of_folder = page
                .into_iter()
                .filter(|record| record.metadata.get(FOLDER) == Some(&Value::from(folder)));
            sources.extend(of_folder.map(|record| record.source));
        }
    }
}

/// Returns why a document must not be replaced by one of a folder, if it is of another origin.
fn other_origin(stored: &DocumentRecord, folder: Option<&str>) -> Option<String> {
    match stored.metadata.get(FOLDER).and_then(Value::as_str) {
        None => Some("its source belongs to a document that was not read from a folder".into()),
        other if other == folder => None,
        // A folder that was moved has another path now.
        Some(other) if !Path::new(other).is_dir() => None,
        Some(other) => Some(format!("its source belongs to a document of the folder {other}")),
    }
}

fn read_files(
    folder: &Path,
    entries: impl Iterator<Item = Result<DirEntry, ignore::Error>>,
    files: &mpsc::Sender<Found>,
) {
    for entry in entries {
        let found = match entry {
            Ok(entry) if entry.file_type().is_some_and(|it| it.is_file()) => {
                match DocumentFormat::of_path(entry.path()) {
                    Some(format) => read_file(folder, entry.path(), format),
                    None => continue,
                }
            }
            Ok(_) => continue,
            Err(error) => Found::Unlisted(folder.to_owned(), error.to_string()),
        };
        // The receiver is gone if the program dropped the future.
        if files.blocking_send(found).is_err() {
            return;
        }
    }
}

fn read_file(folder: &Path, path: &Path, format: DocumentFormat) -> Found {
    let relative = path.strip_prefix(folder).unwrap_or(path);
    let names: Vec<_> = relative.iter().map(|name| name.to_string_lossy()).collect();
    let source = names.join("/");
    let bytes = match read_at_most(path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) => return Found::Unreadable(source, path.to_owned(), error.to_string()),
    };
    let Some(bytes) = bytes else {
        return Found::NoText(path.to_owned(), format!("more than {MAX_FILE} bytes"));
    };
    match String::from_utf8(bytes) {
        Ok(text) => Found::Document(Document::new(source, text, format)),
        Err(_) => Found::NoText(path.to_owned(), "not UTF-8".into()),
    }
}

/// Returns the content of a file, unless it is longer than `limit`.
fn read_at_most(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let len = fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(u64::try_from(len).is_ok_and(|len| len <= limit).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::{env, fs, io, process};

    use ignore::{DirEntry, WalkBuilder};
    use tokio::runtime::Handle;
    use tool_store::Sqlite;

    use crate::{Document, DocumentStore, FolderReport, Knowledge, SqliteDocuments};

    fn entries(folder: &Path) -> Vec<Result<DirEntry, ignore::Error>> {
        WalkBuilder::new(folder).sort_by_file_name(Ord::cmp).build().collect()
    }

    async fn add(
        knowledge: &Knowledge,
        folder: &Path,
        entries: Vec<Result<DirEntry, ignore::Error>>,
    ) -> FolderReport {
        let added = knowledge.add_entries(folder.to_owned(), entries.into_iter(), "");
        added.await.unwrap()
    }

    async fn sources(knowledge: &Knowledge) -> Vec<String> {
        let records = knowledge.store().list("", "", None, 99).await.unwrap();
        records.into_iter().map(|record| record.source).collect()
    }

    #[tokio::test]
    async fn document_stays_while_its_file_is_not_known_to_be_gone() {
        let folder = env::temp_dir().join(format!("knowledge-unreadable-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        for name in ["binary.txt", "gone.txt", "kept.txt", "unreadable.txt"] {
            fs::write(folder.join(name), name).unwrap();
        }
        let store = SqliteDocuments::open(&Sqlite::in_memory().unwrap()).await.unwrap();
        let knowledge = Knowledge::new(store);
        assert_eq!(add(&knowledge, &folder, entries(&folder)).await.added.new, 4);

        fs::remove_file(folder.join("gone.txt")).unwrap();
        fs::write(folder.join("binary.txt"), [0xff]).unwrap();
        let mut walk = entries(&folder);
        // Reading a folder as a file fails, even for a user who may read everything.
        fs::remove_file(folder.join("unreadable.txt")).unwrap();
        fs::create_dir(folder.join("unreadable.txt")).unwrap();
        walk.push(Err(ignore::Error::Io(io::Error::other("disk failed"))));
        let report = add(&knowledge, &folder, walk).await;
        assert_eq!((report.removed, report.skipped.len()), (0, 3), "{report:?}");
        assert_eq!(sources(&knowledge).await.len(), 4);

        // A complete walk: only the file is unreadable.
        fs::remove_dir(folder.join("unreadable.txt")).unwrap();
        fs::write(folder.join("unreadable.txt"), "").unwrap();
        let walk = entries(&folder);
        fs::remove_file(folder.join("unreadable.txt")).unwrap();
        fs::create_dir(folder.join("unreadable.txt")).unwrap();
        let report = add(&knowledge, &folder, walk).await;
        assert_eq!((report.removed, report.skipped.len()), (2, 2), "{report:?}");
        assert_eq!(sources(&knowledge).await, ["kept.txt", "unreadable.txt"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[tokio::test]
    async fn document_that_another_process_adds_meanwhile_stays() {
        let folder = env::temp_dir().join(format!("knowledge-meanwhile-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let store = SqliteDocuments::open(&Sqlite::in_memory().unwrap()).await.unwrap();
        let knowledge = Knowledge::new(store);
        let of_folder = |source: &str| {
            Document::text(source, "text").metadata("folder", folder.to_string_lossy())
        };
        knowledge.add(of_folder("gone.txt")).await.unwrap();
        let (other, runtime) = (knowledge.clone(), Handle::current());
        let mut added = Some(of_folder("new.txt"));
        let walk = std::iter::from_fn(move || {
            added.take().map(|document| runtime.block_on(other.add(document)).unwrap());
            None
        });
        let report = knowledge.add_entries(folder.clone(), walk, "").await.unwrap();
        assert_eq!(report.removed, 1);
        assert_eq!(sources(&knowledge).await, ["new.txt"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
