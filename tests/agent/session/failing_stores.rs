//! Stores that fail: the run stops, and its transcript is complete and true.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::sessions::{Intercepted, OnSave};
use tool_runtime::agent::session::{
    MemorySessions, SessionError, SessionInfo, SessionLocks, SessionOwner, SessionQuery,
    SessionRecord, SessionStore, SessionWrite,
};
use tool_runtime::{Message, StopReason, async_trait};

use super::runs::{Log, agent};

#[tokio::test]
async fn panicking_store_stops_the_run_and_keeps_the_transcript() {
    #[derive(Clone, Debug, Default)]
    struct Broken(SessionLocks);
    #[async_trait]
    impl SessionStore for Broken {
        async fn load(&self, _: &str) -> Result<Option<SessionRecord>, SessionError> {
            Ok(Some(SessionRecord::new(vec![], "no state", 1)))
        }
        async fn save(&self, _: &str, _: SessionWrite<'_>) -> Result<u64, SessionError> {
            panic!("no disk")
        }
        async fn list(&self, _: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
            Ok(vec![])
        }
        async fn delete(&self, _: &str, _: Option<u64>) -> Result<(), SessionError> {
            Ok(())
        }

        async fn set_title(&self, _: &str, _: Option<&str>) -> Result<(), SessionError> {
            Ok(())
        }

        async fn rename(&self, _: &str, _: &str, _: Option<u64>) -> Result<(), SessionError> {
            Ok(())
        }

        async fn acquire(
            &self,
            _: &str,
            _: &SessionOwner,
            _: Duration,
        ) -> Result<u64, SessionError> {
            Ok(1)
        }
        async fn renew(&self, _: &str, _: u64, _: Duration) -> Result<(), SessionError> {
            Ok(())
        }
        async fn release(&self, _: &str, _: u64) -> Result<(), SessionError> {
            Ok(())
        }
        fn locks(&self) -> &SessionLocks {
            &self.0
        }
    }
    let stopped =
        agent(&Log::default()).session(Broken::default(), "s").run("Go").await.unwrap_err();
    assert!(
        matches!(stopped.reason, StopReason::Session(SessionError::Corrupt { .. })),
        "{stopped}"
    );
}

/// A store that accepts so many saves.
#[derive(Clone, Debug)]
struct Full(Arc<AtomicUsize>);

#[async_trait]
impl OnSave for Full {
    async fn save(
        &self,
        store: &MemorySessions,
        session: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        let left =
            self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map_err(|_| SessionError::unavailable("the disk is full"))?;
        store.save(session, write).await
    }
}

/// If the start of calls can't be saved, they are not run, and their results say so.
#[tokio::test]
async fn calls_are_not_run_if_their_start_cannot_be_saved() {
    for saves in 0..7 {
        let log = Log::default();
        let store = Intercepted::new(Full(Arc::new(saves.into())));
        let stopped = agent(&log).session(store, "s").run("Go").await.unwrap_err();
        assert!(matches!(stopped.reason, StopReason::Session(_)), "{stopped}");
        let output = stopped.transcript.iter().flat_map(|message| match message {
            Message::Tool { results } => results.as_slice(),
            _ => &[],
        });
        let codes: Vec<_> = output.filter_map(|result| result.error.as_deref()).collect();
        assert!(!codes.contains(&"TOOL_INDETERMINATE"), "{saves}: {codes:?}");
        let ran = log.lock().unwrap().len();
        let calls = stopped.transcript.iter().flat_map(Message::calls).count();
        assert_eq!(ran + codes.len(), calls, "{saves}");
    }
}
