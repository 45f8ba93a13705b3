//! Records in files: lines that can't be read, and links.

use std::path::PathBuf;
use std::{env, fs, process};

use tool_runtime::records::{Expected, FileRecords, RecordQuery, Records, StoreError};

/// A store with the records `a`, `b` and `c` in the collection `notes`.
struct Notes {
    folder: PathBuf,
    store: FileRecords,
}

impl Notes {
    async fn new(test: &str) -> Self {
        let folder = env::temp_dir().join(format!("records-{test}-{}", process::id()));
        let store = FileRecords::open(&folder).await.unwrap();
        for (key, order) in [("a", 1), ("b", 2), ("c", 3)] {
            store.save("notes", key, Expected::Absent, key, Some(order)).await.unwrap();
        }
        Self { folder, store }
    }

    fn text(&self) -> String {
        fs::read_to_string(self.folder.join("notes.jsonl")).unwrap()
    }

    fn replace(&self, from: &str, to: &str) {
        let text = self.text();
        assert!(text.contains(from), "{text}");
        fs::write(self.folder.join("notes.jsonl"), text.replace(from, to)).unwrap();
    }

    /// Returns the key of the corrupt record.
    async fn corrupt_key(&self) -> String {
        let list = self.store.list("notes", RecordQuery::all()).await.unwrap();
        assert_eq!(list.corrupt.len(), 1, "{list:?}");
        list.corrupt[0].key.clone()
    }

    async fn is_corrupt(&self, key: &str) -> bool {
        match self.store.load("notes", key).await {
            Ok(_) => false,
            Err(StoreError::Corrupt { key: corrupt, .. }) => {
                assert_eq!(corrupt, key);
                true
            }
            Err(error) => panic!("{error}"),
        }
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test]
async fn damaged_line_with_a_readable_key_affects_only_that_key() {
    let notes = Notes::new("key").await;
    notes.replace("\"value\":\"b\"}", "\"val");
    assert!(notes.is_corrupt("b").await);
    for (key, is_stored) in [("a", true), ("c", true), ("missing", false)] {
        let record = notes.store.load("notes", key).await.unwrap();
        assert_eq!(record.is_some(), is_stored, "{key}");
    }
    let list = notes.store.list("notes", RecordQuery::all().order_up_to(2)).await.unwrap();
    let [corrupt] = &list.corrupt[..] else { panic!("{list:?}") };
    assert_eq!((corrupt.key.as_str(), corrupt.revision, corrupt.order), ("b", 2, Some(2)));
    assert!(corrupt.reason.starts_with("line 3 of its file: "), "{}", corrupt.reason);
    // Writes of others keep the line byte for byte.
    notes.store.save("notes", "new", Expected::Absent, "", None).await.unwrap();
    assert!(notes.text().contains("{\"key\":\"b\",\"revision\":2,\"order\":2,\"val\n"));
}

#[tokio::test]
async fn damaged_line_without_a_readable_key_may_hide_any_missing_key() {
    let notes = Notes::new("hidden").await;
    notes.replace("{\"key\":\"b\"", "{\"ke#");
    for (key, is_corrupt) in [("a", false), ("b", true), ("c", false), ("missing", true)] {
        assert_eq!(notes.is_corrupt(key).await, is_corrupt, "{key}");
    }
    let store = &notes.store;
    for expected in [Expected::Absent, Expected::Revision(2)] {
        let saved = store.save("notes", "b", expected, "new", None).await;
        assert!(matches!(saved, Err(StoreError::Corrupt { .. })), "{saved:?}");
    }
    let deleted = store.delete("notes", "b", Expected::Any).await;
    assert!(matches!(deleted, Err(StoreError::Corrupt { .. })), "{deleted:?}");
    // Other records can be changed, and a record can be written whatever is in the line.
    store.save("notes", "a", Expected::Revision(1), "new", None).await.unwrap();
    store.save("notes", "b", Expected::Any, "new", None).await.unwrap();
    assert!(!notes.is_corrupt("b").await && notes.is_corrupt("missing").await);
    // Its name does not change with its place in the file.
    let name = notes.corrupt_key().await;
    assert!(name.starts_with("damaged line "), "{name}");
    assert!(notes.is_corrupt(&name).await);
    store.delete("notes", "a", Expected::Any).await.unwrap();
    assert_eq!(notes.corrupt_key().await, name);
    store.delete("notes", &name, Expected::Any).await.unwrap();
    assert_eq!(store.load("notes", "missing").await.unwrap(), None);
    assert!(!notes.text().contains("{\"ke#"));
}

#[tokio::test]
async fn lines_that_lost_their_end_hide_both_keys() {
    let notes = Notes::new("joined").await;
    notes.replace("\"value\":\"a\"}\n", "\"value\":\"a\"}");
    for (key, is_corrupt) in [("a", true), ("b", true), ("c", false)] {
        assert_eq!(notes.is_corrupt(key).await, is_corrupt, "{key}");
    }
}

#[tokio::test]
async fn key_in_two_lines_is_corrupt() {
    let notes = Notes::new("repeated").await;
    notes.replace("{\"key\":\"c\"", "{\"key\":\"a\"");
    assert!(notes.is_corrupt("a").await && !notes.is_corrupt("b").await);
    assert_eq!(notes.store.load("notes", "c").await.unwrap(), None);
    let list = notes.store.list("notes", RecordQuery::all()).await.unwrap();
    assert_eq!((list.corrupt.len(), list.corrupt[0].revision), (1, 3));
    let before = notes.text();
    notes.store.save("notes", "new", Expected::Absent, "", None).await.unwrap();
    assert_eq!(notes.text().matches("\"key\":\"a\"").count(), 2, "{before}");
    notes.store.delete("notes", "a", Expected::Revision(3)).await.unwrap();
    assert_eq!(notes.store.load("notes", "a").await.unwrap(), None);
}

#[cfg(unix)]
#[tokio::test]
async fn links_in_the_place_of_files_are_not_written_through() {
    use std::os::unix::fs::symlink;

    let Notes { folder, store } = &Notes::new("links").await;
    let path = |name: &str| folder.join(name);
    symlink(path("elsewhere"), path("dangling.lock")).unwrap();
    let saved = store.save("dangling", "a", Expected::Any, "text", None).await;
    assert!(matches!(saved, Err(StoreError::Unavailable { .. })), "{saved:?}");
    assert!(!path("elsewhere").exists() && !path("dangling.jsonl").exists());

    symlink(path("elsewhere"), path("linked.jsonl")).unwrap();
    store.save("linked", "a", Expected::Any, "text", None).await.unwrap();
    assert!(!path("elsewhere").exists() && !path("linked.jsonl").is_symlink());
}
