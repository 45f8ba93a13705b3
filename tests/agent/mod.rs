//! Agents: their runs, turns, sessions and sub-agents.

mod check;
mod check_notices;
mod exchange;
mod faults;
mod run;
mod selection;
mod session;
mod stored_request;
mod streaming;
mod subagent;
mod turn;
#[cfg(feature = "axum")]
mod web;
mod window;
