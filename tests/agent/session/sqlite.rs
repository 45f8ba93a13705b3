//! SQLite files of sessions: reopened, shared, damaged, and the cost of a save.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use rusqlite::Connection;
use serde_json::{Value, json};
use tool_runtime::agent::session::{SessionError, SessionOwner, SessionStore, SessionWrite};
use tool_runtime::store::Sqlite;
use tool_runtime::{AssistantPart, Message, ToolCall};

/// Returns an empty folder for this test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("session").join(test);
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn user_messages(texts: &[&str]) -> Vec<Message> {
    texts.iter().map(|text| Message::user(*text)).collect()
}

/// Setting the clock forward expires a lease early. The epoch prevents the first owner from
/// writing.
#[tokio::test]
async fn owner_cannot_write_after_a_clock_jump_expires_its_lease() {
    let file = folder("clock").join("sessions.db");
    let [first, second] = [Sqlite::open(&file).await.unwrap(), Sqlite::open(&file).await.unwrap()];
    let lifetime = Duration::from_secs(3_600);
    let acquire = async |store: &Sqlite| store.acquire("s", store.locks().owner(), lifetime).await;
    let lost = acquire(&first).await.unwrap();
    let write = |epoch, revision| SessionWrite::update(revision).state("{}").epoch(epoch);
    let revision = first.save("s", write(lost, 0)).await.unwrap();
    assert!(matches!(acquire(&second).await, Err(SessionError::Busy { .. })));

    // As after a jump by more than the lifetime.
    let connection = Connection::open(&file).unwrap();
    connection.execute("UPDATE leases SET expires_at = expires_at - 7200000000", []).unwrap();
    let epoch = acquire(&second).await.unwrap();
    assert!(epoch > lost);
    let refused = [
        first.renew("s", lost, lifetime).await,
        first.save("s", write(lost, revision)).await.map(drop),
        first.rename("s", "t", Some(lost)).await,
        first.delete("s", Some(lost)).await,
    ];
    for result in refused {
        assert!(matches!(result, Err(SessionError::LeaseLost { .. })), "{result:?}");
    }
    first.release("s", lost).await.unwrap();
    second.save("s", write(epoch, revision)).await.unwrap();
}

const CHANGED_FOLDER: &str = "TOOL_TESTS_CHANGED_FOLDER";

/// The work of a child process: opens a file by a relative path, and changes its working folder.
#[tokio::test]
async fn child_changes_its_working_folder() {
    let Ok(folder) = env::var(CHANGED_FOLDER) else { return };
    let lifetime = Duration::from_secs(3_600);
    env::set_current_dir(&folder).unwrap();
    let relative = Sqlite::open("sessions.db").await.unwrap();
    env::set_current_dir(env::temp_dir()).unwrap();
    let absolute = Sqlite::open(Path::new(&folder).join("sessions.db")).await.unwrap();
    let stores = [(&relative, &absolute, "a"), (&absolute, &relative, "b")];
    for (owner, other, session) in stores {
        owner.acquire(session, &SessionOwner::random(), lifetime).await.unwrap();
        let refused = other.acquire(session, &SessionOwner::random(), lifetime).await;
        assert!(matches!(refused, Err(SessionError::Busy { .. })), "{session}: {refused:?}");
    }
}

#[test]
fn owner_keeps_its_session_if_its_process_changes_the_working_folder() {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "agent::session::sqlite::child_changes_its_working_folder"]);
    child.env(CHANGED_FOLDER, folder("changed")).stdout(Stdio::null());
    assert!(child.status().unwrap().success());
}

const FILE: &str = "TOOL_TESTS_SESSIONS";

/// The work of each child process: opens the file, which may not exist yet, and counts up.
#[tokio::test]
async fn child_counts_in_a_shared_file() {
    let Ok(file) = env::var(FILE) else { return };
    let store = Sqlite::open(file).await.unwrap();
    for _ in 0..25 {
        loop {
            let copy = store.load("count").await.unwrap();
            let (revision, count) =
                copy.map_or((0, 0), |it| (it.revision, it.state.parse::<u32>().unwrap()));
            let next = (count + 1).to_string();
            match store.save("count", SessionWrite::update(revision).state(&next)).await {
                Ok(_) => break,
                Err(SessionError::Conflict { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[tokio::test]
async fn processes_share_a_file_without_losing_writes() {
    let file = folder("processes").join("sessions.db");
    let spawn = |_| {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", "agent::session::sqlite::child_counts_in_a_shared_file"])
            .env(FILE, &file);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    for mut child in (0..4).map(spawn).collect::<Vec<_>>() {
        assert!(child.wait().unwrap().success());
    }
    let store = Sqlite::open(&file).await.unwrap();
    assert_eq!(store.load("count").await.unwrap().unwrap().state, "100");
}

#[tokio::test]
async fn writer_waits_for_a_busy_file() {
    let file = folder("busy").join("sessions.db");
    let store = Sqlite::open(&file).await.unwrap();
    let other = Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let saving = tokio::spawn(async move { store.save("s", SessionWrite::create()).await });
    // Reading does not wait.
    assert_eq!(Sqlite::open(&file).await.unwrap().load("s").await.unwrap(), None);
    assert!(!saving.is_finished());
    other.execute_batch("COMMIT").unwrap();
    saving.await.unwrap().unwrap();
}

#[tokio::test]
async fn damaged_file_is_reported_and_left_unchanged() {
    let file = folder("damaged").join("sessions.db");
    let damages = [
        ("UPDATE messages SET message = '{\"role\": \"user\"' WHERE place = 1", Some(1)),
        ("UPDATE messages SET message = '{\"role\": \"nobody\"}' WHERE place = 2", Some(2)),
        ("DELETE FROM messages WHERE place = 0", Some(0)),
        ("DELETE FROM messages WHERE place = 2", Some(2)),
        ("UPDATE sessions SET messages = 2", None),
        // The message is not text.
        ("UPDATE sessions SET state = CAST(x'ff' AS TEXT)", None),
    ];
    for (damage, expected) in damages {
        let store = Sqlite::open(&file).await.unwrap();
        let revision = store
            .save("s", SessionWrite::create().messages(0, &user_messages(&["a", "b", "c"])))
            .await
            .unwrap();
        let other = Connection::open(&file).unwrap();
        assert_eq!(other.execute(damage, ()).unwrap(), 1, "{damage}");
        let all = "SELECT group_concat(place || message) FROM messages";
        let all = || other.query_row(all, (), |row| row.get::<_, String>(0)).unwrap();
        let before = all();
        match store.load("s").await.unwrap_err() {
            SessionError::Corrupt { session, message_index, reason } => {
                assert_eq!(
                    (session.as_str(), message_index),
                    ("s", expected),
                    "{damage}: {reason}"
                );
            }
            error => panic!("{damage}: {error}"),
        }
        // It can't be overwritten without reading it.
        let blind = store.save("s", SessionWrite::create()).await;
        let is_refused = match blind {
            Err(SessionError::Conflict { actual, .. }) => actual == revision,
            Err(SessionError::Corrupt { .. }) => true,
            _ => false,
        };
        assert!(is_refused, "{damage}");
        assert_eq!(all(), before);
        store.delete("s", None).await.unwrap();
    }
}

#[tokio::test]
async fn message_too_deep_to_decode_is_not_saved() {
    let deep = (0..200).fold(json!({}), |inner: Value, _| json!([inner]));
    let call = AssistantPart::Call(ToolCall::new("c", "t", deep));
    let store = Sqlite::in_memory().unwrap();
    let messages = [Message::user("Go"), Message::Assistant { id: None, parts: vec![call] }];
    let error = store.save("s", SessionWrite::create().messages(0, &messages)).await.unwrap_err();
    assert!(error.to_string().contains("message 1 cannot be decoded again"), "{error}");
    assert_eq!(store.load("s").await.unwrap(), None);
}

/// Returns the bytes that one more message adds to the log of a file with so many messages.
async fn bytes_of_a_save(file: &Path, messages: usize) -> u64 {
    let store = Sqlite::open(file).await.unwrap();
    let all = vec![Message::user("Something that is neither long nor short."); messages];
    let revision = store.save("s", SessionWrite::create().messages(0, &all)).await.unwrap();
    // Closing the last connection empties the log.
    drop(store);
    let log = file.with_extension("db-wal");
    assert!(!log.exists());
    let store = Sqlite::open(file).await.unwrap();
    let write = SessionWrite::update(revision).messages(messages, &all[..1]).state("{}");
    store.save("s", write).await.unwrap();
    fs::metadata(log).unwrap().len()
}

#[tokio::test]
async fn save_cost_does_not_grow_with_the_conversation() {
    let folder = folder("cost");
    let mut bytes = Vec::new();
    for messages in [1, 10, 100, 1_000, 10_000] {
        bytes.push(bytes_of_a_save(&folder.join(format!("{messages}.db")), messages).await);
    }
    println!("bytes of a save behind 1 to 10,000 messages: {bytes:?}");
    // Some pages: of the session, the messages and their index, and one more if a page is full.
    assert!(bytes.iter().all(|bytes| *bytes <= 6 * 4_200), "{bytes:?}");
}
