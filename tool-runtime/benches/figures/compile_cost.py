#!/usr/bin/env python3
"""Measures the compile time of tools: 100 tools with three arguments each, written in five ways.

  structs   types with Deserialize and JsonSchema, and async functions with these arguments
  registry  as structs, with hand-written schemas and boxed calls from text to text, in a HashMap
  tools     as structs, with hand-written implementations of Tool
  args      #[args] structs and #[tool] functions, in tools![…]
  params    #[tool] functions of three named arguments, in tools![…]

Rebuilds each crate alone, with built dependencies and without incremental compilation. The rounds are
interleaved. The figure of a crate is the least CPU time of its rounds (user and system time of all
children of cargo). `--rounds` sets the number of rounds. Default: 5. `--check` measures `cargo check`
instead of `cargo build`.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import tempfile

TOOLS = 100
RUNTIME = pathlib.Path(__file__).resolve().parents[2]

# Each tool has three of these types. No two tools have the same three in the same order.
TYPES = ["String", "Option<u8>", "Vec<String>", "f64", "bool", "Option<String>", "i64", "u32"]
BODY = '{{ format!("{{:?}} {{:?}} {{:?}}", {args}city, {args}days, {args}without) }}'


def arguments(n, pub=""):
    city, days, without = (TYPES[n // step % len(TYPES)] for step in (1, 8, 3))
    return f"""
    /// City name, such as "Oslo".
    {pub}city: {city},
    /// Days ahead.
    {pub}days: {days},
    /// The places to leave out.
    {pub}without: {without},
"""


DERIVE = "#[derive(serde::Deserialize, schemars::JsonSchema)]\n#[serde(deny_unknown_fields)]"


def structs(attribute, tool=""):
    one = "/// A place.\n{attribute}\npub struct Args{n} {{{fields}}}\n{tool}pub async fn describe{n}(args: Args{n}) -> String {body}\n"
    body = BODY.format(args="args.")
    return "".join(
        one.format(n=n, attribute=attribute, fields=arguments(n, "pub "), tool=tool, body=body)
        for n in range(TOOLS)
    )


def params():
    one = "/// Describes.\n#[tool_runtime::tool]\npub async fn describe{n}({fields}) -> String {body}\n"
    body = BODY.format(args="")
    return "".join(one.format(n=n, fields=arguments(n), body=body) for n in range(TOOLS))


def registry():
    """Returns what a program without a framework would contain."""
    entry = """
    registry.insert("describe{n}", Entry {{
        schema: schemars::schema_for!(Args{n}).to_value(),
        call: Box::new(|text: String| Box::pin(async move {{
            let args: Args{n} = serde_json::from_str(&text)?;
            serde_json::to_string(&describe{n}(args).await)
        }})),
    }});"""
    return """
use std::{collections::HashMap, future::Future, pin::Pin};
type BoxedCall = Pin<Box<dyn Future<Output = serde_json::Result<String>> + Send>>;
pub struct Entry {
    pub schema: serde_json::Value,
    pub call: Box<dyn Fn(String) -> BoxedCall + Send + Sync>,
}
pub fn registry() -> HashMap<&'static str, Entry> {
    let mut registry = HashMap::new();""" + "".join(
        entry.format(n=n) for n in range(TOOLS)
    ) + "\n    registry\n}\n"


def by_hand():
    """Returns hand-written implementations of Tool."""
    one = """
pub struct Describe{n}(tool_runtime::ToolDefinition);
impl Describe{n} {{
    pub fn new() -> Self {{
        let schema = schemars::schema_for!(Args{n}).to_value();
        Self(tool_runtime::ToolDefinition::new("describe{n}", "Describes.", schema))
    }}
}}
#[tool_runtime::async_trait]
impl tool_runtime::Tool for Describe{n} {{
    fn definition(&self) -> &tool_runtime::ToolDefinition {{
        &self.0
    }}
    async fn call(
        &self, args: tool_runtime::Arguments, _: &tool_runtime::ToolContext,
    ) -> Result<tool_runtime::ToolOutput, tool_runtime::ToolError> {{
        let args: Args{n} = serde_json::from_str(&args.to_text())
            .map_err(|error| tool_runtime::ToolError::validation(error.to_string()))?;
        Ok(tool_runtime::ToolOutput::text(describe{n}(args).await))
    }}
}}
"""
    entries = "".join(f".with(Describe{n}::new())" for n in range(TOOLS))
    collect = f"pub fn all() -> tool_runtime::Tools {{ tool_runtime::Tools::new(){entries} }}\n"
    return "".join(one.format(n=n) for n in range(TOOLS)) + collect


def list_of_tools():
    names = ", ".join(f"describe{n}" for n in range(TOOLS))
    return f"pub fn all() -> tool_runtime::Tools {{ tool_runtime::tools![{names}] }}\n"


TOOL = "/// Describes.\n#[tool_runtime::tool]\n"
CRATES = {
    "structs": lambda: structs(DERIVE),
    "registry": lambda: structs(DERIVE) + registry(),
    "tools": lambda: structs(DERIVE) + by_hand(),
    "args": lambda: structs("#[tool_runtime::args]", TOOL) + list_of_tools(),
    "params": lambda: params() + list_of_tools(),
}


def cargo(folder, *arguments, **variables):
    environment = os.environ | {"CARGO_INCREMENTAL": "0"} | variables
    return subprocess.run(
        ["cargo", *arguments], cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )


def cpu_seconds(folder, name, command):
    """Returns the CPU seconds of rebuilding one crate."""
    (folder / name / "src/lib.rs").touch()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    cargo(folder, command, "--quiet", "--offline", "-p", name)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def generate(folder):
    members = ", ".join(f'"{name}"' for name in CRATES)
    (folder / "Cargo.toml").write_text(f'[workspace]\nresolver = "3"\nmembers = [{members}]\n')
    for name, source in CRATES.items():
        (folder / name / "src").mkdir(parents=True, exist_ok=True)
        (folder / name / "src/lib.rs").write_text(source())
        (folder / name / "Cargo.toml").write_text(f"""
[package]
name = "{name}"
version = "0.0.0"
edition = "2024"

[dependencies]
schemars = {{ version = "1", default-features = false, features = ["derive", "std"] }}
serde = {{ version = "1", features = ["derive"] }}
serde_json = "1"
tool-runtime = {{ path = "{RUNTIME}" }}
""")
    lock = RUNTIME.parent / "Cargo.lock"
    if lock.exists():
        (folder / "Cargo.lock").write_bytes(lock.read_bytes())


def expanded_bytes(folder, name):
    """Returns the crate after macro expansion, as formatted by the compiler."""
    arguments = ["rustc", "--quiet", "-p", name, "--", "-Zunpretty=expanded"]
    return cargo(folder, *arguments, RUSTC_BOOTSTRAP="1").stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=pathlib.Path, help="generate the crates in this folder and keep them")
    parser.add_argument("--check", action="store_true", help="measure `cargo check`")
    options = parser.parse_args()
    command = "check" if options.check else "build"
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        generate(folder)
        cargo(folder, command, "--quiet")
        least = dict.fromkeys(CRATES, float("inf"))
        for _ in range(options.rounds):
            for name in CRATES:
                least[name] = min(least[name], cpu_seconds(folder, name, command))
        print("| crate | CPU s | × registry | lines per tool | bytes per tool |")
        print("|---|---|---|---|---|")
        for name, seconds in least.items():
            text = expanded_bytes(folder, name)
            size = f"{text.count(chr(10)) // TOOLS} | {len(text) // TOOLS}"
            print(f"| {name} | {seconds:.2f} | {seconds / least['registry']:.2f} | {size} |")


if __name__ == "__main__":
    main()
