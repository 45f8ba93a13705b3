//! Operations on the tables of sessions, each in one transaction.
//!
//! `load.rs` reads sessions, `save.rs` writes them, `edit.rs` copies, renames and deletes them,
//! `lease.rs` acquires their leases and checks them, and `row.rs` finds and locks their rows.

mod edit;
mod lease;
mod load;
mod row;
mod save;

use deadpool_postgres::Pool;

pub(super) use edit::{delete, fork, rename, set_title};
pub(super) use lease::{acquire, release, renew};
pub(super) use load::{list, load_range};
pub(super) use save::save;

use super::error::ConnectError;
use super::migrations;

/// The name of the tables of sessions among those of other parts.
const PART: &str = "tool_sessions";

/// Migrations from each version to the next. Never change an existing one: databases in use were
/// created by it.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE tool_sessions (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name BYTEA NOT NULL UNIQUE,
        revision BIGINT NOT NULL,
        -- How many there are, so that one that was lost is missed.
        messages BIGINT NOT NULL,
        state BYTEA NOT NULL,
        -- In microseconds since 1970.
        saved_at BIGINT NOT NULL,
        state_checksum BIGINT NOT NULL,
        -- The checksum of all messages.
        chain BIGINT NOT NULL,
        -- As of the last write: whether a run is in progress also depends on its lease.
        status TEXT NOT NULL,
        -- The code with which the last run stopped, or empty.
        failure TEXT NOT NULL,
        -- The user or tenant to whom the session belongs.
        principal BYTEA,
        title BYTEA,
        -- The checksum of the name and of the other columns.
        checksum BIGINT NOT NULL
    );
    CREATE INDEX tool_sessions_by_status ON tool_sessions (status, name);
    CREATE INDEX tool_sessions_by_principal ON tool_sessions (principal, name);
    CREATE TABLE tool_messages (
        session BIGINT NOT NULL,
        place BIGINT NOT NULL,
        message BYTEA NOT NULL,
        -- The checksum of the messages up to this one, bound to the session.
        chain BIGINT NOT NULL,
        PRIMARY KEY (session, place)
    );
    CREATE TABLE tool_leases (
        -- Part of a key, so that an acquisition waits for the writes under the epoch before it, and
        -- a renewal does not. It is never reused, even if all leases are deleted.
        epoch BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        -- There need not be a session of this name.
        name BYTEA NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        label TEXT NOT NULL,
        expires_at TIMESTAMPTZ NOT NULL
    );
"];

/// Creates the tables of sessions, or migrates those of an earlier version.
pub(super) async fn migrate(pool: &Pool) -> Result<(), ConnectError> {
    migrations::migrate(pool, PART, &MIGRATIONS).await
}
