use std::marker::PhantomData;

use tool_runtime::{args, tool};

#[args]
struct Raw {
    #[serde(skip)]
    pointer: PhantomData<*const ()>,
}

/// Waits.
#[tool(blocking)]
fn wait(raw: Raw, days: u8) -> String {
    let _ = raw.pointer;
    format!("{days}")
}

fn main() {}
