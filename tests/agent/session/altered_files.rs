//! SQLite files that a failing disk or another program altered: each session loads as it was saved,
//! or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use tool_runtime::Message;
use tool_runtime::agent::session::{
    SessionError, SessionQuery, SessionRecord, SessionStore, SessionWrite,
};
use tool_runtime::store::Sqlite;

use super::exchanged_records;

/// The number of altered bytes: `ALTERATIONS`, or 400.
fn alterations() -> usize {
    std::env::var("ALTERATIONS").ok().and_then(|value| value.parse().ok()).unwrap_or(400)
}

fn messages(count: usize, text: &str) -> Vec<Message> {
    (0..count).map(|number| Message::user(format!("{number} {}", text.repeat(20)))).collect()
}

/// A file with sessions that were extended, rewritten, forked, renamed and deleted.
async fn write_file(file: &Path) {
    let store = Sqlite::open(file).await.unwrap();
    let mut revision = 0;
    for number in 0..12 {
        let all = messages(number * 3 + 3, "ada ");
        let from = if number % 4 == 3 { 1 } else { number * 3 };
        let state = format!("{{\"step\": {number}, \"pad\": \"{}\"}}", "x".repeat(700));
        let write = match revision {
            0 => SessionWrite::create(),
            revision => SessionWrite::update(revision),
        };
        let write = write.messages(from, &all[from..]).state(&state);
        revision = store.save("ada", write).await.unwrap();
    }
    for name in ["bob", "bobby", "carol", "gone"] {
        let all = messages(4, name);
        store.save(name, SessionWrite::create().messages(0, &all).state("{}")).await.unwrap();
    }
    store.fork("ada", "ada 2", SessionWrite::update(revision).messages(5, &[])).await.unwrap();
    store.rename("carol", "dora", None).await.unwrap();
    store.delete("gone", None).await.unwrap();
}

/// What a file contains, by name, and the listed names.
type Contents =
    (Vec<Result<Option<SessionRecord>, SessionError>>, Result<Vec<String>, SessionError>);

async fn contents(file: &Path) -> Option<Contents> {
    let store = Sqlite::open(file).await.ok()?;
    let mut records = Vec::new();
    for name in ["ada", "ada 2", "bob", "bobby", "dora", "gone", "carol"] {
        records.push(store.load(name).await);
    }
    let listed = store.list(SessionQuery::all()).await;
    let names = listed.map(|all| all.into_iter().map(|info| info.session).collect());
    Some((records, names))
}

fn remove_log(file: &Path) {
    for extension in ["db-wal", "db-shm"] {
        _ = fs::remove_file(file.with_extension(extension));
    }
}

/// A file before it is altered.
struct Original {
    file: PathBuf,
    contents: Contents,
}

impl Original {
    async fn read(file: PathBuf) -> Self {
        let contents = contents(&file).await.unwrap();
        Self { file, contents }
    }

    /// Checks that everything that can be read of an altered file is as it was, and returns whether
    /// anything could not be read.
    async fn check(&self, bytes: &[u8], case: &str) -> bool {
        let (expected, names) = &self.contents;
        let altered = self.file.with_file_name("altered.db");
        remove_log(&altered);
        fs::write(&altered, bytes).unwrap();
        let Some((records, listed)) = contents(&altered).await else { return true };
        let mut has_failed = listed.is_err();
        if let Ok(listed) = listed {
            assert_eq!(listed, *names.as_ref().unwrap(), "{case}");
        }
        for (record, expected) in records.into_iter().zip(expected) {
            match record {
                Ok(record) => assert_eq!(record, *expected.as_ref().unwrap(), "{case}"),
                Err(_) => has_failed = true,
            }
        }
        has_failed
    }
}

async fn file(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("session").join(test);
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("sessions.db");
    write_file(&file).await;
    file
}

#[tokio::test]
async fn altered_byte_of_a_header_is_an_error_or_changes_nothing() {
    let original = Original::read(file("altered_headers").await).await;
    let len = fs::metadata(&original.file).unwrap().len() as usize;
    // The header of the file, and those of the pages.
    let headers = (0..100).chain((0..len).step_by(4096).flat_map(|page| page..page + 12));
    let mut places: Vec<usize> = headers.collect();
    fastrand::Rng::with_seed(19).shuffle(&mut places);
    places.truncate(alterations() / 2);
    alter(&original, &places).await;
}

#[tokio::test]
async fn altered_byte_is_an_error_or_changes_nothing() {
    let original = Original::read(file("altered_bytes").await).await;
    let len = fs::metadata(&original.file).unwrap().len() as usize;
    let mut random = fastrand::Rng::with_seed(19);
    let places: Vec<_> = (0..alterations()).map(|_| random.usize(0..len)).collect();
    alter(&original, &places).await;
}

async fn alter(original: &Original, places: &[usize]) {
    let bytes = fs::read(&original.file).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut failed = 0;
    for &place in places {
        let mut altered = bytes.clone();
        altered[place] ^= if random.bool() { 1 << random.u8(0..8) } else { random.u8(1..) };
        let case = format!("byte {place}: {} → {}", bytes[place], altered[place]);
        failed += usize::from(original.check(&altered, &case).await);
    }
    assert!(failed > places.len() / 15, "{failed} of {}", places.len());
}

#[tokio::test]
async fn damaged_page_is_an_error_or_changes_nothing() {
    const PAGE: usize = 4096;
    let original = Original::read(file("damaged_pages").await).await;
    let bytes = fs::read(&original.file).unwrap();
    let pages = bytes.len() / PAGE;
    let mut failed = 0;
    for page in 0..pages {
        let of = |page: usize| page * PAGE..(page + 1) * PAGE;
        let mut zeroed = bytes.clone();
        zeroed[of(page)].fill(0);
        failed += usize::from(original.check(&zeroed, &format!("page {page} zeroed")).await);
        let mut copied = bytes.clone();
        copied.copy_within(of((page + 1) % pages), of(page).start);
        failed += usize::from(original.check(&copied, &format!("page {page} replaced")).await);
        let cut = &bytes[..of(page).start];
        if page > 0 {
            failed += usize::from(original.check(cut, &format!("cut before page {page}")).await);
        }
    }
    assert!(failed > pages, "{failed}");
}

/// Both the row and its entry in the index contain the name of a session.
#[tokio::test]
async fn session_is_deleted_or_its_lost_name_is_an_error() {
    const NAME: &str = "the only such name";
    let file = file("lost_names").await;
    let store = Sqlite::open(&file).await.unwrap();
    let all = messages(2, "kept ");
    store.save(NAME, SessionWrite::create().messages(0, &all)).await.unwrap();
    drop(store);
    let bytes = fs::read(&file).unwrap();
    let names = bytes.windows(NAME.len()).enumerate();
    let places = names.filter(|(_, text)| *text == NAME.as_bytes()).map(|(at, _)| at);
    let altered = file.with_file_name("altered.db");
    let mut is_deleted = Vec::new();
    for place in places {
        let mut copy = bytes.clone();
        copy[place] ^= 1;
        remove_log(&altered);
        fs::write(&altered, copy).unwrap();
        let deleted = Sqlite::open(&altered).await.unwrap().delete(NAME, None).await;
        let count = "SELECT count(*) FROM messages WHERE message LIKE '%kept %'";
        let connection = rusqlite::Connection::open(&altered).unwrap();
        let left: i64 = connection.query_row(count, (), |row| row.get(0)).unwrap();
        let is_corrupt = matches!(deleted, Err(SessionError::Corrupt { .. }));
        assert!(deleted.is_ok() || is_corrupt, "{deleted:?}");
        assert_eq!(left == 0, deleted.is_ok(), "{left} messages, {deleted:?}");
        is_deleted.push(deleted.is_ok());
    }
    assert!(is_deleted.contains(&false), "{is_deleted:?}");
}

/// What a statement alters is found as well: rows that take the place of others.
#[tokio::test]
async fn exchanged_rows_are_errors() {
    let original = Original::read(file("exchanged_rows").await).await;
    let bytes = fs::read(&original.file).unwrap();
    let copy = original.file.with_file_name("edited.db");
    for edit in [
        "UPDATE messages SET place = 99 WHERE session = 1 AND place = 3;
         UPDATE messages SET place = 3 WHERE session = 1 AND place = 4;
         UPDATE messages SET place = 4 WHERE session = 1 AND place = 99",
        "UPDATE messages SET session = 99 WHERE session = 2;
         UPDATE messages SET session = 2 WHERE session = 3;
         UPDATE messages SET session = 3 WHERE session = 99",
        "UPDATE sessions SET name = 'x' WHERE name = 'bob';
         UPDATE sessions SET name = 'bob' WHERE name = 'bobby';
         UPDATE sessions SET name = 'bobby' WHERE name = 'x'",
        "UPDATE sessions SET state = (SELECT state FROM sessions WHERE name = 'ada')",
        "UPDATE sessions SET name = 'adb' WHERE name = 'ada'",
        "DELETE FROM sessions WHERE name = 'bob'",
        "UPDATE sessions SET revision = revision + 1",
        "DELETE FROM messages WHERE session = 1 AND place = (SELECT max(place) FROM messages);
         UPDATE sessions SET messages = messages - 1 WHERE id = 1",
        "UPDATE names SET count = count + 1",
        "DELETE FROM names",
    ] {
        remove_log(&copy);
        fs::write(&copy, &bytes).unwrap();
        rusqlite::Connection::open(&copy).unwrap().execute_batch(edit).unwrap();
        let edited = fs::read(&copy).unwrap();
        assert!(original.check(&edited, edit).await, "{edit}");
    }
}

/// Exchanges records through a connection of another program.
async fn check_exchanges(file: &Path, names: &[&str]) {
    let store = Sqlite::open(file).await.unwrap();
    let other = rusqlite::Connection::open(file).unwrap();
    // Nothing is lost when this process ends.
    other.pragma_update(None, "synchronous", "OFF").unwrap();
    let run = async |statements: &str| other.execute_batch(statements).unwrap();
    exchanged_records::check(&store, names, "", run).await;
}

#[tokio::test]
async fn records_exchanged_between_sessions_are_errors() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("session").join("exchanged_records");
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("sessions.db");
    let names = exchanged_records::fill(&Sqlite::open(&file).await.unwrap()).await;
    check_exchanges(&file, &names).await;
}

#[tokio::test]
async fn part_of_an_altered_conversation_is_an_error() {
    let file = file("altered_parts").await;
    let store = Sqlite::open(&file).await.unwrap();
    let whole = store.load("ada").await.unwrap().unwrap();
    let count = whole.messages.len();
    let ranges = [0..1, 0..5, 4..9, 9..count, count..count, 0..0, 30..99];
    for range in ranges.clone() {
        let part = store.load_range("ada", range.clone()).await.unwrap().unwrap();
        let (from, end) = (range.start.min(count), range.end.min(count));
        assert_eq!(part.messages, whole.messages[from..end], "{range:?}");
    }
    // The text of another message, with the checksum of that one.
    let edit = "UPDATE messages SET (message, chain) =
        (SELECT message, chain FROM messages WHERE session = 1 AND place = 7)
        WHERE session = 1 AND place = 4";
    rusqlite::Connection::open(&file).unwrap().execute(edit, ()).unwrap();
    for range in ranges {
        let part = store.load_range("ada", range.clone()).await;
        // The message is in the range, or next to it.
        let is_near = range.start <= 5 && range.end >= 4 && !range.is_empty();
        assert_eq!(part.is_err(), is_near, "{range:?}: {part:?}");
    }
}
