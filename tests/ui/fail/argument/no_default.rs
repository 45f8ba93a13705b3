use tool_runtime::{args, tool};

#[args]
struct Unit {
    name: String,
}

/// Waits.
#[tool]
async fn wait(#[arg(default)] unit: Unit, days: u8) -> String {
    format!("{}{days}", unit.name)
}

fn main() {}
