use tool_runtime::tool;

/// Adds.
#[tool(name = "a_name_that_goes_on_and_on_and_on_until_no_provider_would_ever_take_it")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {}
