//! The tables of sessions.

/// The name of the tables of sessions among those of other parts.
pub(super) const PART: &str = "tool_sessions";

/// Migrations from each version to the next. Never change an existing one: files in use were
/// created by it.
pub(super) const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,
        -- How many there are, so that one that was lost is missed.
        messages INTEGER NOT NULL,
        state TEXT NOT NULL,
        -- In microseconds since 1970.
        saved_at INTEGER NOT NULL,
        state_checksum INTEGER NOT NULL,
        -- The checksum of all messages.
        chain INTEGER NOT NULL,
        -- As of the last write: whether a run is in progress also depends on its lease.
        status TEXT NOT NULL,
        -- The code with which the last run stopped, or empty.
        failure TEXT NOT NULL,
        -- The user or tenant to whom the session belongs.
        principal TEXT,
        title TEXT,
        -- The checksum of the name and of the other columns.
        checksum INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX sessions_by_status ON sessions (status, name);
    CREATE INDEX sessions_by_principal ON sessions (principal, name);
    CREATE TABLE messages (
        session INTEGER NOT NULL,
        place INTEGER NOT NULL,
        message TEXT NOT NULL,
        -- The checksum of the messages up to this one, bound to the session.
        chain INTEGER NOT NULL,
        PRIMARY KEY (session, place)
    ) STRICT;
    -- The names of all sessions: one row.
    CREATE TABLE names (
        id INTEGER PRIMARY KEY,
        count INTEGER NOT NULL,
        digest INTEGER NOT NULL
    ) STRICT;
    INSERT INTO names (id, count, digest) VALUES (1, 0, 0);
    CREATE TABLE leases (
        -- Is never reused, even if all leases are deleted.
        epoch INTEGER PRIMARY KEY AUTOINCREMENT,
        -- There need not be a session of this name.
        name TEXT NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        label TEXT NOT NULL,
        -- In microseconds since 1970.
        expires_at INTEGER NOT NULL
    ) STRICT;
"];
