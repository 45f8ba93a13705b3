//! Operations on the tables of sessions, each in one transaction.
//!
//! `load.rs` reads sessions, `save.rs` writes them, `edit.rs` copies, renames and deletes them, and
//! `row.rs` finds and locks their rows.

mod edit;
mod load;
mod row;
mod save;

use deadpool_postgres::Pool;

pub(super) use edit::{delete, fork, rename};
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
        -- The checksum of the name and of the other columns.
        checksum BIGINT NOT NULL
    );
    CREATE TABLE tool_messages (
        session BIGINT NOT NULL,
        place BIGINT NOT NULL,
        message BYTEA NOT NULL,
        -- The checksum of the messages up to this one, bound to the session.
        chain BIGINT NOT NULL,
        PRIMARY KEY (session, place)
    );
"];

/// Creates the tables of sessions, or migrates those of an earlier version.
pub(super) async fn migrate(pool: &Pool) -> Result<(), ConnectError> {
    migrations::migrate(pool, PART, &MIGRATIONS).await
}
