use tool_runtime::tool;

struct Price(f64);

/// Compares.
#[tool]
async fn compare(a: Price, b: Option<&str>, #[arg(renam = "x")] c: i64) {
    let _ = (a, b, c);
}

fn main() {}
