#!/usr/bin/env python3
"""Measures what MCP adds to the compile time of a program, in CPU seconds.

A program has one tool. It dispatches a call of the model, serves the tool, or connects to a server.
By default, the programs are rebuilt with built dependencies and without incremental compilation, in
interleaved rounds, and the figure is the least of the rounds. `--features` measures the features of
tool-mcp instead: the number of their crates, and clean builds.
"""

import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile

WING = pathlib.Path(__file__).resolve().parent.parent
RUNTIME = WING.parent
TARGET = 1.3

TOOL = """
/// Returns the forecast for a city.
#[tool_runtime::tool(effect = "none")]
async fn forecast(city: String) -> String {
    format!("{city}: 4 degrees, rain")
}
"""
SERVER = "tool_mcp::McpServer::new(tool_runtime::tools![forecast]).name(\"weather\")"
CONNECTED = """
    let registry = tool_runtime::Registry::try_from(tool_runtime::tools![forecast])?;
    {client}.connect("everything", &registry).await?;
    let call = tool_runtime::ToolCall::new("1", "forecast", r#"{{"city": "Oslo"}}"#);
    let executions = tool_runtime::Dispatcher::new(registry).dispatch(vec![call]).await;
    println!("{{}}", executions[0].result.text);
    Ok(())
"""
# Of each program: the features of tool-mcp, and what `main` does.
PROGRAMS = {
    "without": (
        None,
        CONNECTED.replace('    {client}.connect("everything", &registry).await?;\n', "").format(),
    ),
    "server-stdio": (["server-stdio"], f"    {SERVER}.serve_stdio().await?;\n    Ok(())"),
    "server-http": (
        ["server"],
        f"""
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    axum::serve(listener, {SERVER}.router()).await?;
    Ok(())""",
    ),
    "axum": (
        None,
        """
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let text = || async { forecast("Oslo".into()).await };
    axum::serve(listener, axum::Router::new().route("/", axum::routing::get(text))).await?;
    Ok(())""",
    ),
    "client-stdio": (["client-stdio"], CONNECTED.format(client='tool_mcp::McpClient::stdio("npx")')),
    "client-http": (
        ["client"],
        CONNECTED.format(client='tool_mcp::McpClient::http("http://127.0.0.1:3001/mcp")'),
    ),
}
FEATURES = [
    None, "client-stdio", "client", "oauth", "oauth-jwt", "server-stdio", "server", "client,server",
]


def cargo(folder, *arguments):
    environment = os.environ | {"CARGO_INCREMENTAL": "0"}
    return subprocess.run(
        ["cargo", *arguments], cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def cpu_seconds(work):
    """Returns the CPU seconds, user and system, of all processes that `work` starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def generate(folder, name, features, main):
    """Writes a program into a separate workspace, so that no other program changes its features."""
    program = folder / name
    (program / "src").mkdir(parents=True)
    (program / "src/main.rs").write_text(f"""{TOOL}
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {{{main}
}}
""")
    wing = f'tool-mcp = {{ path = "{WING}", features = {features} }}' if features else ""
    axum = 'axum = { version = "0.8", default-features = false, features = ["http1", "tokio"] }'
    (program / "Cargo.toml").write_text(f"""
[package]
name = "{name}"
version = "0.0.0"
edition = "2024"

[workspace]

[profile.dev]
debug = "line-tables-only"

[dependencies]
{axum if "axum" in main else ""}
tokio = {{ version = "1", features = ["macros", "net", "rt"] }}
{wing.replace("'", '"')}
tool-runtime = {{ path = "{RUNTIME}" }}
""")
    shutil.copy(RUNTIME.parent / "Cargo.lock", program / "Cargo.lock")
    return program


def rebuilds(folder, rounds, profile):
    arguments = ["build", "--quiet"] + (["--release"] if profile == "release" else [])
    programs = {}
    for name, (features, main) in PROGRAMS.items():
        programs[name] = generate(folder, name, features, main)
        cargo(programs[name], *arguments)
    least = dict.fromkeys(programs, float("inf"))
    for _ in range(rounds):
        for name, program in programs.items():
            (program / "src/main.rs").touch()
            seconds = cpu_seconds(lambda: cargo(program, *arguments, "--offline"))
            least[name] = min(least[name], seconds)
    print(f"| {profile} | CPU s | × without |\n|---|---|---|")
    for name, seconds in least.items():
        print(f"| {name} | {seconds:.2f} | {seconds / least['without']:.2f} |")
    ratio = least["server-stdio"] / least["without"]
    print(f"\ntarget: a program with a server at most {TARGET} × one without; got {ratio:.2f}")


def clean_builds(folder, chosen):
    print("| feature | crates | CPU s |\n|---|---|---|")
    for number, features in enumerate(chosen):
        listed = [it for it in (features or "").split(",") if it]
        program = generate(folder, f"program-{number}", listed, "\n    Ok(())")
        # Their first use writes the lock file.
        tree = cargo(program, "tree", "--edges", "normal", "--prefix", "none", "--format", "{p}")
        crates = {line.removesuffix(" (*)") for line in tree.splitlines() if line}
        # Without the program itself.
        seconds = cpu_seconds(lambda: cargo(program, "build", "--quiet"))
        print(f"| {features or 'tool-runtime alone'} | {len(crates) - 1} | {seconds:.0f} |", flush=True)
        shutil.rmtree(program)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--release", action="store_true", help="measure the release profile")
    parser.add_argument("--features", action="store_true", help="measure clean builds of features")
    parser.add_argument("chosen", nargs="*", help="the features that are built, such as client,oauth")
    options = parser.parse_args()
    os.environ.pop("CARGO_TARGET_DIR", None)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        if options.features or options.chosen:
            clean_builds(folder, options.chosen or FEATURES)
        else:
            # Programs share dependencies with the same features.
            os.environ["CARGO_TARGET_DIR"] = str(folder / "target")
            rebuilds(folder, options.rounds, "release" if options.release else "debug")


if __name__ == "__main__":
    main()
