use tool_runtime::tool;

/// Waits.
#[tool]
async fn wait(#[arg(default = "three")] days: u8) -> String {
    format!("{days}")
}

fn main() {}
