//! Sessions: their runs, and SQLite files.

mod abandoned;
#[cfg(feature = "sqlite")]
mod altered_files;
mod concurrent;
mod early_results;
mod edits;
mod errors;
mod events;
#[cfg(feature = "sqlite")]
mod exchanged_records;
mod extraction;
mod failing_stores;
mod inbox;
mod info;
#[cfg(feature = "sqlite")]
mod kills;
mod long_conversations;
#[cfg(feature = "sqlite")]
mod owners;
mod paused;
mod process;
mod reattach;
mod runs;
mod saved_decisions;
#[cfg(feature = "sqlite")]
mod sqlite;
mod started_marks;
#[cfg(feature = "sqlite")]
mod startup;
mod statuses;
mod stop_reasons;
mod takeover;

/// The lifetime of leases in tests that kill processes: here, a lease ends with its process.
#[cfg(feature = "sqlite")]
const LEASE_LIFETIME: std::time::Duration = std::time::Duration::from_secs(3_600);

/// Opens the store of a test that kills processes.
#[cfg(feature = "sqlite")]
async fn open_store(folder: &std::path::Path) -> tool_runtime::store::Sqlite {
    tool_runtime::store::Sqlite::open(folder.join("sessions.db")).await.unwrap()
}
