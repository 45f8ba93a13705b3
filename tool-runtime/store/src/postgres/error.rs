//! Why a database can't be used, and which errors are transient.

use std::error::Error;
use std::io;

use deadpool_postgres::{HookError, PoolError};
use tokio_postgres::error::SqlState;

use crate::sessions::corrupt_record;
use tool_core::agent::session::SessionError;

/// The reason why a PostgreSQL store cannot be opened. The tables are unchanged.
///
/// ```
/// use tool_runtime::store::{ConnectError, Postgres};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let error = Postgres::connect("host=/no/such/folder user=app").await.unwrap_err();
/// assert!(matches!(error, ConnectError::Unavailable { .. }));
/// assert!(error.is_transient());
///
/// let error = Postgres::connect("hots=localhost").await.unwrap_err();
/// assert!(error.to_string().ends_with("unknown option `hots`"));
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The connection string is invalid.
    #[error("invalid connection string for PostgreSQL: {}", chain(&**source))]
    InvalidConfig {
        /// Error of the client.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A newer version of the program has written the tables.
    #[error(
        "unsupported version of the tables of `{part}`: {version}, at most {supported}; use a \
         newer version of the program, or another schema"
    )]
    UnsupportedVersion {
        /// The part of the program that has the tables.
        part: String,
        /// Version of the tables.
        version: usize,
        /// Highest version that this program supports.
        supported: usize,
    },
    /// The server can't be reached now: it may be starting, or it may have too many connections.
    #[error("database unavailable: {}", chain(&**source))]
    Unavailable {
        /// Error of the client or of the pool.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server refused the user, the database or a statement.
    #[error("database refused the connection or a statement: {}", chain(&**source))]
    Refused {
        /// Error of the server.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl ConnectError {
    /// Returns whether the same attempt may succeed later, because the server can't be reached now.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    pub(super) fn from_failure(failure: Failure) -> Self {
        let is_transient = failure.sql_state().is_none_or(is_transient);
        let source = failure.into_source();
        if is_transient { Self::Unavailable { source } } else { Self::Refused { source } }
    }
}

/// The error of an operation, of which the session is not known yet.
#[derive(Debug)]
pub(super) enum Failure {
    Session(SessionError),
    Statement(tokio_postgres::Error),
    Pool(PoolError),
}

impl Failure {
    /// Returns whether the operation can run again at once: its connection was lost, or the server
    /// has undone it in favor of another one.
    pub(super) fn can_run_again(&self) -> bool {
        let Self::Statement(error) = self else { return false };
        match error.code() {
            Some(state) => [
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
                SqlState::T_R_SERIALIZATION_FAILURE,
                SqlState::T_R_DEADLOCK_DETECTED,
            ]
            .contains(state),
            None => error.is_closed() || io_error(error).is_some_and(|kind| !is_unsendable(kind)),
        }
    }

    /// Returns whether the statement would have made two rows with the same name.
    pub(super) fn is_duplicate(&self) -> bool {
        self.sql_state() == Some(&SqlState::UNIQUE_VIOLATION)
    }

    /// Converts the error: an altered table differs from a server that is busy or read-only.
    pub(super) fn of_session(self, session: &str) -> SessionError {
        let invalid = |reason| SessionError::InvalidWrite { session: session.to_owned(), reason };
        match &self {
            Self::Session(_) => {}
            Self::Statement(error) if io_error(error).is_some_and(is_unsendable) => {
                return invalid(chain(error));
            }
            Self::Statement(_) | Self::Pool(_) => {
                if let Some(state) = self.sql_state() {
                    let reason = || format!("{} (SQLSTATE {})", self.text(), state.code());
                    match Class::of(state) {
                        Class::Transient => {}
                        Class::InvalidWrite => return invalid(reason()),
                        Class::Corrupt => return corrupt_record(session, None, reason()),
                    }
                }
            }
        }
        match self {
            Self::Session(error) => error,
            other => SessionError::unavailable(other.text()),
        }
    }

    /// Returns whether the same operation may succeed later.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Session(error) => error.is_transient(),
            Self::Statement(error) if error.code().is_none() => self.can_run_again(),
            Self::Statement(_) | Self::Pool(_) => self.sql_state().is_none_or(is_transient),
        }
    }

    pub(super) fn sql_state(&self) -> Option<&SqlState> {
        match self {
            Self::Session(_) => None,
            Self::Statement(error) => error.code(),
            Self::Pool(
                PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)),
            ) => error.code(),
            Self::Pool(_) => None,
        }
    }

    pub(super) fn text(&self) -> String {
        chain(self.source())
    }

    pub(super) fn source(&self) -> &(dyn Error + 'static) {
        match self {
            Self::Session(error) => error,
            Self::Statement(error) => error,
            Self::Pool(error) => error,
        }
    }

    fn into_source(self) -> Box<dyn Error + Send + Sync> {
        match self {
            Self::Session(error) => Box::new(error),
            Self::Statement(error) => Box::new(error),
            Self::Pool(error) => Box::new(error),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Statement(error)
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        Self::Pool(error)
    }
}

/// Consequence of a server error for an operation on a session.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Class {
    Transient,
    InvalidWrite,
    Corrupt,
}

impl Class {
    fn of(state: &SqlState) -> Self {
        match state.code() {
            // Not enough privileges; a standby, or a database that is read-only.
            "42501" | "25006" => Self::InvalidWrite,
            // A value that the server can't store, such as a name that is too long for the index.
            code if code.starts_with("22") || code.starts_with("54") => Self::InvalidWrite,
            // A statement that does not fit the tables, or a damaged file of the server.
            code if code.starts_with("42") || code.starts_with("XX") => Self::Corrupt,
            _ => Self::Transient,
        }
    }
}

/// Returns whether a server with this error may accept the same statement later.
fn is_transient(state: &SqlState) -> bool {
    let code = state.code();
    // Connections, resources, locks, shutdowns and the system of the server.
    ["08", "40", "53", "55P03", "57P", "57014", "58"].iter().any(|class| code.starts_with(class))
}

/// Returns the kind of the error of the operating system, if the client had one.
fn io_error(error: &tokio_postgres::Error) -> Option<io::ErrorKind> {
    error.source()?.downcast_ref::<io::Error>().map(io::Error::kind)
}

/// Returns whether a statement is too large for the protocol.
fn is_unsendable(kind: io::ErrorKind) -> bool {
    kind == io::ErrorKind::InvalidInput
}

/// Returns the texts of an error and of its causes.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // Errors of the pool repeat their cause.
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_transient_invalid_or_damage() {
        for (code, class, transient) in [
            ("08006", Class::Transient, true),
            ("53300", Class::Transient, true),
            ("55P03", Class::Transient, true),
            ("57P01", Class::Transient, true),
            ("57014", Class::Transient, true),
            ("40P01", Class::Transient, true),
            ("28P01", Class::Transient, false),
            ("3D000", Class::Transient, false),
            ("25006", Class::InvalidWrite, false),
            ("42501", Class::InvalidWrite, false),
            ("54000", Class::InvalidWrite, false),
            ("42P01", Class::Corrupt, false),
            ("XX001", Class::Corrupt, false),
        ] {
            let state = SqlState::from_code(code);
            assert_eq!((Class::of(&state), is_transient(&state)), (class, transient), "{code}");
        }
    }
}
