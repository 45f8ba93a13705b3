//! The crate `tool_runtime` under another name.

mod vendor {
    pub use ::tool_runtime as runtime;
}

#[vendor::runtime::args(crate = crate::vendor::runtime)]
struct Sum {
    a: i64,
    b: i64,
}

/// Adds.
#[vendor::runtime::tool(crate = crate::vendor::runtime)]
async fn add(sum: Sum) -> i64 {
    sum.a + sum.b
}

fn main() {
    let _ = vendor::runtime::tools![add];
}
