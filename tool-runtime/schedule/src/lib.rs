//! Schedules: prompts, tool calls and messages that run at set times.
//!
//! A [`Scheduler`] fires each [`Schedule`] of a store at its times, also if several processes run
//! one, and [`ScheduleTools`] let a model create schedules.
//!
//! tool-runtime exports this crate as `tool_runtime::schedule`, by the feature `schedule`. Its
//! [guide](https://docs.rs/tool-runtime) has the page `schedules`.
#![cfg_attr(docsrs, feature(doc_cfg))]

// # The path of an occurrence
// 1. A `Schedule` (`definition.rs`) has a `Timing` (`timing/`). It is stored as a `ScheduleRecord`
//    (`record.rs`, `outcome.rs`) in a store of records (`schedules.rs`).
// 2. `timing/occurrences.rs` computes the occurrences, and `scheduler/due.rs` decides which of them
//    is due, and which were missed.
// 3. `scheduler/plan.rs` decides on claims and their results: whether a failed occurrence is
//    retried, and when the next one fires (`scheduler/delay.rs`).
// 4. `scheduler/worker.rs`: a `Scheduler` claims the occurrence in the store, and
//    `scheduler/executor.rs` performs the action with the rights of its principal.
// 5. The change of the record becomes events (`event.rs`), which `scheduler/emit.rs` emits once the
//    record is saved.
//
// `tools/` lets a model create schedules.
//
// # Invariants
// - The claim of an occurrence is saved before the occurrence is fired, and of many schedulers one
//   saves it. An occurrence fires at most once, unless repeating it is safe.
// - Each occurrence of an active schedule is fired, or reported as missed.
// - A record that can't be decoded is listed and reported, and does not stop the others.
// - Each outcome, retry and stop is an event.
// - Times are arguments: only the clock of the scheduler is read.

mod definition;
mod event;
mod list;
mod outcome;
mod record;
mod scheduler;
mod schedules;
mod timing;
mod tools;

pub use definition::{Action, MAX_MISSED, MissedPolicy, Schedule};
pub use event::ScheduleEvent;
/// The version of the crate `jiff` that this crate uses, for times.
pub use jiff;
pub use list::{ScheduleList, ScheduleQuery};
pub use outcome::{HistoryEntry, MAX_HISTORY, OccurrenceCounts, Outcome};
pub use record::{Retry, ScheduleRecord, ScheduleState};
pub use scheduler::Scheduler;
pub use scheduler::attempt::PRINCIPAL;
pub use scheduler::executor::Executor;
pub use schedules::Schedules;
pub use timing::{Timing, TimingError};
pub use tools::ScheduleTools;
