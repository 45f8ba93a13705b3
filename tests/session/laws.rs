//! What every store keeps to: any course of saves, loads and deletions comes to what a plain list
//! would come to, and what a stranger does in between is noticed.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use proptest::prelude::*;
use serde_json::json;
use tool_runtime::agent::session::{Memory, SessionError, SessionStore, Stored, Write};
use tool_runtime::{Message, Reasoning};

use crate::histories::histories;

/// On what a save builds.
#[derive(Clone, Copy, Debug)]
enum Base {
    Nothing,
    Newest,
    /// A revision of any session that was the newest once.
    Old(usize),
}

#[derive(Clone, Debug)]
enum Act {
    Save { session: usize, base: Base, from: usize, messages: Vec<Message>, state: String },
    Delete { session: usize },
}

const SESSIONS: [&str; 3] = ["a", "", "B \u{e9}\0'\""];

const THOUGHTS: &[fn() -> Reasoning] =
    &[|| Reasoning::new("anthropic", "Hm", json!({ "type": "thinking", "signature": 0.1 }))];

fn act() -> impl Strategy<Value = Act> {
    let base = prop_oneof![
        1 => Just(Base::Nothing),
        6 => Just(Base::Newest),
        1 => (0..8usize).prop_map(Base::Old),
    ];
    let save = (0..SESSIONS.len(), base, 0..12usize, histories(THOUGHTS), ".{0,4}");
    let save = save.prop_map(|(session, base, from, messages, state)| Act::Save {
        session,
        base,
        from,
        messages,
        state,
    });
    let delete = (0..SESSIONS.len()).prop_map(|session| Act::Delete { session });
    prop_oneof![8 => save, 1 => delete]
}

/// Holds a store to what a plain list would come to.
async fn keeps_its_word(store: &dyn SessionStore, acts: Vec<Act>) -> Result<(), TestCaseError> {
    let begun = SystemTime::now();
    let mut expected = BTreeMap::<&str, Stored>::new();
    let mut revisions = Vec::new();
    for act in acts {
        match act {
            Act::Save { session, base, from, messages, state } => {
                let name = SESSIONS[session];
                let found = expected.get(name).map_or(0, |it| it.revision);
                let kept = expected.get(name).map_or(0, |it| it.messages.len());
                let builds_on = match base {
                    Base::Nothing => 0,
                    Base::Newest => found,
                    Base::Old(place) => revisions.get(place).copied().unwrap_or(1),
                };
                let write = Write::on(builds_on).messages(from, &messages).state(&state);
                let saved = store.save(name, write).await;
                if builds_on != found {
                    let told = matches!(&saved, Err(SessionError::Conflict { session, expected, found: is })
                        if session == name && *expected == builds_on && *is == found);
                    prop_assert!(told, "{saved:?}");
                } else if from > kept {
                    prop_assert!(matches!(saved, Err(SessionError::Unfit { .. })), "{saved:?}");
                } else {
                    let revision = saved.unwrap();
                    revisions.push(revision);
                    let before = expected.remove(name).map(|it| it.messages).unwrap_or_default();
                    let messages = [&before[..from], &messages].concat();
                    expected.insert(name, Stored::new(messages, state, revision));
                }
            }
            Act::Delete { session } => {
                store.delete(SESSIONS[session]).await.unwrap();
                expected.remove(SESSIONS[session]);
            }
        }
        for name in SESSIONS {
            let kept = store.load(name).await.unwrap();
            prop_assert_eq!(kept.as_ref(), expected.get(name));
        }
    }
    let unique: HashSet<_> = revisions.iter().collect();
    prop_assert_eq!(unique.len(), revisions.len(), "a revision came again");
    prop_assert!(!unique.contains(&0));

    let listed = store.list().await.unwrap();
    // Where a store keeps microseconds, what is less was cut off.
    let begun = begun - std::time::Duration::from_micros(1);
    prop_assert!(listed.iter().all(|it| (begun..=SystemTime::now()).contains(&it.saved_at)));
    let listed: Vec<_> =
        listed.iter().map(|it| (it.session.as_str(), it.messages, it.revision)).collect();
    let expected: Vec<_> =
        expected.iter().map(|(name, it)| (*name, it.messages.len(), it.revision)).collect();
    prop_assert_eq!(listed, expected);
    Ok(())
}

/// Two who go on with one session, each from what it last saw: nothing of either is lost unnoticed.
pub async fn notices_a_stranger(store: Arc<dyn SessionStore>) {
    let first = store.save("s", Write::first().state("0")).await.unwrap();
    let add = async |store: Arc<dyn SessionStore>, times: usize| {
        let (mut revision, mut count) = (first, 0);
        for _ in 0..times {
            loop {
                let next = (count + 1).to_string();
                match store.save("s", Write::on(revision).state(&next)).await {
                    Ok(saved) => {
                        (revision, count) = (saved, count + 1);
                        break;
                    }
                    Err(SessionError::Conflict { .. }) => {
                        let stored = store.load("s").await.unwrap().unwrap();
                        (revision, count) = (stored.revision, stored.state.parse().unwrap());
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            tokio::task::yield_now().await;
        }
    };
    let both = [add(Arc::clone(&store), 20), add(Arc::clone(&store), 20)];
    let [one, other] = both;
    tokio::join!(one, other);
    assert_eq!(store.load("s").await.unwrap().unwrap().state, "40");
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    prop::collection::vec(act(), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn memory_keeps_its_word(acts in acts()) {
        run(keeps_its_word(&Memory::default(), acts))?;
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn sqlite_keeps_its_word(acts in acts()) {
        let store = tool_runtime::store::Sqlite::in_memory().unwrap();
        run(keeps_its_word(&store, acts))?;
    }
}

#[tokio::test]
async fn memory_notices_a_stranger() {
    notices_a_stranger(Arc::new(Memory::default())).await;
}

#[test]
fn errors_say_what_to_do() {
    let conflict = Write::on(3).check("ada", 4, 0).unwrap_err();
    let unfit = Write::on(4).messages(2, &[]).check("ada", 4, 1).unwrap_err();
    for (error, text) in [
        (
            conflict,
            "the session `ada` was changed by somebody else: it is at revision 4, and the write builds \
             on 3; load it again and go on from there",
        ),
        (
            unfit,
            "this can't be kept of the session `ada`: it begins at message 2, and only 1 are kept",
        ),
        (
            SessionError::Unreadable { session: "ada".into(), place: Some(2), why: "no".into() },
            "what is kept of the session `ada` can't be read at message 2: no; it was left as it is",
        ),
        (
            SessionError::unavailable("the disk is full"),
            "sessions can't be kept or read for now: the disk is full",
        ),
    ] {
        assert_eq!(error.to_string(), text);
        assert_eq!(error.may_pass(), matches!(error, SessionError::Unavailable { .. }));
    }
}
