//! Stores of pins conform, and the suite finds each defect of a store.

use std::io;
use std::path::PathBuf;

use tool_conformance::pins::{check, check_handles};
use tool_runtime::async_trait;
use tool_runtime::mcp::{FilePins, MemoryPins, PinStore, Pins, RecordPins};
use tool_runtime::records::{FileRecords, MemoryRecords};
use tool_runtime::store::Sqlite;

use crate::{Folder, assert_found};

async fn open(path: PathBuf) -> RecordPins {
    RecordPins::new(Sqlite::open(path).await.unwrap().records().await.unwrap())
}

#[tokio::test]
async fn pins_in_memory_and_in_files_conform() {
    assert_eq!(check(|| async { MemoryPins::new() }).await, []);
    let memory = MemoryPins::new();
    assert_eq!(check_handles(memory.clone(), memory).await, []);
    let folder = Folder::new();
    assert_eq!(check(|| async { FilePins::new(folder.next()) }).await, []);
    let file = FilePins::new(folder.next());
    assert_eq!(check_handles(file.clone(), file).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pins_in_records_conform() {
    assert_eq!(check(|| async { RecordPins::new(MemoryRecords::new()) }).await, []);
    let folder = Folder::new();
    assert_eq!(check(|| open(folder.next())).await, []);
    let path = folder.next();
    assert_eq!(check_handles(open(path.clone()).await, open(path).await).await, []);
    let records = FileRecords::open(folder.next()).await.unwrap();
    let [first, second] = [records.clone(), records].map(RecordPins::new);
    assert_eq!(check_handles(first, second).await, []);
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
            Defect::MergesPins => all.extend(self.0.load(server).await?.unwrap_or_default()),
            Defect::DropsPinsOfOthers if server == "docs" => {
                self.0.save("other", &Pins::new()).await?;
            }
            _ => {}
        }
        self.0.save(&self.name(server), &all).await
    }
}

#[tokio::test]
async fn suite_finds_each_defect_of_a_store_of_pins() {
    const UNKNOWN: &str = "an unknown server has no pins";
    const REPLACED: &str = "a save replaces all pins of its server";
    const OTHERS: &str = "a save leaves other servers unchanged";
    for (defect, rule) in [
        (Defect::IgnoresCase, UNKNOWN),
        (Defect::TrimsNames, UNKNOWN),
        (Defect::MergesPins, REPLACED),
        (Defect::DropsEmptyPins, REPLACED),
        (Defect::DropsPinsOfOthers, OTHERS),
    ] {
        let found = check(|| async { Defective(MemoryPins::new(), defect) }).await;
        assert_found(&found, rule, &format!("{defect:?}"));
    }
    let found = check_handles(MemoryPins::new(), MemoryPins::new()).await;
    assert_found(&found, "a handle sees at once what another one saves", "two stores");
}
