//! Kills two processes that change small records and pinned definitions in one database:
//! what they have acknowledged is there, and every change has its own version.
//!
//! The database is a schema of PostgreSQL, and an SQLite file in the same way. `KILLS` is the
//! number of rounds, 20 by default.

use std::env;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tool_runtime::mcp::{PinStore, PinnedDefinition, Pins, RecordPins};
use tool_runtime::records::{Expected, MAX_RECORD_BYTES, RecordQuery, Records};
use tool_runtime::store::{Postgres, Sqlite};

use super::{schema_of_process, wait_for_server};

/// The name of a schema, or the path of a file.
const DATABASE: &str = "TOOL_TESTS_DATABASE";
/// The name that the process changes.
const NAME: &str = "TOOL_TESTS_NAME";

const NAMES: [&str; 2] = ["left", "right"];

async fn open(database: &str) -> (Box<dyn Records>, Box<dyn PinStore>) {
    if database.ends_with(".db") {
        let file = Sqlite::open(database).await.unwrap();
        let records = file.records().await.unwrap();
        return (Box::new(records.clone()), Box::new(RecordPins::new(records)));
    }
    let store = Postgres::connect(&schema_of_process(database).await).await.unwrap();
    let records = store.records().await.unwrap();
    (Box::new(records.clone()), Box::new(RecordPins::new(records)))
}

fn pins(number: u64) -> Pins {
    // Every other one is longer than a record.
    let length = if number.is_multiple_of(2) { MAX_RECORD_BYTES } else { 0 };
    let definition = serde_json::json!({ "description": number, "more": "x".repeat(length) });
    Pins::from([("tool".to_owned(), PinnedDefinition::new("tool", definition))])
}

/// The collection of the records.
const COLLECTION: &str = "settings";

/// Returns the number that is stored under a name.
async fn stored(records: &dyn Records, name: &str) -> u64 {
    let record = records.load(COLLECTION, name).await.unwrap();
    record.map_or(0, |record| record.value.parse().unwrap())
}

/// The child process.
#[tokio::test]
#[ignore = "a process that the tests below kill"]
async fn child_changes_settings_until_it_is_killed() {
    let (Ok(database), Ok(name)) = (env::var(DATABASE), env::var(NAME)) else { return };
    let (records, pin_store) = open(&database).await;
    for number in stored(&*records, &name).await + 1.. {
        let text = number.to_string();
        records.save(COLLECTION, &name, Expected::Any, &text, None).await.unwrap();
        pin_store.save(&name, &pins(number)).await.unwrap();
        // As one write, so that a kill leaves no part of a line.
        std::io::stderr().lock().write_all(format!("saved {number}\n").as_bytes()).unwrap();
    }
}

fn spawn(database: &str, name: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "setting_kills::child_changes_settings_until_it_is_killed", "--ignored"])
        .arg("--nocapture")
        .env(DATABASE, database)
        .env(NAME, name)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

async fn kill_repeatedly(database: &str) {
    let kills = env::var("KILLS").map_or(20, |kills| kills.parse().unwrap());
    let (records, pin_store) = open(database).await;
    let mut random = fastrand::Rng::with_seed(7);
    let (mut saved, mut pinned) = ([0; 2], [0; 2]);
    for kill in 0..kills {
        let mut children = NAMES.map(|name| spawn(database, name));
        let outputs = children.each_mut().map(|child| child.stderr.take().unwrap());
        let mut lines = outputs.map(|output| BufReader::new(output).lines());
        let mut acknowledged = [None; 2];
        let number = |line: String| line.strip_prefix("saved ").and_then(|it| it.parse().ok());
        for _ in 0..random.usize(0..20) {
            let line = lines[0].next().expect("the child ended by itself").unwrap();
            acknowledged[0] = number(line).or(acknowledged[0]);
        }
        for child in &mut children {
            child.kill().unwrap();
            assert!(!child.wait().unwrap().success(), "the child ended by itself");
            wait_for_server(child.id()).await;
        }
        for (place, name) in NAMES.into_iter().enumerate() {
            for line in &mut lines[place] {
                acknowledged[place] = number(line.unwrap()).or(acknowledged[place]);
            }
            let number = stored(&*records, name).await;
            let first = acknowledged[place].unwrap_or(saved[place]);
            assert!((first..=first + 1).contains(&number), "{kill} {name} {first}");
            let stored = pin_store.load(name).await.unwrap().unwrap_or_default();
            let first = acknowledged[place].unwrap_or(pinned[place]);
            let is_stored =
                |number: &u64| stored == pins(*number) || (*number, stored.len()) == (0, 0);
            let last = (first..=number).find(is_stored);
            pinned[place] = last.unwrap_or_else(|| panic!("{kill} {name} {first} {stored:?}"));
            saved[place] = number;
        }
        let counter = records.list(COLLECTION, RecordQuery::all()).await.unwrap().counter;
        assert_eq!(counter, saved.iter().sum::<u64>(), "{kill}");
    }
    println!("{kills} kills of two processes, {saved:?} changes");
    assert!(saved[0] > kills, "the processes were killed before they changed anything");
}

#[tokio::test]
async fn settings_in_postgres_survive_kills() {
    kill_repeatedly(&format!("setting_kills_{}", std::process::id())).await;
}

#[tokio::test]
async fn settings_in_a_file_survive_kills() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("setting-kills-{}.db", std::process::id()));
    kill_repeatedly(file.to_str().unwrap()).await;
    std::fs::remove_file(file).unwrap();
}
