#!/usr/bin/env python3
"""Measures the size of stripped programs with one tool, in cargo's default release profile.

  dispatcher   dispatches one call on a current-thread runtime of tokio
  agent        runs an agent with a scripted model
"""

import pathlib
import subprocess
import tempfile

RUNTIME = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
use tool_runtime::*;

/// Adds two numbers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {{
    a + b
}}

fn main() {{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {{
        {body}
    }});
}}
"""
CALL = r'ToolCall::new("1", "add", r#"{"a": 20, "b": 22}"#)'
PROGRAMS = {
    "dispatcher": f"""
        let registry = Registry::try_from(tools![add]).unwrap();
        let executions = Dispatcher::new(registry).dispatch(vec![{CALL}]).await;
        println!("{{}}", executions[0].result.text);""",
    "agent": """
        let model = ScriptedModel::new([ChatReply::text("42")]);
        println!("{}", Agent::new(model, tools![add]).run("Hello").await.unwrap());""",
}


def generate(folder):
    members = ", ".join(f'"{name}"' for name in PROGRAMS)
    (folder / "Cargo.toml").write_text(
        f'[workspace]\nresolver = "3"\nmembers = [{members}]\n[profile.release]\nstrip = true\n'
    )
    (folder / "Cargo.lock").write_bytes((RUNTIME.parent / "Cargo.lock").read_bytes())
    for name, body in PROGRAMS.items():
        (folder / name / "src").mkdir(parents=True)
        (folder / name / "src/main.rs").write_text(PROGRAM.format(body=body))
        (folder / name / "Cargo.toml").write_text(f"""
[package]
name = "{name}"
version = "0.0.0"
edition = "2024"

[dependencies]
tokio = {{ version = "1", default-features = false, features = ["rt", "time"] }}
tool-runtime = {{ path = "{RUNTIME}" }}
""")


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    generate(folder)
    subprocess.run(["cargo", "build", "--quiet", "--release", "--target-dir", folder / "target"],
                   cwd=folder, check=True)
    print("| program | bytes |")
    print("|---|---|")
    for name in PROGRAMS:
        print(f"| {name} | {(folder / 'target/release' / name).stat().st_size} |")
