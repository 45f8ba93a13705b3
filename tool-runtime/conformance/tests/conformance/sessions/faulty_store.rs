//! A store of sessions with one fault.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tool_runtime::agent::session::{
    MemoryLeases, SessionError, SessionInfo, SessionLocks, SessionOwner, SessionPart, SessionQuery,
    SessionRecord, SessionStatus, SessionStore, SessionWrite,
};
use tool_runtime::{Message, async_trait};

/// The faults that a store can have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
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
    ForgetsIds,
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
    ForgetsPrincipal,
    ChangesPrincipal,
    ListsAnyPrincipal,
    TakesNoPrincipalForAny,
    ChangesTitle,
    TitlesMissing,
    TitlesTwice,
    NeedsALeaseToTitle,
    ForksWithoutLabels,
    RenamesWithoutLabels,
}

/// The principal and the title of a session.
type Labels = (Option<String>, Option<String>);

const LIFETIME: Duration = Duration::from_secs(30);

/// A store with one fault.
#[derive(Clone, Debug)]
pub(super) struct FaultyStore(pub(super) Fault, pub(super) Arc<Records>);

#[derive(Debug, Default)]
pub(super) struct Records {
    sessions: Mutex<BTreeMap<String, SessionRecord>>,
    leases: Mutex<MemoryLeases>,
    statuses: Mutex<BTreeMap<String, (SessionStatus, Option<String>)>>,
    /// The principal and the title of each session.
    labels: Mutex<BTreeMap<String, Labels>>,
    saved_at: Mutex<BTreeMap<String, SystemTime>>,
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
        copy = copy.status(write.status, write.failure);
        let labels = self.1.labels.lock().unwrap().get(&self.key(session)).cloned();
        let (principal, title) = labels.unwrap_or_default();
        if self.0 != Fault::ForksWithoutLabels {
            copy = copy.principal(principal.as_deref()).title(title.as_deref());
        }
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
        let forget = |message: &Message| match message.clone() {
            Message::User { parts, .. } if self.0 == Fault::ForgetsIds => {
                Message::user_parts(parts)
            }
            message => message,
        };
        stored.messages.extend(write.messages.iter().map(forget));
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
        let new = (write.principal.map(str::to_owned), write.title.map(str::to_owned));
        let time = SystemTime::now() - Duration::from_millis(1);
        self.1.saved_at.lock().unwrap().insert(key.clone(), time);
        let mut labels = self.1.labels.lock().unwrap();
        if found == 0 {
            labels.insert(key.clone(), new);
        } else if let Some((principal, title)) = labels.get_mut(&key) {
            match self.0 {
                Fault::ForgetsPrincipal => *principal = None,
                Fault::ChangesPrincipal if new.0.is_some() => *principal = new.0,
                Fault::ChangesTitle => *title = new.1,
                _ => {}
            }
        }
        self.1.sessions.lock().unwrap().insert(key, stored);
        Ok(revision)
    }

    async fn list(&self, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
        let leases = self.1.leases.lock().unwrap();
        let statuses = self.1.statuses.lock().unwrap();
        let sessions = self.1.sessions.lock().unwrap();
        let labels = self.1.labels.lock().unwrap();
        let lists_any = self.0 == Fault::ListsAnyStatus;
        let saved_at = match self.0 {
            Fault::HasNoClock => SystemTime::UNIX_EPOCH,
            _ => SystemTime::now(),
        };
        let times = self.1.saved_at.lock().unwrap();
        let saved_at = |name: &String| match (self.0, times.get(name)) {
            (Fault::HasNoClock, _) | (_, None) => saved_at,
            (_, Some(time)) => *time,
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
                let (principal, title) = labels.get(name).cloned().unwrap_or_default();
                SessionInfo::new(name, count(record), record.revision, saved_at(name))
                    .status(status.listed(is_leased), failure)
                    .principal(principal)
                    .title(title)
            })
            .filter(|info| match (self.0, query.principal) {
                (Fault::ListsAnyPrincipal, _) | (_, None) => true,
                (Fault::TakesNoPrincipalForAny, Some("")) if info.principal.is_none() => true,
                (_, principal) => info.principal.as_deref() == principal,
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

    async fn set_title(&self, session: &str, title: Option<&str>) -> Result<(), SessionError> {
        if self.0 == Fault::NeedsALeaseToTitle {
            self.check_lease(session, None)?;
        }
        let key = self.key(session);
        let mut sessions = self.1.sessions.lock().unwrap();
        let Some(record) = sessions.get_mut(&key) else {
            return match self.0 {
                Fault::TitlesMissing => Ok(()),
                _ => Err(SessionError::NotFound { session: session.to_owned() }),
            };
        };
        if self.0 == Fault::TitlesTwice {
            record.revision += 1;
        }
        let mut labels = self.1.labels.lock().unwrap();
        labels.entry(key).or_default().1 = title.map(str::to_owned);
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
        let mut labels = self.1.labels.lock().unwrap();
        let label = labels.get(&from).cloned().unwrap_or_default();
        if self.0 != Fault::RenamesWithoutLabels {
            labels.insert(to.clone(), label);
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
