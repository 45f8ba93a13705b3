//! The stores pass the conformance suite, and the suite finds stores that violate the contract.

use std::sync::Mutex;

use tool_dynamic::catalog::{
    CatalogRecord, CatalogRecords, CatalogStore, MemoryCatalog, SqliteCatalog, conformance,
};
use tool_dynamic::{Catalog, CatalogError};
use tool_runtime::async_trait;
use tool_runtime::store::Sqlite;

use super::fixture::{Folder, spec};

async fn open(folder: &Folder) -> SqliteCatalog {
    SqliteCatalog::open(&Sqlite::open(folder.file()).await.unwrap()).await.unwrap()
}

#[tokio::test]
async fn stores_conform_to_the_contract() {
    conformance::check(|| async { MemoryCatalog::new() }).await.unwrap();
    conformance::check(|| async {
        SqliteCatalog::open(&Sqlite::in_memory().unwrap()).await.unwrap()
    })
    .await
    .unwrap();
    let folders = Mutex::new(Vec::new());
    conformance::check(|| async {
        let folder = Folder::new();
        let store = open(&folder).await;
        folders.lock().unwrap().push(folder);
        store
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handles_of_one_store_conform_to_the_contract() {
    let memory = MemoryCatalog::new();
    conformance::check_handles(memory.clone(), memory).await.unwrap();
    let folder = Folder::new();
    conformance::check_handles(open(&folder).await, open(&folder).await).await.unwrap();
}

/// A defect of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    IgnoresRevisions,
    CreatesTwice,
    DeletesAnyRevision,
    IgnoresCase,
    TruncatesContents,
    ListsBackwards,
    ListsOldRevision,
    SignalsAtOnce,
    CountsRefusedWrites,
    CountsWrites,
}

const DEFECTS: [Defect; 10] = [
    Defect::IgnoresRevisions,
    Defect::CreatesTwice,
    Defect::DeletesAnyRevision,
    Defect::IgnoresCase,
    Defect::TruncatesContents,
    Defect::ListsBackwards,
    Defect::ListsOldRevision,
    Defect::SignalsAtOnce,
    Defect::CountsRefusedWrites,
    Defect::CountsWrites,
];

#[derive(Debug)]
struct Defective(MemoryCatalog, Defect);

impl Defective {
    fn has(&self, defect: Defect) -> bool {
        self.1 == defect
    }

    fn name(&self, name: &str) -> String {
        if self.has(Defect::IgnoresCase) { name.to_lowercase() } else { name.to_owned() }
    }

    async fn stored(&self, kind: &str, name: &str) -> u64 {
        self.0.load(kind, name).await.unwrap().map_or(0, |record| record.revision)
    }
}

#[async_trait]
impl CatalogStore for Defective {
    async fn load(&self, kind: &str, name: &str) -> Result<Option<CatalogRecord>, CatalogError> {
        let mut record = self.0.load(kind, &self.name(name)).await?;
        if let Some(record) = record.as_mut().filter(|_| self.has(Defect::TruncatesContents)) {
            record.content = record.content.chars().take(5_000).collect();
        }
        Ok(record)
    }

    async fn save(&self, record: &CatalogRecord) -> Result<u64, CatalogError> {
        let mut record = record.clone();
        record.name = self.name(&record.name);
        let overwrites = match self.1 {
            Defect::IgnoresRevisions => record.revision > 0,
            Defect::CreatesTwice => record.revision == 0,
            _ => false,
        };
        if overwrites {
            record.revision = self.stored(&record.kind, &record.name).await;
        }
        let saved = self.0.save(&record).await;
        if saved.is_err() && self.has(Defect::CountsRefusedWrites) {
            self.0.save(&CatalogRecord::new("refused", &record.content, "")).await.ok();
        }
        saved
    }

    async fn delete(&self, kind: &str, name: &str, revision: u64) -> Result<u64, CatalogError> {
        let stored = self.stored(kind, name).await;
        let deletes_any = self.has(Defect::DeletesAnyRevision) && revision > 0;
        self.0.delete(kind, &self.name(name), if deletes_any { stored } else { revision }).await
    }

    async fn list(&self) -> Result<CatalogRecords, CatalogError> {
        let mut listed = self.0.list().await?;
        if self.has(Defect::ListsBackwards) {
            listed.records.reverse();
        }
        if self.has(Defect::ListsOldRevision) {
            listed.revision = listed.records.iter().map(|it| it.revision).max().unwrap_or(0);
        }
        Ok(listed)
    }

    async fn count(&self) -> Result<usize, CatalogError> {
        let count = self.0.count().await?;
        Ok(count + usize::from(self.has(Defect::CountsWrites)))
    }

    async fn revision(&self) -> Result<u64, CatalogError> {
        self.0.revision().await
    }

    async fn changed(&self, since: u64) -> Result<u64, CatalogError> {
        if self.has(Defect::SignalsAtOnce) {
            return self.revision().await;
        }
        self.0.changed(since).await
    }
}

#[tokio::test]
async fn suite_finds_each_defect() {
    for defect in DEFECTS {
        let found = conformance::check(|| async { Defective(MemoryCatalog::new(), defect) }).await;
        assert!(found.is_err(), "{defect:?}");
    }
}

#[tokio::test]
async fn handles_of_two_stores_violate_the_contract() {
    let found = conformance::check_handles(MemoryCatalog::new(), MemoryCatalog::new()).await;
    assert!(found.unwrap_err().to_string().contains("a handle sees at once"));
}

#[tokio::test]
async fn altered_record_is_reported_and_can_be_removed() {
    let folder = Folder::new();
    let catalog = Catalog::new(open(&folder).await);
    for name in ["add", "sub"] {
        catalog.create(name, spec(name, "1")).await.unwrap();
    }
    let file = Sqlite::open(folder.file()).await.unwrap();
    let tables = file.tables("test", &[]).await.unwrap();
    for (alteration, reason) in [
        ("UPDATE catalog SET content = '{' WHERE name = 'add'", "EOF"),
        ("UPDATE catalog SET content = '{\"versions\":[]}' WHERE name = 'add'", "no version"),
        ("UPDATE catalog SET kind = 'preference' WHERE name = 'sub'", "version 1 is a tool"),
        ("UPDATE catalog SET kind = 'worker' WHERE name = 'sub'", "a newer version"),
    ] {
        let altered = tables.write(move |it| it.execute(alteration, ())).await;
        assert_eq!(altered.unwrap(), 1);
        let skipped = catalog.contents().await.unwrap().skipped;
        let texts: Vec<_> = skipped.iter().map(|record| record.reason.as_str()).collect();
        assert!(texts.iter().any(|text| text.contains(reason)), "{texts:?}");
    }
    catalog.remove(&tool_dynamic::EntryId::tool("add")).await.unwrap();
    assert_eq!(catalog.contents().await.unwrap().skipped.len(), 1);
}
