//! Records of messages that take each other's places: none is read as one of the other session.

use tool_runtime::Message;
use tool_runtime::agent::session::{SessionError, SessionStore, SessionWrite};

/// The number of messages of a session of which records are exchanged.
const PLACES: usize = 4;

/// Saves sessions whose conversations have nothing, the first message, or all but the last one in
/// common.
pub async fn fill(store: &impl SessionStore) -> [&'static str; 4] {
    for (name, texts) in [
        ("ada", ["Be brief.", "Hello", "And then?", "Thanks."]),
        ("bob", ["Be brief.", "Good morning", "And then?", "Thanks."]),
        ("eve", ["Be polite.", "Who is there?", "It is Eve.", "Bye."]),
    ] {
        let write = SessionWrite::create();
        store.save(name, write.messages(0, &texts.map(Message::user))).await.unwrap();
    }
    let revision = store.load("ada").await.unwrap().unwrap().revision;
    let last = [Message::user("Wait.")];
    let write = SessionWrite::update(revision).messages(PLACES - 1, &last);
    store.fork("ada", "fork of ada", write).await.unwrap();
    ["ada", "bob", "eve", "fork of ada"]
}

/// Exchanges each prefix, each single record and each other range of the records of two sessions,
/// and checks what each part of both sessions loads as.
///
/// `run` runs statements, and `prefix` begins the names of the tables.
pub async fn check(
    store: &impl SessionStore,
    names: &[&str],
    prefix: &str,
    run: impl AsyncFn(&str),
) {
    let ranges = || (0..PLACES).flat_map(|from| (from + 1..=PLACES).map(move |end| from..end));
    for (index, name) in names.iter().enumerate() {
        for other in &names[index + 1..] {
            for exchanged in ranges() {
                let exchange = exchange(prefix, [name, other], [exchanged.start, exchanged.end]);
                let mut before = Vec::new();
                for name in [name, other] {
                    for range in ranges() {
                        before.push(store.load_range(name, range).await.unwrap());
                    }
                }
                run(&exchange).await;
                let mut before = before.into_iter();
                for name in [name, other] {
                    for range in ranges() {
                        let case = format!("{range:?} of {name} with {exchanged:?} of {other}");
                        let found = store.load_range(name, range.clone()).await;
                        // The records beside the range verify it.
                        if exchanged.start <= range.end && exchanged.end >= range.start {
                            let error = found.expect_err(&case);
                            let is_corrupt = matches!(error, SessionError::Corrupt { .. });
                            assert!(is_corrupt, "{case}: {error}");
                            _ = before.next();
                        } else {
                            assert_eq!(found.unwrap(), before.next().unwrap(), "{case}");
                        }
                    }
                }
                run(&exchange).await;
                assert!(store.load(name).await.is_ok(), "{exchange}");
            }
        }
    }
}

/// Returns the statements that exchange the records at these places; run twice, they do nothing.
fn exchange(prefix: &str, names: [&str; 2], [from, end]: [usize; 2]) -> String {
    let messages = format!("{prefix}messages");
    let places = format!("place >= {from} AND place < {end}");
    let [id, other] =
        names.map(|name| format!("(SELECT id FROM {prefix}sessions WHERE name = '{name}')"));
    format!(
        "UPDATE {messages} SET session = -1 WHERE session = {id} AND {places};
         UPDATE {messages} SET session = {id} WHERE session = {other} AND {places};
         UPDATE {messages} SET session = {other} WHERE session = -1"
    )
}
