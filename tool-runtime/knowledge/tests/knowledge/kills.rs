//! Two processes change documents of one store and are killed again and again: each document stays
//! whole, and a change that was acknowledged is never lost.
//!
//! The parent module opens the store: an SQLite file, or a schema of PostgreSQL.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tool_runtime::knowledge::{Document, DocumentStore, Fusion, Knowledge, SearchFilter};
use tool_runtime::models::TestEmbedder;

use super::{open_store, wait_for_server};

const FOLDER: &str = "TOOL_TOOLBOX_KNOWLEDGE_FOLDER";
const TENANT: &str = "TOOL_TOOLBOX_KNOWLEDGE_TENANT";

/// The documents of each process.
const DOCUMENTS: u64 = 5;

/// The chunks of each document.
const CHUNKS: usize = 3;

async fn open(folder: &Path) -> Knowledge {
    Knowledge::new(open_store(folder).await).embedder(TestEmbedder::new(16))
}

/// The acknowledged version of each document; 0 if it was removed.
fn acknowledged(folder: &Path, tenant: &str) -> BTreeMap<String, u64> {
    let log = fs::read_to_string(folder.join(tenant)).unwrap_or_default();
    let entry = |line: &str| {
        let (source, version) = line.split_once(' ').unwrap();
        (source.to_owned(), version.parse().unwrap())
    };
    log.lines().map(entry).collect()
}

/// Changes documents until the process is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the process that the test below kills"]
async fn child_changes_documents_until_it_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let (folder, tenant) = (Path::new(&folder), std::env::var(TENANT).unwrap());
    let knowledge = open(folder).await;
    let first = acknowledged(folder, &tenant).into_values().max().unwrap_or_default() + 1;
    let mut log = OpenOptions::new().append(true).create(true).open(folder.join(&tenant)).unwrap();
    // Ends by itself if the parent has ended.
    for version in first..first + 5_000 {
        let source = format!("document{}", version % DOCUMENTS);
        if version.is_multiple_of(4) {
            knowledge.remove(&tenant, &[&source]).await.unwrap();
            log.write_all(format!("{source} 0\n").as_bytes()).unwrap();
        }
        let part =
            |number| format!("# Part {number}\n\n{source} version{version} part{number}\n\n");
        let text: String = (0..CHUNKS).map(part).collect();
        let document = Document::markdown(&source, text).tenant(&tenant);
        knowledge.add(document.metadata("version", version)).await.unwrap();
        log.write_all(format!("{source} {version}\n").as_bytes()).unwrap();
    }
}

fn spawn(folder: &Path, tenant: &str) -> Child {
    let module = module_path!().split_once("::").unwrap().1;
    let child = format!("{module}::child_changes_documents_until_it_is_killed");
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &child, "--ignored"])
        .env(FOLDER, folder)
        .env(TENANT, tenant)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Checks the documents of a tenant, and returns how many there are.
async fn check(folder: &Path, tenant: &str) -> usize {
    let knowledge = open(folder).await;
    let records = knowledge.store().list(tenant, "", None, 99).await.unwrap();
    let stored: BTreeMap<_, _> = records
        .iter()
        .map(|it| (it.source.clone(), it.metadata["version"].as_u64().unwrap()))
        .collect();
    for (source, version) in acknowledged(folder, tenant) {
        // The change that was interrupted may be there.
        let found = stored.get(&source).copied().unwrap_or_default();
        let may_be_removed = (version + DOCUMENTS).is_multiple_of(4);
        let is_newer = found >= version || (found == 0 && may_be_removed);
        assert!(is_newer, "{source}: {version} was acknowledged, found {found}");
    }
    let all = SearchFilter::tenant(tenant);
    for fusion in [Fusion::default().vectors(0.0), Fusion::default().words(0.0)] {
        let knowledge = knowledge.clone().fusion(fusion);
        let found = knowledge.search("part0 part1 part2", &all, 99).await.unwrap();
        assert_eq!(found.len(), CHUNKS * stored.len(), "{fusion:?}");
        for passage in found {
            let version = format!("{} version{}", passage.source, stored[&passage.source]);
            assert!(passage.text.contains(&version), "{version}: {}", passage.text);
        }
    }
    stored.len()
}

/// Waits until a process has changed something, and then a little longer.
fn wait_for_changes(folder: &Path, tenant: &str, len: u64) {
    let start = Instant::now();
    while log_len(folder, tenant) <= len {
        assert!(start.elapsed() < Duration::from_secs(60), "the process changes nothing");
        thread::sleep(Duration::from_millis(2));
    }
    thread::sleep(Duration::from_millis(fastrand::u64(0..60)));
}

fn log_len(folder: &Path, tenant: &str) -> u64 {
    fs::metadata(folder.join(tenant)).map_or(0, |it| it.len())
}

#[tokio::test]
async fn documents_survive_kills_whole() {
    let kills: usize = std::env::var("KILLS").map_or(40, |kills| kills.parse().unwrap());
    let folder = std::env::temp_dir().join(format!("knowledge-kills-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    drop(open(&folder).await);
    let tenants = ["a", "b"];
    let mut children = tenants.map(|tenant| spawn(&folder, tenant));
    let mut lens = [0; 2];
    let mut documents = 0;
    for kill in 0..kills {
        let (child, tenant) = (&mut children[kill % 2], tenants[kill % 2]);
        wait_for_changes(&folder, tenant, lens[kill % 2]);
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "the process ended before it was killed");
        wait_for_server(child.id()).await;
        // The other process goes on meanwhile.
        documents += check(&folder, tenant).await;
        lens[kill % 2] = log_len(&folder, tenant);
        *child = spawn(&folder, tenant);
    }
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let versions = tenants.map(|tenant| acknowledged(&folder, tenant).into_values().max());
    println!("{kills} kills, {documents} documents checked, last versions {versions:?}");
    assert!(documents > kills, "{documents} documents in {kills} kills");
    fs::remove_dir_all(&folder).unwrap();
}
