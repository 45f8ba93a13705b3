//! Schedules: prompts, tool calls and messages that run at set times.
//!
//! # The path of an occurrence
//! 1. A [`Schedule`] (`definition.rs`) has a [`Timing`] (`timing.rs`, `zone.rs`). It is stored as a
//!    [`ScheduleRecord`] (`record.rs`, `outcome.rs`) by a [`ScheduleStore`] (`store.rs`,
//!    `memory.rs`, `sqlite.rs`, `postgres.rs`, `stored_row.rs`).
//! 2. `occurrences.rs` computes the occurrences, and `plan.rs` decides which of them is due, which
//!    were missed, and whether a failed one is repeated.
//! 3. `worker.rs`: a [`Scheduler`] (`scheduler.rs`, `settings.rs`) claims the occurrence in the
//!    store, and `executor.rs` performs the action with the rights of its principal.
//!
//! `tools.rs` lets a model create schedules (`arguments/`, `rows.rs`). `conformance/` tests
//! stores.
//!
//! # Invariants
//! - The claim of an occurrence is saved before the occurrence is fired, and of many schedulers one
//!   saves it. An occurrence fires at most once, unless repeating it is safe.
//! - Each occurrence of an active schedule is fired, or reported as missed.
//! - Times are arguments: only the clock of the scheduler is read.

mod arguments;
pub mod conformance;
mod definition;
mod executor;
mod memory;
mod occurrences;
mod outcome;
mod plan;
#[cfg(feature = "postgres")]
mod postgres;
mod record;
mod rows;
mod scheduler;
mod settings;
mod sqlite;
mod store;
mod stored_row;
mod timing;
mod tools;
mod worker;
mod zone;

pub use definition::{Action, MAX_MISSED, MissedPolicy, Schedule};
pub use executor::{Executor, PRINCIPAL};
/// The version of the crate `jiff` that this crate uses, for times.
pub use jiff;
pub use memory::MemorySchedules;
pub use occurrences::Occurrences;
pub use outcome::{HistoryEntry, MAX_HISTORY, OccurrenceCounts, Outcome};
#[cfg(feature = "postgres")]
pub use postgres::PostgresSchedules;
pub use record::{Claim, Retry, ScheduleRecord, ScheduleState};
pub use scheduler::Scheduler;
pub use sqlite::SqliteSchedules;
pub use store::{CorruptSchedule, ScheduleError, ScheduleQuery, ScheduleStore};
pub use timing::{Timing, TimingError};
pub use tools::ScheduleTools;
pub use zone::UnknownZone;
