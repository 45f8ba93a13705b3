//! A secret appears neither in the file of the catalog nor in events, errors or states.

use std::fs;
use std::time::Duration;

use tool_dynamic::EntryId;
use tool_runtime::Registry;

use super::connections::{shell, start};
use super::fixture::{Folder, call, names, open, wait_until};

const CANARY: &str = "canary-4f9a2b7c";

fn has_canary(bytes: &[u8]) -> bool {
    bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secret_of_a_connection_leaves_no_trace() {
    let folder = Folder::new();
    let list = folder.path().join("list");
    // One of its tools has the secret in its name.
    fs::write(&list, format!("find crash get_{CANARY}")).unwrap();
    let registry = Registry::new();
    let catalog = open(&folder.file()).await;
    let (registrar, events) = start(&folder, catalog.clone(), &registry, CANARY).await;
    // The server repeats the secret in its descriptions, its results, and its errors.
    registrar.create("sh", shell(&list)).await.unwrap();
    let description = &registry.snapshot().definition("sh__find").unwrap().description.clone();
    assert!(description.contains(CANARY), "the server did not receive the secret: {description}");
    let id = EntryId::connection("sh");
    wait_until("the write of the definitions", || registrar.status(&id).is_some()).await;
    let stored = async {
        while catalog.entry(&id).await.unwrap().unwrap().definitions().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), stored).await.unwrap();
    let entry = catalog.entry(&id).await.unwrap().unwrap();
    assert!(entry.definitions()[0].description.contains("Needs [redacted]."), "{entry:?}");
    let stored = fs::read(folder.path().join("store.db-wal")).unwrap();
    assert!(String::from_utf8_lossy(&stored).contains("\"get_[secret 1]\""));

    fs::remove_file(&list).unwrap();
    call(&registry, "sh__crash").await;
    wait_until("the loss", || !registrar.statuses()[0].state.is_active()).await;
    registrar.replace("sh", shell(&list).current_dir("/")).await.unwrap();
    registrar.roll_back(&id, 1).await.unwrap();

    let mut read = Vec::new();
    for file in fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "secrets.json" {
            assert!(has_canary(&fs::read(&path).unwrap()));
            continue;
        }
        assert!(!has_canary(&fs::read(&path).unwrap()), "{name} contains the secret");
        read.push(name);
    }
    read.sort();
    assert_eq!(read, ["store.db", "store.db-shm", "store.db-wal"]);
    let texts = format!(
        "{:?} {:?} {registrar:?} {:?}",
        events.all(),
        registrar.statuses(),
        catalog.contents().await.unwrap()
    );
    assert!(texts.contains("Unavailable { id"), "{texts}");
    assert!(!texts.contains(CANARY), "{texts}");
    registrar.stop().await;
    assert!(names(&registry).is_empty());
}
