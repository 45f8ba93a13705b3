//! What differs between two random batches.

use proptest::prelude::*;
use serde_json::json;
use tool_runtime::ToolExecution;
use tool_runtime::event::BlockReason;

/// Everything that differs between two batches.
#[derive(Clone, Debug)]
pub struct Trial {
    pub calls: Vec<(&'static str, String)>,
    pub on_failure: bool,
    pub on_block: bool,
    pub deadline: Option<u64>,
    pub stop_at: Option<u64>,
    pub most: Option<usize>,
    pub rate: Option<u32>,
    pub guarded: bool,
    pub needs_approval: bool,
    pub panicking_observer: bool,
    /// Whether the tools are implemented by hand.
    pub by_hand: bool,
    /// When the tools of the provider are replaced, if there is one.
    pub replaced_at: Option<u64>,
    pub has_metadata: bool,
}

fn call() -> impl Strategy<Value = (&'static str, String)> {
    let name = prop::sample::select(vec![
        "single",
        "repeatable",
        "sequential",
        "ask",
        "deny",
        "pure",
        "outer",
        "unknown",
    ]);
    let behavior = prop::sample::select(vec![
        "works", "waits", "spawns", "fails", "passes", "is mined", "crashes", "hangs",
    ]);
    let sound = behavior.prop_map(|behavior| json!({ "behavior": behavior }).to_string());
    let bad =
        prop::sample::select(vec!["{", "[1]", "{\"behavior\": 3}", "", "{\"behavior\": \"wor"]);
    (name, prop_oneof![9 => sound, 1 => bad.prop_map(String::from)])
}

pub fn trial() -> impl Strategy<Value = Trial> {
    let calls = prop::collection::vec(call(), 0..10);
    let often_none = |values: std::ops::Range<u64>| prop::option::weighted(0.3, values);
    let switches = any::<[bool; 7]>();
    let (most, rate) = (prop::option::of(1_usize..4), prop::option::weighted(0.3, 1_u32..3));
    let times = (often_none(0..5_000), often_none(0..5_000), often_none(0..2_000));
    (calls, switches, times, most, rate).prop_map(|(calls, switches, times, most, rate)| Trial {
        calls,
        on_failure: switches[0],
        on_block: switches[1],
        guarded: switches[2],
        needs_approval: switches[3],
        panicking_observer: switches[4],
        by_hand: switches[5],
        has_metadata: switches[6],
        deadline: times.0,
        stop_at: times.1,
        replaced_at: times.2,
        most,
        rate,
    })
}

impl Trial {
    /// Whether this execution aborts the batch.
    pub fn halts(&self, execution: &ToolExecution) -> bool {
        let correctable = ["TOOL_INVALID_ARGUMENTS", "TOOL_NOT_FOUND"];
        match execution.blocked_by {
            Some(BlockReason::Pending | BlockReason::Batch) => false,
            Some(_) => self.on_block,
            None => {
                let code = execution.result.error.as_deref();
                self.on_failure && code.is_some_and(|code| !correctable.contains(&code))
            }
        }
    }
}
