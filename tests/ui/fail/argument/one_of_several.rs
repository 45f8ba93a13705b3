use tool_runtime::tool;

struct Scale(f64);

/// Adds and scales.
#[tool]
async fn add(a: f64, b: f64, scale: Scale) -> f64 {
    (a + b) * scale.0
}

fn main() {}
