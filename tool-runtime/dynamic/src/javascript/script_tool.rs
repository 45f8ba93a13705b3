//! The tool of a script. The script runs on a separate thread, because its code blocks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::timeout_at;
use tool_core::{
    Arguments, CancellationToken, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput,
    async_trait,
};

use super::engine::{Engine, Output, Progress, Reach};
use super::error::ScriptError;
use super::host::Host;
use super::threads::Threads;
use super::watch::{Stop, Watch};
use crate::spec::CheckedSpec;

/// How long after its time limit the result of a script is awaited.
const GRACE: Duration = Duration::from_secs(1);

/// A tool whose body is a script.
pub(super) struct ScriptTool {
    spec: CheckedSpec,
    threads: Arc<Threads>,
    host: Host,
}

impl ScriptTool {
    /// Parses the body of the spec.
    pub(super) async fn new(
        spec: CheckedSpec,
        threads: Arc<Threads>,
        host: Host,
    ) -> Result<Self, ToolError> {
        let (parsed, reached) = (spec.clone(), host.clone());
        // The size of a body bounds the time to parse it.
        let parse = move || {
            let watch = Watch::new(Instant::now() + parsed.timeout(), CancellationToken::new());
            Engine::new(parsed.body(), &reach(&parsed, &reached), watch).map(drop)
        };
        let checked = tokio::task::spawn_blocking(parse).await?;
        checked.map_err(|error| error.of_body(spec.body()))?;
        Ok(Self { spec, threads, host })
    }
}

#[async_trait]
impl Tool for ScriptTool {
    fn definition(&self) -> &ToolDefinition {
        self.spec.definition()
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        // Cancelled with the call, and if this future is dropped outside of a dispatcher.
        let cancellation = ctx.cancellation().child_token();
        let _guard = cancellation.clone().drop_guard();
        let deadline = Instant::now() + self.spec.timeout();
        let deadline = ctx.deadline().map_or(deadline, |at| at.into_std().min(deadline));
        let (spec, host) = (self.spec.clone(), self.host.clone());
        let (ctx, runtime) = (ctx.clone(), Handle::current());
        let run = move || {
            let watch = Watch::new(deadline, cancellation);
            Run { spec: &spec, host: &host, ctx: &ctx, runtime }.finish(&args.to_text(), watch)
        };
        let output = self.threads.run(run)?;
        match timeout_at((deadline + GRACE).into(), output).await {
            Ok(Ok(output)) => output,
            Ok(Err(_)) => Err(ToolError::failed("The script ended without a result.")),
            // The engine does not reach a point at which it can be interrupted.
            Err(_) => Err(ScriptError::Stopped(Stop::Deadline).of_call(self.spec.body(), "")),
        }
    }
}

/// Returns what a body can reach.
#[cfg(feature = "fetch")]
fn reach<'a>(spec: &'a CheckedSpec, host: &Host) -> Reach<'a> {
    Reach { tools: &spec.spec().tools, fetches: host.client.is_some() }
}

/// Returns what a body can reach.
#[cfg(not(feature = "fetch"))]
fn reach<'a>(spec: &'a CheckedSpec, _: &Host) -> Reach<'a> {
    Reach { tools: &spec.spec().tools }
}

/// One run of a script.
struct Run<'a> {
    spec: &'a CheckedSpec,
    host: &'a Host,
    ctx: &'a ToolContext,
    runtime: Handle,
}

impl Run<'_> {
    /// Runs the script to its end.
    fn finish(&self, arguments: &str, watch: Watch) -> Result<ToolOutput, ToolError> {
        let body = self.spec.body();
        let engine = Engine::new(body, &reach(self.spec, self.host), watch);
        let mut engine = engine.map_err(|error| error.of_call(body, ""))?;
        let output = self.drive(&mut engine, arguments).and_then(tool_output);
        let console = engine.console();
        match output {
            Ok(output) if console.is_empty() => Ok(output),
            Ok(output) => Ok(output.with_part(format!("Console:\n{console}"))),
            Err(error) => Err(error.of_call(body, &console)),
        }
    }

    fn drive(&self, engine: &mut Engine, arguments: &str) -> Result<Output, ScriptError> {
        engine.start(&with_defaults(self.spec, arguments))?;
        loop {
            match engine.advance()? {
                Progress::Returned(output) => return Ok(output),
                Progress::Waits(calls) => {
                    let results = self.host.execute(calls, self.ctx, engine.watch());
                    for (id, result) in self.runtime.block_on(results)? {
                        engine.settle(id, result)?;
                    }
                }
            }
        }
    }
}

fn tool_output(output: Output) -> Result<ToolOutput, ScriptError> {
    let invalid = |error: serde_json::Error| ScriptError::InvalidOutput(error.to_string());
    match output {
        Output::Nothing => Ok(ToolOutput::text("ok (the body returned no value)")),
        Output::Text(text) => Ok(ToolOutput::text(text)),
        Output::Json(json) => {
            let value: Value = serde_json::from_str(&json).map_err(invalid)?;
            ToolOutput::json(&value).map_err(invalid)
        }
    }
}

/// Adds the defaults of omitted arguments, at all levels.
fn with_defaults(spec: &CheckedSpec, arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(mut value) => {
            spec.add_defaults(&mut value);
            value.to_string()
        }
        // The dispatcher passes on valid JSON; the script reports anything else.
        Err(_) => arguments.to_owned(),
    }
}

/// Makes the tool of a spec.
pub(super) async fn script_tool(
    spec: &CheckedSpec,
    threads: &Arc<Threads>,
    host: Host,
) -> Result<Arc<dyn Tool>, ToolError> {
    Ok(Arc::new(ScriptTool::new(spec.clone(), Arc::clone(threads), host).await?))
}
