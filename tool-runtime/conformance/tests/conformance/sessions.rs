//! Stores of sessions conform, and the suite finds each fault of a store.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tool_conformance::sessions::{check, check_handles};
use tool_runtime::agent::session::{
    MemoryLeases, MemorySessions, SessionError, SessionInfo, SessionLocks, SessionOwner,
    SessionPart, SessionQuery, SessionRecord, SessionStatus, SessionStore, SessionWrite,
};
use tool_runtime::async_trait;
use tool_runtime::store::Sqlite;

use crate::{Folder, assert_found};

#[tokio::test]
async fn memory_conforms() {
    assert_eq!(check(|| async { MemorySessions::new() }).await, []);
    let store = MemorySessions::new();
    assert_eq!(check_handles(store.clone(), store).await, []);
}

#[tokio::test]
async fn pointers_to_stores_conform() {
    let open = || async { Box::new(MemorySessions::new()) as Box<dyn SessionStore> };
    assert_eq!(check(open).await, []);
    let store: Arc<dyn SessionStore> = Arc::new(MemorySessions::new());
    assert_eq!(check_handles(Arc::clone(&store), store).await, []);
}

#[tokio::test]
async fn sqlite_conforms() {
    assert_eq!(check(|| async { Sqlite::in_memory().unwrap() }).await, []);
    let store = Sqlite::in_memory().unwrap();
    assert_eq!(check_handles(store.clone(), store).await, []);
    let folder = Folder::new();
    let open = async |path| Sqlite::open(path).await.unwrap();
    assert_eq!(check(|| open(folder.next())).await, []);
    let path = folder.next();
    assert_eq!(check_handles(open(path.clone()).await, open(path).await).await, []);
}

/// The faults that a store can have.
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
    ListsOtherPrefixes,
    ListsMoreThanAPage,
    ListsThePageBefore,
    LoadsAnotherRange,
    CountsTheRange,
    ForksTheWhole,
    ForksOverOthers,
    ForksAnyRevision,
    RenamesACopy,
    RenamesMissing,
    RenamesOverOthers,
    SharesNoLocks,
    LeasesTwice,
    BeginsEpochsAnew,
    NeverExpires,
    ExpiresDespiteRenewal,
    ReleasesAnyEpoch,
    KeepsReleased,
    IgnoresEpochs,
    NeedsNoEpoch,
    RenamesAnyEpoch,
    DeletesAnyEpoch,
    ForksToLeased,
    ForgetsStatus,
    ForgetsFailure,
    ListsAnyStatus,
    ListsSavedStatus,
}

const LIFETIME: Duration = Duration::from_secs(30);

/// A store with one fault.
#[derive(Clone, Debug)]
struct FaultyStore(Fault, Arc<Records>);

#[derive(Debug, Default)]
struct Records {
    sessions: Mutex<BTreeMap<String, SessionRecord>>,
    leases: Mutex<MemoryLeases>,
    statuses: Mutex<BTreeMap<String, (SessionStatus, Option<String>)>>,
    /// Held by a writer from its read on.
    writing: tokio::sync::Mutex<()>,
    locks: [SessionLocks; 2],
    /// The number of uses of the locks.
    uses: AtomicUsize,
}

impl FaultyStore {
    fn key(&self, session: &str) -> String {
        match self.0 {
            Fault::TakesCasesForOne => session.to_lowercase(),
            Fault::EndsNamesAtZero => session.split('\0').next().unwrap().to_owned(),
            _ => session.to_owned(),
        }
    }

    fn check_lease(&self, session: &str, epoch: Option<u64>) -> Result<(), SessionError> {
        match self.0 {
            Fault::IgnoresEpochs if epoch.is_some() => Ok(()),
            Fault::NeedsNoEpoch if epoch.is_none() => Ok(()),
            _ => self.1.leases.lock().unwrap().check(session, epoch),
        }
    }
}

#[async_trait]
impl SessionStore for FaultyStore {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        let mut copy = self.1.sessions.lock().unwrap().get(&self.key(session)).cloned();
        if let (Fault::ReadsInTwo, Some(copy)) = (self.0, &mut copy) {
            tokio::task::yield_now().await;
            let later = self.1.sessions.lock().unwrap().get(&self.key(session)).cloned();
            copy.messages = later.map(|later| later.messages).unwrap_or_default();
        }
        Ok(copy)
    }

    async fn load_range(
        &self,
        session: &str,
        range: Range<usize>,
    ) -> Result<Option<SessionPart>, SessionError> {
        let record = self.load(session).await?;
        let range = match self.0 {
            Fault::LoadsAnotherRange => range.start..range.end.saturating_add(1),
            _ => range,
        };
        let mut part = record.map(|record| record.into_part(range));
        if let (Fault::CountsTheRange, Some(part)) = (self.0, &mut part) {
            part.message_count = part.messages.len();
        }
        Ok(part)
    }

    async fn fork(
        &self,
        session: &str,
        to: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        let record = self.load(session).await?;
        let (revision, count) =
            record.as_ref().map_or((0, 0), |record| (record.revision, record.messages.len()));
        if self.0 != Fault::ForksAnyRevision {
            write.check(session, revision, count)?;
        }
        let mut messages = record.map(|record| record.messages).unwrap_or_default();
        if self.0 != Fault::ForksTheWhole {
            messages.truncate(write.from);
        }
        messages.extend_from_slice(write.messages);
        let base = match (self.0, self.load(to).await?) {
            (Fault::ForksOverOthers, Some(record)) => record.revision,
            (_, Some(_)) => return Err(SessionError::AlreadyExists { session: to.to_owned() }),
            (_, None) => 0,
        };
        let mut copy = SessionWrite::update(base).messages(0, &messages).state(write.state);
        if self.0 == Fault::ForksToLeased {
            let owner = self.locks().owner();
            copy.epoch = Some(self.1.leases.lock().unwrap().acquire(to, owner, LIFETIME)?);
        }
        self.save(to, copy).await
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        let _writing = match self.0 {
            Fault::LooksAndThenWrites | Fault::HasNoLock => None,
            _ => Some(self.1.writing.lock().await),
        };
        self.check_lease(session, write.epoch)?;
        let key = self.key(session);
        let copy = self.1.sessions.lock().unwrap().get(&key).cloned();
        let (found, count) =
            copy.as_ref().map_or((0, 0), |record| (record.revision, record.messages.len()));
        let mut checked = write;
        if self.0 == Fault::OverwritesOthers {
            checked.revision = found;
        }
        if self.0 == Fault::FillsGaps {
            checked.from = checked.from.min(count);
        }
        let mut stored = copy.unwrap_or_else(|| SessionRecord::new(vec![], "", 0));
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
            // Yields, as a file would, and keeps its lock.
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
        let failure = write.failure.filter(|_| self.0 != Fault::ForgetsFailure).map(str::to_owned);
        let mut statuses = self.1.statuses.lock().unwrap();
        if self.0 != Fault::ForgetsStatus || !statuses.contains_key(&key) {
            statuses.insert(key.clone(), (write.status, failure));
        }
        self.1.sessions.lock().unwrap().insert(key, stored);
        Ok(revision)
    }

    async fn list(&self, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
        let leases = self.1.leases.lock().unwrap();
        let statuses = self.1.statuses.lock().unwrap();
        let sessions = self.1.sessions.lock().unwrap();
        let lists_any = self.0 == Fault::ListsAnyStatus;
        let saved_at = match self.0 {
            Fault::HasNoClock => SystemTime::UNIX_EPOCH,
            _ => SystemTime::now() - Duration::from_millis(1),
        };
        let count = |record: &SessionRecord| {
            record.messages.len() + usize::from(self.0 == Fault::ListsOldCounts)
        };
        let prefix = if self.0 == Fault::ListsOtherPrefixes { "" } else { query.prefix };
        let after = query.after.filter(|_| self.0 != Fault::ListsThePageBefore);
        let limit = if self.0 == Fault::ListsMoreThanAPage { None } else { query.limit };
        let mut listed: Vec<_> = sessions
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .filter(|(name, _)| after.is_none_or(|after| name.as_str() > after))
            .map(|(name, record)| {
                let (status, failure) = statuses.get(name).cloned().unwrap_or_default();
                let is_leased = leases.is_live(name) || self.0 == Fault::ListsSavedStatus;
                SessionInfo::new(name, count(record), record.revision, saved_at)
                    .status(status.listed(is_leased), failure)
            })
            .filter(|info| query.status.is_none_or(|it| it == info.status || lists_any))
            .take(limit.unwrap_or(usize::MAX))
            .collect();
        if self.0 == Fault::ListsUnsorted {
            listed.reverse();
        }
        Ok(listed)
    }

    async fn delete(&self, session: &str, epoch: Option<u64>) -> Result<(), SessionError> {
        if self.0 != Fault::DeletesAnyEpoch {
            self.check_lease(session, epoch)?;
        }
        if self.0 != Fault::ForgetsToDelete {
            self.1.sessions.lock().unwrap().remove(&self.key(session));
        }
        Ok(())
    }

    async fn rename(
        &self,
        session: &str,
        to: &str,
        epoch: Option<u64>,
    ) -> Result<(), SessionError> {
        if self.0 != Fault::RenamesAnyEpoch {
            self.check_lease(session, epoch)?;
        }
        let [from, to] = [session, to].map(|name| self.key(name));
        let mut sessions = self.1.sessions.lock().unwrap();
        let Some(record) = sessions.get(&from).cloned() else {
            return match self.0 {
                Fault::RenamesMissing => Ok(()),
                _ => Err(SessionError::NotFound { session: session.to_owned() }),
            };
        };
        if from != to {
            self.check_lease(&to, None)?;
        }
        if from != to && sessions.contains_key(&to) && self.0 != Fault::RenamesOverOthers {
            return Err(SessionError::AlreadyExists { session: to });
        }
        if self.0 != Fault::RenamesACopy {
            sessions.remove(&from);
        }
        sessions.insert(to, record);
        Ok(())
    }

    async fn acquire(
        &self,
        session: &str,
        owner: &SessionOwner,
        lifetime: Duration,
    ) -> Result<u64, SessionError> {
        let mut leases = self.1.leases.lock().unwrap();
        match self.0 {
            // As if no time passed.
            Fault::NeverExpires => leases.acquire(session, owner, LIFETIME),
            Fault::BeginsEpochsAnew => {
                let epoch = leases.acquire(session, owner, lifetime)?;
                let mut anew = MemoryLeases::default();
                anew.acquire(session, owner, lifetime)?;
                if epoch > 2 {
                    *leases = anew;
                    return Ok(1);
                }
                Ok(epoch)
            }
            Fault::LeasesTwice => leases.acquire(session, self.1.locks[0].owner(), lifetime),
            _ => leases.acquire(session, owner, lifetime),
        }
    }

    async fn renew(
        &self,
        session: &str,
        epoch: u64,
        lifetime: Duration,
    ) -> Result<(), SessionError> {
        let lifetime =
            if self.0 == Fault::ExpiresDespiteRenewal { Duration::ZERO } else { lifetime };
        self.1.leases.lock().unwrap().renew(session, epoch, lifetime)
    }

    async fn release(&self, session: &str, epoch: u64) -> Result<(), SessionError> {
        let mut leases = self.1.leases.lock().unwrap();
        match self.0 {
            Fault::KeepsReleased => {}
            Fault::ReleasesAnyEpoch => (0..=epoch + 8).for_each(|it| leases.release(session, it)),
            _ => leases.release(session, epoch),
        }
        Ok(())
    }

    fn locks(&self) -> &SessionLocks {
        &self.1.locks[match self.0 {
            Fault::SharesNoLocks => self.1.uses.fetch_add(1, Ordering::SeqCst) % 2,
            _ => 0,
        }]
    }
}

#[tokio::test]
async fn each_fault_of_a_store_is_detected() {
    const CONFLICT: &str = "a write on another revision is a conflict that names both revisions";
    const PAGES: &str = "a page has the next names with the prefix, up to the limit";
    const RANGE: &str = "a part has the messages of its range, and the count of all";
    const FENCED: &str = "a change under an epoch that was replaced or released is refused";
    const NAMES: &str = "sessions with different names are separate";
    for (fault, law) in [
        (Fault::OverwritesOthers, CONFLICT),
        (Fault::LooksAndThenWrites, "of concurrent writes on one revision, all but one conflict"),
        (Fault::HasNoLock, "of concurrent writes on one revision, all but one conflict"),
        (Fault::WritesInTwo, "a save whose future is dropped is done completely or not at all"),
        (Fault::ReadsInTwo, "a loaded record is of one save, also during concurrent writes"),
        (Fault::BeginsRevisionsAnew, "a revision is never 0 and never reused"),
        (Fault::KeepsWhatWasReplaced, "a loaded record equals the saved one"),
        (Fault::WritesHalfOfWhatItRefuses, "a loaded record is the one saved last"),
        (Fault::FillsGaps, "a write that leaves a gap between messages is invalid"),
        (Fault::TakesCasesForOne, NAMES),
        (Fault::EndsNamesAtZero, NAMES),
        (Fault::CutsLongTexts, "a loaded record equals the saved one"),
        (Fault::ForgetsToDelete, "all sessions are listed, sorted by name"),
        (Fault::ListsUnsorted, "all sessions are listed, sorted by name"),
        (Fault::ListsOldCounts, "the list has every session with its revision and message count"),
        (Fault::HasNoClock, "the list has the time of the last write, to the second at least"),
        (Fault::ListsOtherPrefixes, PAGES),
        (Fault::ListsMoreThanAPage, PAGES),
        (Fault::ListsThePageBefore, PAGES),
        (Fault::LoadsAnotherRange, RANGE),
        (Fault::CountsTheRange, RANGE),
        (Fault::ForksTheWhole, "a fork has the messages before the write and those of the write"),
        (Fault::ForksOverOthers, "a fork does not replace a session"),
        (Fault::ForksAnyRevision, "a fork of another revision is a conflict"),
        (Fault::RenamesACopy, "a renamed session has only its new name"),
        (Fault::RenamesMissing, "a session that does not exist is not renamed"),
        (Fault::RenamesOverOthers, "a renamed session does not replace another"),
        (Fault::SharesNoLocks, "a store has the same locks each time"),
        (Fault::LeasesTwice, "a live lease is refused to another owner, whom the error names"),
        (
            Fault::BeginsEpochsAnew,
            "a later epoch of a session is higher, also after everything was deleted",
        ),
        (
            Fault::NeverExpires,
            "an expired lease is free, and valid until another owner has acquired it",
        ),
        (Fault::ExpiresDespiteRenewal, "a lease that is renewed in time does not expire"),
        (Fault::ReleasesAnyEpoch, "a released lease is free, and only its own epoch releases it"),
        (Fault::KeepsReleased, FENCED),
        (
            Fault::ForgetsStatus,
            "a session is listed with the status and the failure of its last write",
        ),
        (
            Fault::ForgetsFailure,
            "a session is listed with the status and the failure of its last write",
        ),
        (Fault::ListsAnyStatus, "a query for a status selects the sessions that have it now"),
        (
            Fault::ListsSavedStatus,
            "a session is listed with the status and the failure of its last write",
        ),
        (Fault::IgnoresEpochs, FENCED),
        (Fault::RenamesAnyEpoch, FENCED),
        (Fault::DeletesAnyEpoch, FENCED),
        (Fault::NeedsNoEpoch, "a change without an epoch is refused while the session is leased"),
        (Fault::ForksToLeased, "a leased session can be forked, but not to a leased name"),
    ] {
        let open = || async { FaultyStore(fault, Arc::default()) };
        assert_found(&check(open).await, law, &format!("{fault:?}"));
    }
    assert_eq!(check(|| async { FaultyStore(Fault::None, Arc::default()) }).await, []);
}

/// A handle that lists and loads what it has cached.
#[derive(Debug)]
struct Handle {
    store: FaultyStore,
    remembers: bool,
    first_loads: Mutex<BTreeMap<String, Option<SessionRecord>>>,
    lists: bool,
}

#[async_trait]
impl SessionStore for Handle {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        let copy = self.store.load(session).await?;
        let mut first_loads = self.first_loads.lock().unwrap();
        let first = first_loads.entry(session.to_owned()).or_insert_with(|| copy.clone()).clone();
        Ok(if self.remembers { first } else { copy })
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        self.store.save(session, write).await
    }

    async fn list(&self, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
        if self.lists { self.store.list(query).await } else { Ok(Vec::new()) }
    }

    async fn delete(&self, session: &str, epoch: Option<u64>) -> Result<(), SessionError> {
        self.store.delete(session, epoch).await
    }

    async fn rename(
        &self,
        session: &str,
        to: &str,
        epoch: Option<u64>,
    ) -> Result<(), SessionError> {
        self.store.rename(session, to, epoch).await
    }

    async fn acquire(
        &self,
        session: &str,
        owner: &SessionOwner,
        lifetime: Duration,
    ) -> Result<u64, SessionError> {
        self.store.acquire(session, owner, lifetime).await
    }

    async fn renew(
        &self,
        session: &str,
        epoch: u64,
        lifetime: Duration,
    ) -> Result<(), SessionError> {
        self.store.renew(session, epoch, lifetime).await
    }

    async fn release(&self, session: &str, epoch: u64) -> Result<(), SessionError> {
        self.store.release(session, epoch).await
    }

    fn locks(&self) -> &SessionLocks {
        self.store.locks()
    }
}

#[tokio::test]
async fn each_fault_of_two_handles_is_detected() {
    let handles = |faults: [Fault; 2], remembers, lists| {
        let copy = Arc::default();
        faults.map(|fault| Handle {
            store: FaultyStore(fault, Arc::clone(&copy)),
            remembers,
            first_loads: Mutex::default(),
            lists,
        })
    };
    let loads = "a handle loads what another handle saved";
    let late = "a write on a revision that another handle replaced is a conflict";
    let law = "a handle does not load what another handle deleted";
    let none = [Fault::None; 2];
    for ([left, right], law) in [
        (handles(none, true, true), loads),
        (handles(none, false, false), "a handle lists what another handle saved"),
        (handles([Fault::None, Fault::OverwritesOthers], false, true), late),
        (handles([Fault::ForgetsToDelete; 2], false, true), law),
        (
            handles([Fault::LooksAndThenWrites; 2], false, true),
            "of concurrent writes on one revision, all but one conflict",
        ),
        (
            handles([Fault::HasNoLock; 2], false, true),
            "of concurrent writes on one revision, all but one conflict",
        ),
    ] {
        assert_found(&check_handles(left, right).await, law, law);
    }
    let apart = [(), ()].map(|()| FaultyStore(Fault::None, Arc::default()));
    let [left, right] = apart;
    assert_found(&check_handles(left, right).await, loads, "two stores");
    let [left, right] = handles(none, false, true);
    assert_eq!(check_handles(left, right).await, []);
}
