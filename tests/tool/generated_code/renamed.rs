//! The crate `tool_runtime` under another name.

mod vendor {
    pub use ::tool_runtime as runtime;
}

#[vendor::runtime::args(crate = crate::tool::generated_code::renamed::vendor::runtime)]
struct Sum {
    a: i64,
    b: i64,
}

/// Adds.
#[vendor::runtime::tool(crate = crate::tool::generated_code::renamed::vendor::runtime)]
async fn add(sum: Sum) -> i64 {
    sum.a + sum.b
}

#[test]
fn generated_code_uses_the_given_path() {
    let _ = vendor::runtime::tools![add];
}
