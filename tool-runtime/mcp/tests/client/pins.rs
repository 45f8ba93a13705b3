//! Stores for pinned definitions conform to their contract.

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use tool_mcp::{
    MemoryPins, PinFile, PinStore, PinnedDefinition, Pins, RecordPins, pin_conformance,
};
use tool_runtime::async_trait;
use tool_runtime::records::{Expected, FileRecords, MemoryRecords, RecordQuery, Records};
use tool_runtime::store::Sqlite;

/// A temporary folder, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tool-mcp-pin-stores-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pins_in_memory_and_in_files_conform_to_the_contract() {
    pin_conformance::check(|| async { MemoryPins::new() }).await.unwrap();
    let folders = Mutex::new(Vec::new());
    let open = || {
        let folder = Folder::new();
        let file = PinFile::new(folder.0.join("pins.json"));
        folders.lock().unwrap().push(folder);
        file
    };
    pin_conformance::check(|| async { open() }).await.unwrap();
    let memory = MemoryPins::new();
    pin_conformance::check_handles(memory.clone(), memory).await.unwrap();
    let file = open();
    pin_conformance::check_handles(file.clone(), file).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pins_in_records_conform_to_the_contract() {
    pin_conformance::check(|| async { RecordPins::new(MemoryRecords::new()) }).await.unwrap();
    let folder = Folder::new();
    let count = AtomicU32::new(0);
    let open = async |number: u32| {
        let file = Sqlite::open(folder.0.join(format!("{number}.db"))).await.unwrap();
        RecordPins::new(file.records().await.unwrap())
    };
    pin_conformance::check(|| open(count.fetch_add(1, Ordering::Relaxed))).await.unwrap();
    let [first, second] = [open(100).await, open(100).await];
    pin_conformance::check_handles(first, second).await.unwrap();
    let records = FileRecords::open(folder.0.join("records")).await.unwrap();
    let [first, second] = [records.clone(), records].map(RecordPins::new);
    pin_conformance::check_handles(first, second).await.unwrap();
}

#[tokio::test]
async fn pins_of_many_large_tools_are_kept_and_altered_ones_are_an_error() {
    let store = MemoryRecords::new();
    let pins = RecordPins::new(store.clone());
    let pin = |number: usize| {
        let definition = json!({ "description": "x".repeat(100_000 + number) });
        let name = format!("tool{number}");
        (name.clone(), PinnedDefinition::new(&name, definition))
    };
    let mut all: Pins = (0..30).map(pin).collect();
    let long_name = "server ".repeat(1_000);
    pins.save(&long_name, &all).await.unwrap();
    all.insert("tool0".to_owned(), pin(100).1);
    pins.save(&long_name, &all).await.unwrap();
    let loaded = pins.load(&long_name).await.unwrap();
    assert!(loaded == Some(all));
    assert_eq!(pins.count().await.unwrap(), 1);

    let parts = store.list("mcp_pins_parts", RecordQuery::all()).await.unwrap().records;
    assert!((12..16).contains(&parts.len()), "{}", parts.len());
    store.delete("mcp_pins_parts", &parts[3].key, Expected::Any).await.unwrap();
    let error = pins.load(&long_name).await.unwrap_err().to_string();
    assert!(error.contains("of its 12 parts are stored"), "{error}");
    let key = store.list("mcp_pins", RecordQuery::all()).await.unwrap().records[0].key.clone();
    store.save("mcp_pins", &key, Expected::Any, "[]", None).await.unwrap();
    let error = pins.load(&long_name).await.unwrap_err().to_string();
    assert!(error.contains("invalid"), "{error}");
    pins.delete(&long_name).await.unwrap();
    assert_eq!(pins.load(&long_name).await.unwrap(), None);
}

/// A defect of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    IgnoresCase,
    TrimsNames,
    MergesPins,
    DropsEmptyPins,
    DropsPinsOfOthers,
}

struct Defective(MemoryPins, Defect);

impl Defective {
    fn name(&self, server: &str) -> String {
        match self.1 {
            Defect::IgnoresCase => server.to_lowercase(),
            Defect::TrimsNames => server.trim_end().to_owned(),
            _ => server.to_owned(),
        }
    }
}

#[async_trait]
impl PinStore for Defective {
    async fn load(&self, server: &str) -> io::Result<Option<Pins>> {
        let pins = self.0.load(&self.name(server)).await?;
        Ok(pins.filter(|pins| self.1 != Defect::DropsEmptyPins || !pins.is_empty()))
    }

    async fn save(&self, server: &str, pins: &Pins) -> io::Result<()> {
        let mut all = pins.clone();
        match self.1 {
            Defect::MergesPins => {
                all.extend(self.0.load(server).await?.unwrap_or_default());
            }
            Defect::DropsPinsOfOthers if server == "docs" => {
                self.0.save("other", &Pins::new()).await?;
            }
            _ => {}
        }
        self.0.save(&self.name(server), &all).await
    }
}

#[tokio::test]
async fn suite_finds_each_defect() {
    for defect in [
        Defect::IgnoresCase,
        Defect::TrimsNames,
        Defect::MergesPins,
        Defect::DropsEmptyPins,
        Defect::DropsPinsOfOthers,
    ] {
        let open = || async { Defective(MemoryPins::new(), defect) };
        assert!(pin_conformance::check(open).await.is_err(), "{defect:?}");
    }
    let found = pin_conformance::check_handles(MemoryPins::new(), MemoryPins::new()).await;
    assert!(found.unwrap_err().to_string().contains("a handle sees at once"));
}
