use tool_runtime::tool;

struct Overflow;

/// Adds.
#[tool]
async fn add(a: i64, b: i64) -> Result<i64, Overflow> {
    a.checked_add(b).ok_or(Overflow)
}

fn main() {}
