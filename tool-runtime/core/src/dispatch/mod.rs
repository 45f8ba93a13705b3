//! Dispatches the calls of one reply: exactly one execution for each call, in the order of the
//! calls.
//!
//! The dispatcher does not know which model made the calls, or what happens with the results.
//!
//! # The path of a batch
//! 1. `dispatcher.rs`: [`Dispatcher`] takes a batch and a snapshot of its registry.
//! 2. `batch.rs`, `plan.rs`: the calls are split into waves that run one after the other.
//! 3. `call/`: each call passes the stages that are listed there, from the interceptors to the
//!    record of its execution.
//!
//! `policy/` holds the configuration and the rules that decide without a clock. `state.rs` holds
//! the counters, which clones and runs share; `context.rs` holds what the calls of one batch share,
//! and `call/call_context.rs` what the stages of one call share. `host.rs` serves the context of a
//! running tool: nested calls and extensions.
//!
//! # Invariants
//! - Every call has exactly one execution, whatever happens: unknown name, invalid JSON, denial,
//!   panic, timeout, cancellation, limit.
//! - A tool receives exactly the arguments that were approved.
//! - A call that is neither idempotent nor read-only is attempted at most once.
//! - When the future is dropped, the calls stop, and observers receive the end of each.

mod abort;
mod agent_interface;
mod approval;
mod attempt;
mod batch;
mod call;
mod context;
pub(crate) mod dispatcher;
mod host;
mod limits;
mod memo;
mod plan;
pub(crate) mod policy;
mod redaction;
mod rules;
mod runs;
mod serve;
mod state;

pub use abort::BatchError;
pub use approval::approval_request::ApprovalRequest;
pub use approval::approve::{Approver, AskLater};
pub use approval::preview::Previewer;
pub use attempt::attempt_hook::{Attempt, AttemptAction, AttemptHook};
pub use attempt::invoke::invoke;
pub use call::intercept::{InterceptAction, InterceptContext, Interceptor};
pub(crate) use dispatcher::Dispatcher;
pub use limits::circuits::Breakers;
pub use limits::concurrency::Concurrency;
pub use limits::rate::RateLimits;
pub(crate) use policy::Policy;
pub use policy::{Breaker, Permissions};

pub use crate::tool::{
    Approval, Batch, CallAnswer, CallEnd, CallEnvelope, Decision, Dispatch, RunInfo, SuspendedCall,
};
