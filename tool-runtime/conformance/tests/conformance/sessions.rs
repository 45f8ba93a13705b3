//! Stores of sessions conform, and the suite finds each fault of a store.

mod faulty_store;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tool_conformance::sessions::{check, check_handles};
use tool_runtime::agent::session::{
    MemorySessions, SessionError, SessionInfo, SessionLocks, SessionOwner, SessionQuery,
    SessionRecord, SessionStore, SessionWrite,
};
use tool_runtime::async_trait;
use tool_runtime::store::Sqlite;

use crate::{Folder, assert_found};
use faulty_store::{Fault, FaultyStore};

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

#[tokio::test]
async fn each_fault_of_a_store_is_detected() {
    const CONFLICT: &str = "a write on another revision is a conflict that names both revisions";
    const PAGES: &str = "a page has the next names with the prefix, up to the limit";
    const RANGE: &str = "a part has the messages of its range, and the count of all";
    const FENCED: &str = "a change under an epoch that was replaced or released is refused";
    const PRINCIPAL: &str = "a session has the principal of the write that created it";
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
        (Fault::ForgetsIds, "a loaded message has the id of the saved one"),
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
        (Fault::ForgetsPrincipal, PRINCIPAL),
        (Fault::ChangesPrincipal, PRINCIPAL),
        (Fault::ListsAnyPrincipal, "a query for a principal selects its sessions"),
        (Fault::TakesNoPrincipalForAny, "a query for a principal selects its sessions"),
        (
            Fault::ChangesTitle,
            "a session has the title of the write that created it, or the one set last",
        ),
        (Fault::TitlesMissing, "a session that does not exist gets no title"),
        (Fault::TitlesTwice, "a title is set without a lease, and changes nothing else"),
        (Fault::NeedsALeaseToTitle, "a title is set without a lease, and changes nothing else"),
        (Fault::ForksWithoutLabels, "a fork has the principal and the title of its session"),
        (Fault::RenamesWithoutLabels, "a renamed session keeps its principal and its title"),
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

    async fn set_title(&self, session: &str, title: Option<&str>) -> Result<(), SessionError> {
        self.store.set_title(session, title).await
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
