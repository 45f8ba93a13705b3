//! The events of common runs, for tests of everything that emits or nests them.

/// The layers and actions of a run whose first reply calls one tool and whose second answers.
pub const ONE_CALL_RUN: [&str; 10] = [
    "run.started",
    "run.message_added",
    "model.requested",
    "model.replied",
    "tool.started",
    "tool.running",
    "tool.finished",
    "model.requested",
    "model.replied",
    "run.finished",
];
