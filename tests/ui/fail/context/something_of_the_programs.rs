use tool_runtime::tool;

struct Database;

/// Counts its rows.
#[tool]
async fn rows(database: &Database) -> usize {
    let _ = database;
    0
}

fn main() {}
