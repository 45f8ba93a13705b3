//! Dispatch: single calls, batches and policies.

mod batches;
mod call;
mod policy;
mod serve;
