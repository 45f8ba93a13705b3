//! Conformance of stores: MemoryStore and SQLite pass, and each fault is detected.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tool_runtime::agent::session::{
    MemoryStore, SessionError, SessionInfo, SessionRecord, SessionStore, SessionWrite, conformance,
};
use tool_runtime::async_trait;

#[tokio::test]
async fn memory_store_conforms() {
    conformance::check(|| async { MemoryStore::default() }).await.unwrap();
    let store = MemoryStore::default();
    conformance::check_handles(store.clone(), store).await.unwrap();
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn sqlite_store_conforms() {
    let open = || async { tool_runtime::store::Sqlite::in_memory().unwrap() };
    conformance::check(open).await.unwrap();
    let store = open().await;
    conformance::check_handles(store.clone(), store).await.unwrap();
}

/// Faults of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    OverwritesOthers,
    LooksAndThenWrites,
    HasNoLock,
    WritesInTwo,
    ReadsInTwo,
    BeginsRevisionsAnew,
    KeepsWhatWasReplaced,
    WritesHalfOfWhatItRefuses,
    FillsGaps,
    TakesCasesForOne,
    EndsNamesAtZero,
    CutsLongTexts,
    ForgetsToDelete,
    ListsUnsorted,
    ListsOldCounts,
    HasNoClock,
}

/// Store with one fault.
#[derive(Clone, Debug)]
struct Own(Fault, Arc<Kept>);

#[derive(Debug, Default)]
struct Kept {
    sessions: Mutex<BTreeMap<String, SessionRecord>>,
    /// Held by a writer from reading to writing.
    writing: tokio::sync::Mutex<()>,
}

impl Own {
    fn key(&self, session: &str) -> String {
        match self.0 {
            Fault::TakesCasesForOne => session.to_lowercase(),
            Fault::EndsNamesAtZero => session.split('\0').next().unwrap().to_owned(),
            _ => session.to_owned(),
        }
    }
}

#[async_trait]
impl SessionStore for Own {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        let mut kept = self.1.sessions.lock().unwrap().get(&self.key(session)).cloned();
        if let (Fault::ReadsInTwo, Some(kept)) = (self.0, &mut kept) {
            tokio::task::yield_now().await;
            let later = self.1.sessions.lock().unwrap().get(&self.key(session)).cloned();
            kept.messages = later.map(|later| later.messages).unwrap_or_default();
        }
        Ok(kept)
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        let _writing = match self.0 {
            Fault::LooksAndThenWrites | Fault::HasNoLock => None,
            _ => Some(self.1.writing.lock().await),
        };
        let key = self.key(session);
        let kept = self.1.sessions.lock().unwrap().get(&key).cloned();
        let (found, count) = kept.as_ref().map_or((0, 0), |it| (it.revision, it.messages.len()));
        let mut checked = write;
        if self.0 == Fault::OverwritesOthers {
            checked.revision = found;
        }
        if self.0 == Fault::FillsGaps {
            checked.from = checked.from.min(count);
        }
        let mut stored = kept.unwrap_or_else(|| SessionRecord::new(vec![], "", 0));
        let revision = match checked.check(session, found, count) {
            Ok(revision) => revision,
            Err(error) => {
                if self.0 == Fault::WritesHalfOfWhatItRefuses && found != 0 {
                    stored.state = write.state.to_owned();
                    self.1.sessions.lock().unwrap().insert(key, stored);
                }
                return Err(error);
            }
        };
        if self.0 == Fault::LooksAndThenWrites {
            tokio::task::yield_now().await;
        }
        if self.0 == Fault::HasNoLock {
            // The write takes some time, as with a file, and only yields the thread.
            (0..100).for_each(|_| std::thread::yield_now());
        }
        stored.revision = match self.0 {
            Fault::BeginsRevisionsAnew => found + 1,
            _ => revision,
        };
        if self.0 != Fault::KeepsWhatWasReplaced {
            stored.messages.truncate(write.from);
        }
        stored.messages.extend_from_slice(write.messages);
        if self.0 == Fault::WritesInTwo {
            self.1.sessions.lock().unwrap().insert(key.clone(), stored.clone());
            tokio::task::yield_now().await;
        }
        stored.state = match self.0 {
            Fault::CutsLongTexts => write.state.chars().take(65_535).collect(),
            _ => write.state.to_owned(),
        };
        let revision = stored.revision;
        self.1.sessions.lock().unwrap().insert(key, stored);
        Ok(revision)
    }

    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        let sessions = self.1.sessions.lock().unwrap();
        let saved_at = match self.0 {
            Fault::HasNoClock => SystemTime::UNIX_EPOCH,
            _ => SystemTime::now() - Duration::from_millis(1),
        };
        let count =
            |it: &SessionRecord| it.messages.len() + usize::from(self.0 == Fault::ListsOldCounts);
        let mut listed: Vec<_> = sessions
            .iter()
            .map(|(name, it)| SessionInfo::new(name, count(it), it.revision, saved_at))
            .collect();
        if self.0 == Fault::ListsUnsorted {
            listed.reverse();
        }
        Ok(listed)
    }

    async fn delete(&self, session: &str) -> Result<(), SessionError> {
        if self.0 != Fault::ForgetsToDelete {
            self.1.sessions.lock().unwrap().remove(&self.key(session));
        }
        Ok(())
    }
}

#[tokio::test]
async fn each_fault_of_a_store_is_detected() {
    const CONFLICT: &str =
        "a write that builds on another revision is a conflict, which names both";
    const NAMES: &str = "names that differ are of sessions that differ";
    for (fault, law) in [
        (Fault::OverwritesOthers, CONFLICT),
        (Fault::LooksAndThenWrites, "of several who write at once, whoever is late is told so"),
        (Fault::HasNoLock, "of several who write at once, whoever is late is told so"),
        (Fault::WritesInTwo, "a save whose future is dropped is done or not, and not by half"),
        (Fault::ReadsInTwo, "what is loaded is of one save, whoever writes meanwhile"),
        (Fault::BeginsRevisionsAnew, "no revision is 0 or comes again"),
        (Fault::KeepsWhatWasReplaced, "what is kept comes back as it was"),
        (Fault::WritesHalfOfWhatItRefuses, "what is loaded is what was saved last"),
        (Fault::FillsGaps, "a write that begins behind what is kept is unfit"),
        (Fault::TakesCasesForOne, NAMES),
        (Fault::EndsNamesAtZero, NAMES),
        (Fault::CutsLongTexts, "what is kept comes back as it was"),
        (Fault::ForgetsToDelete, "all sessions are listed, sorted by their names"),
        (Fault::ListsUnsorted, "all sessions are listed, sorted by their names"),
        (Fault::ListsOldCounts, "what is listed is what is there"),
        (Fault::HasNoClock, "what is listed says when it was last saved, to the second at least"),
    ] {
        let open = || async { Own(fault, Arc::default()) };
        let broken = conformance::check(open).await.expect_err(&format!("{fault:?}"));
        let told = broken.to_string();
        assert!(
            told.starts_with(&format!("the store breaks its word, that {law}: ")),
            "{fault:?}: {told}"
        );
        // The report is short, whatever the store holds.
        assert!(told.len() < 600, "{fault:?}: {told}");
    }
    conformance::check(|| async { Own(Fault::None, Arc::default()) }).await.unwrap();
}

/// Store handle with a stale cache.
#[derive(Debug)]
struct Handle {
    store: Own,
    remembers: bool,
    seen: Mutex<BTreeMap<String, Option<SessionRecord>>>,
    lists: bool,
}

#[async_trait]
impl SessionStore for Handle {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        let kept = self.store.load(session).await?;
        let mut seen = self.seen.lock().unwrap();
        let first = seen.entry(session.to_owned()).or_insert_with(|| kept.clone()).clone();
        Ok(if self.remembers { first } else { kept })
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        self.store.save(session, write).await
    }

    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        if self.lists { self.store.list().await } else { Ok(Vec::new()) }
    }

    async fn delete(&self, session: &str) -> Result<(), SessionError> {
        self.store.delete(session).await
    }
}

#[tokio::test]
async fn inconsistent_handles_are_detected() {
    let handles = |faults: [Fault; 2], remembers, lists| {
        let kept = Arc::default();
        faults.map(|fault| Handle {
            store: Own(fault, Arc::clone(&kept)),
            remembers,
            seen: Mutex::default(),
            lists,
        })
    };
    let loads = "what one handle has saved, another loads";
    let late = "a write of one handle on what another has replaced is a conflict";
    let gone = "what one handle has deleted is gone for another";
    let none = [Fault::None; 2];
    for ([one, other], law) in [
        (handles(none, true, true), loads),
        (handles(none, false, false), "what one handle has saved, another lists"),
        (handles([Fault::None, Fault::OverwritesOthers], false, true), late),
        (handles([Fault::ForgetsToDelete; 2], false, true), gone),
        (
            handles([Fault::LooksAndThenWrites; 2], false, true),
            "of several who write at once, whoever is late is told so",
        ),
        (
            handles([Fault::HasNoLock; 2], false, true),
            "of several who write at once, whoever is late is told so",
        ),
    ] {
        let told = conformance::check_handles(one, other).await.expect_err(law).to_string();
        assert!(told.starts_with(&format!("the store breaks its word, that {law}: ")), "{told}");
    }
    let apart = [(), ()].map(|()| Own(Fault::None, Arc::default()));
    let [one, other] = apart;
    let told = conformance::check_handles(one, other).await.unwrap_err().to_string();
    assert!(told.contains(loads), "{told}");
    let [one, other] = handles(none, false, true);
    conformance::check_handles(one, other).await.unwrap();
}

#[test]
fn errors_name_the_next_action() {
    let conflict = SessionWrite::on(3).check("ada", 4, 0).unwrap_err();
    let unfit = SessionWrite::on(4).messages(2, &[]).check("ada", 4, 1).unwrap_err();
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
            SessionError::CorruptRecord { session: "ada".into(), place: Some(2), why: "no".into() },
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
