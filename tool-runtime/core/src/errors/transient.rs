//! Classifies errors that a tool returns by `?`.

use std::error::Error;
use std::io;
use std::iter::successors;

use tokio::time::error::Elapsed;
use tool_http::TransportError;

use super::{ApiError, ModelError, SessionError};
use crate::guard::MAX_CAUSES;
use crate::records::StoreError;

/// The types that are known: each returns `None` for an error of another type.
const CLASSIFIERS: [fn(&(dyn Error + 'static)) -> Option<bool>; 7] = [
    |error| error.downcast_ref().map(TransportError::is_transient),
    |error| error.downcast_ref().map(ModelError::is_transient),
    |error| error.downcast_ref().map(ApiError::is_transient),
    |error| error.downcast_ref().map(SessionError::is_transient),
    |error| error.downcast_ref().map(|error| matches!(error, StoreError::Unavailable(_))),
    |error| error.is::<Elapsed>().then_some(true),
    // An error of another kind may wrap one that is known.
    |error| error.downcast_ref().filter(|error: &&io::Error| is_broken(error.kind())).map(|_| true),
];

/// Returns whether the operation that failed may succeed later: a connection failed or timed out, a
/// service is busy. The outermost error of a known type decides, whatever errors it is wrapped in.
pub(crate) fn is_transient(error: &(dyn Error + 'static)) -> bool {
    let causes = successors(Some(error), |&error| cause(error)).take(MAX_CAUSES);
    let classify = |cause| CLASSIFIERS.iter().find_map(|classify| classify(cause));
    causes.into_iter().find_map(classify).unwrap_or_default()
}

/// Returns the error that this one wraps.
fn cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    // The source of an `io::Error` is that of the error that it wraps.
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

fn is_broken(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable, NetworkDown,
        NetworkUnreachable, TimedOut,
    };
    matches!(kind, ConnectionAborted | ConnectionRefused | ConnectionReset)
        || matches!(kind, HostUnreachable | NetworkDown | NetworkUnreachable | TimedOut)
}
