//! Pointers to a session store are stores.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::SessionStore;
use crate::agent::session::{
    SessionError, SessionInfo, SessionLocks, SessionOwner, SessionPart, SessionQuery,
    SessionRecord, SessionWrite,
};

/// Implements the trait for a pointer to a store, which forwards each method.
macro_rules! forward {
    ($(#[$doc:meta] $pointer:ident),*) => {$(
        #[$doc]
        #[diagnostic::do_not_recommend]
        #[async_trait]
        impl<S: SessionStore + ?Sized> SessionStore for $pointer<S> {
            async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
                self.as_ref().load(session).await
            }

            async fn load_range(
                &self,
                session: &str,
                range: Range<usize>,
            ) -> Result<Option<SessionPart>, SessionError> {
                self.as_ref().load_range(session, range).await
            }

            async fn save(
                &self,
                session: &str,
                write: SessionWrite<'_>,
            ) -> Result<u64, SessionError> {
                self.as_ref().save(session, write).await
            }

            async fn fork(
                &self,
                session: &str,
                to: &str,
                write: SessionWrite<'_>,
            ) -> Result<u64, SessionError> {
                self.as_ref().fork(session, to, write).await
            }

            async fn list(
                &self,
                query: SessionQuery<'_>,
            ) -> Result<Vec<SessionInfo>, SessionError> {
                self.as_ref().list(query).await
            }

            async fn set_title(
                &self,
                session: &str,
                title: Option<&str>,
            ) -> Result<(), SessionError> {
                self.as_ref().set_title(session, title).await
            }

            async fn rename(
                &self,
                session: &str,
                to: &str,
                epoch: Option<u64>,
            ) -> Result<(), SessionError> {
                self.as_ref().rename(session, to, epoch).await
            }

            async fn delete(
                &self,
                session: &str,
                epoch: Option<u64>,
            ) -> Result<(), SessionError> {
                self.as_ref().delete(session, epoch).await
            }

            async fn acquire(
                &self,
                session: &str,
                owner: &SessionOwner,
                lifetime: Duration,
            ) -> Result<u64, SessionError> {
                self.as_ref().acquire(session, owner, lifetime).await
            }

            async fn renew(
                &self,
                session: &str,
                epoch: u64,
                lifetime: Duration,
            ) -> Result<(), SessionError> {
                self.as_ref().renew(session, epoch, lifetime).await
            }

            async fn release(&self, session: &str, epoch: u64) -> Result<(), SessionError> {
                self.as_ref().release(session, epoch).await
            }

            fn locks(&self) -> &SessionLocks {
                self.as_ref().locks()
            }
        }
    )*};
}

forward! {
    /// Forwards to the store in the `Arc`, so that agents can share it.
    Arc,
    /// Forwards to the store in the `Box`, so that a program can choose it when it starts.
    Box
}
