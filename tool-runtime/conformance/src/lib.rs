//! Suites that test implementations of the traits of [tool-runtime](https://docs.rs/tool-runtime).
//!
//! Add the crate to the `dev-dependencies` of a store, a codec or an observer, and call the suite
//! of its trait in a test. A suite returns a list of [violations](Violation), which is empty if the
//! implementation keeps the contract:
//!
//! ```
//! use tool_conformance::records;
//! use tool_runtime::records::MemoryRecords;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let found = records::check(|| async { MemoryRecords::new() }).await;
//! assert_eq!(found, []);
//! # }
//! ```
//!
//! | trait | suite | feature |
//! |---|---|---|
//! | `records::Records` | `records` | `records` (default) |
//! | `agent::session::SessionStore` | `sessions` | `sessions` (default) |
//! | `knowledge::DocumentStore` | `documents` | `documents` |
//! | `mcp::PinStore` | `pins` | `pins` |
//! | `providers::codec::Codec`, `ChatModel` | `codecs` | `codecs` |
//! | `event::Observer` | `observers` | `observers` |
//!
//! # How a suite runs
//! - Each check has a store without content, and reports the first rule that it violates. One
//!   defect may violate several rules.
//! - A panic of the implementation is a violation, too. The suites never panic.
//! - Concurrent writers run as tasks and on separate threads, whatever the runtime, so that a store
//!   without a lock is found on a runtime of one thread as well.
//! - Checks that wait use tokio's clock: don't pause it.
//! - The checks can't cover a killed process or a lost connection.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(
        feature = "codecs",
        feature = "documents",
        feature = "observers",
        feature = "pins",
        feature = "records",
        feature = "sessions"
    )),
    allow(dead_code, reason = "each suite uses a part of what they share")
)]

// `violation.rs` is what the suites return, and `checks.rs` runs them.

mod checks;
#[cfg(feature = "codecs")]
pub mod codecs;
mod difference;
#[cfg(feature = "documents")]
pub mod documents;
#[cfg(feature = "observers")]
pub mod observers;
#[cfg(feature = "pins")]
pub mod pins;
#[cfg(feature = "records")]
pub mod records;
#[cfg(feature = "sessions")]
pub mod sessions;
#[cfg(all(test, any(feature = "codecs", feature = "observers")))]
mod variants;
mod violation;

pub use violation::Violation;
