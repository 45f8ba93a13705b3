//! Sessions: their runs, the contract of stores, and SQLite files.

#[path = "session/abandoned.rs"]
mod abandoned;
#[path = "session/conformance.rs"]
mod conformance;
#[path = "session/early_results.rs"]
mod early_results;
#[path = "session/events.rs"]
mod events;
#[path = "session/extraction.rs"]
mod extraction;
#[path = "session/failing_stores.rs"]
mod failing_stores;
#[cfg(feature = "sqlite")]
#[path = "session/kills.rs"]
mod kills;
#[path = "session/paused.rs"]
mod paused;
#[path = "session/runs.rs"]
mod runs;
#[cfg(feature = "sqlite")]
#[path = "session/sqlite.rs"]
mod sqlite;
#[path = "session/stop_reasons.rs"]
mod stop_reasons;
#[path = "session/takeover.rs"]
mod takeover;
