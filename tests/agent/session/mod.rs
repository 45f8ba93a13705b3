//! Sessions: their runs, the contract of stores, and SQLite files.

mod abandoned;
mod conformance;
mod early_results;
mod events;
mod extraction;
mod failing_stores;
#[cfg(feature = "sqlite")]
mod kills;
mod paused;
mod runs;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stop_reasons;
mod takeover;
