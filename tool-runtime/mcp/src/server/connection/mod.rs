//! Messages of one client: how they arrive, and how answers leave.

pub(super) mod decode;
pub(super) mod malformed;
pub(super) mod notifications;
pub(super) mod outbox;
#[cfg(feature = "server")]
pub(super) mod peer;
#[cfg(feature = "server")]
pub(super) mod running;
pub(super) mod session;
pub(super) mod stream;
pub(super) mod transport;
pub(super) mod unanswered;
