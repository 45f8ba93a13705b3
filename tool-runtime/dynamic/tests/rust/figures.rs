//! Times from spec to tool, for `benches/README.md`:
//! `cargo test -p tool-dynamic --features rust-tools --test rust -- --ignored --nocapture figures`

use std::time::Instant;

use serde_json::json;
use tool_dynamic::{RustTools, ToolBackend as _};

use super::fixture::{build, build_error, folder, new_backend, spec, text};

#[tokio::test]
#[ignore = "compiles everything, which takes minutes"]
async fn cold_figures() {
    let cold = folder().with_extension("cold");
    let _ = std::fs::remove_dir_all(&cold);
    let tools = RustTools::new(&cold);
    let start = Instant::now();
    tools.build(&spec("cold", "Ok(1)").check().unwrap()).await.unwrap();
    println!("cold, spec to tool: {:?}", start.elapsed());
    std::fs::remove_dir_all(&cold).unwrap();
}

#[tokio::test]
#[ignore = "measures a machine without other load"]
async fn warm_figures() {
    let tools = new_backend();
    let start = Instant::now();
    tools.prepare().await.unwrap();
    println!("nothing changed: {:?}", start.elapsed());
    let unique = std::process::id();
    let body = format!("Ok({unique})");
    for label in ["warm", "built before"] {
        let start = Instant::now();
        tools.build(&spec("warm", &body).check().unwrap()).await.unwrap();
        println!("{label}, spec to tool: {:?}", start.elapsed());
    }
    let start = Instant::now();
    build_error(&tools, &format!("let x: () = {unique}; Ok(x)")).await;
    println!("error of the compiler: {:?}", start.elapsed());
    let tool = build(spec("warm", &body)).await;
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(text(&tool, json!({})).await, unique.to_string());
    }
    println!("call: {:?}", start.elapsed() / 20);
}
