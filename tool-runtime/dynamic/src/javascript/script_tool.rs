//! The tool of a script. The script runs on a separate thread, because its code blocks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::timeout_at;
use tool_runtime::{
    Arguments, CancellationToken, Tool, ToolCall, ToolContext, ToolDefinition, ToolError,
    ToolExecution, ToolOutput, async_trait,
};

use super::engine::{Engine, HostCall, HostResult, Output, Progress};
use super::error::ScriptError;
use super::threads::Threads;
use super::watch::{Stop, Watch};
use crate::pieces::CheckedPieces;

/// How long after its time limit the result of a script is awaited.
const GRACE: Duration = Duration::from_secs(1);

/// A tool whose body is a script.
pub(super) struct ScriptTool {
    pieces: CheckedPieces,
    threads: Arc<Threads>,
}

impl ScriptTool {
    /// Parses the body of the pieces.
    pub(super) async fn new(
        pieces: CheckedPieces,
        threads: Arc<Threads>,
    ) -> Result<Self, ToolError> {
        let parsed = pieces.clone();
        // The size of a body bounds the time to parse it.
        let parse = move || {
            let watch = Watch::new(Instant::now() + parsed.timeout(), CancellationToken::new());
            Engine::new(parsed.body(), &parsed.pieces().tools, watch).map(drop)
        };
        let checked = tokio::task::spawn_blocking(parse).await?;
        checked.map_err(|error| error.of_body(pieces.body()))?;
        Ok(Self { pieces, threads })
    }
}

#[async_trait]
impl Tool for ScriptTool {
    fn definition(&self) -> &ToolDefinition {
        self.pieces.definition()
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        // Cancelled with the call, and if this future is dropped outside of a dispatcher.
        let cancellation = ctx.cancellation().child_token();
        let _guard = cancellation.clone().drop_guard();
        let deadline = Instant::now() + self.pieces.timeout();
        let deadline = ctx.deadline().map_or(deadline, |at| at.into_std().min(deadline));
        let (pieces, ctx, handle) = (self.pieces.clone(), ctx.clone(), Handle::current());
        let run = move || {
            let watch = Watch::new(deadline, cancellation);
            run(&pieces, &args.to_text(), &ctx, watch, &handle)
        };
        let output = self.threads.run(run)?;
        match timeout_at((deadline + GRACE).into(), output).await {
            Ok(Ok(output)) => output,
            Ok(Err(_)) => Err(ToolError::failed("The script ended without a result.")),
            // The engine does not reach a point at which it can be interrupted.
            Err(_) => Err(ScriptError::Stopped(Stop::Deadline).of_call(self.pieces.body(), "")),
        }
    }
}

/// Runs a script to its end.
fn run(
    pieces: &CheckedPieces,
    arguments: &str,
    ctx: &ToolContext,
    watch: Watch,
    handle: &Handle,
) -> Result<ToolOutput, ToolError> {
    let (body, arguments) = (pieces.body(), with_defaults(pieces, arguments));
    let mut engine = Engine::new(body, &pieces.pieces().tools, watch)
        .map_err(|error| error.of_call(body, ""))?;
    let output = drive(&mut engine, &arguments, ctx, handle).and_then(tool_output);
    let console = engine.console();
    match output {
        Ok(output) if console.is_empty() => Ok(output),
        Ok(output) => Ok(output.with_part(format!("Console:\n{console}"))),
        Err(error) => Err(error.of_call(body, &console)),
    }
}

fn drive(
    engine: &mut Engine,
    arguments: &str,
    ctx: &ToolContext,
    handle: &Handle,
) -> Result<Output, ScriptError> {
    engine.start(arguments)?;
    loop {
        match engine.advance()? {
            Progress::Returned(output) => return Ok(output),
            Progress::Waits(calls) => {
                for (id, result) in handle.block_on(execute(calls, ctx, engine.watch()))? {
                    engine.settle(id, result)?;
                }
            }
        }
    }
}

/// Executes the calls that a script waits for as one batch.
async fn execute(
    calls: Vec<HostCall>,
    ctx: &ToolContext,
    watch: &Watch,
) -> Result<Vec<(u32, HostResult)>, ScriptError> {
    let ids: Vec<_> = calls.iter().map(|call| call.id).collect();
    let calls = calls.into_iter().map(|call| ToolCall::new("", call.name, call.arguments));
    let batch = watch.cancellation().run_until_cancelled(ctx.dispatch(calls.collect()));
    let executions = timeout_at(watch.deadline().into(), batch).await;
    let executions = executions.map_err(|_| ScriptError::Stopped(Stop::Deadline))?;
    let executions = executions.ok_or(ScriptError::Stopped(Stop::Cancelled))?;
    Ok(ids.into_iter().zip(executions.iter().map(host_result)).collect())
}

fn host_result(execution: &ToolExecution) -> HostResult {
    if !execution.is_success() {
        return HostResult::Error(execution.result.text.clone());
    }
    match execution.structured_value() {
        Some(value) => HostResult::Json(value.to_string()),
        None => {
            let text = execution.full_text.as_ref().unwrap_or(&execution.result.text);
            HostResult::Text(text.clone())
        }
    }
}

fn tool_output(output: Output) -> Result<ToolOutput, ScriptError> {
    let invalid = |error: serde_json::Error| ScriptError::InvalidOutput(error.to_string());
    match output {
        Output::Nothing => Ok(ToolOutput::text("ok")),
        Output::Text(text) => Ok(ToolOutput::text(text)),
        Output::Json(json) => {
            let value: Value = serde_json::from_str(&json).map_err(invalid)?;
            ToolOutput::json(&value).map_err(invalid)
        }
    }
}

/// Adds the defaults of omitted arguments, at all levels.
fn with_defaults(pieces: &CheckedPieces, arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(mut value) => {
            pieces.add_defaults(&mut value);
            value.to_string()
        }
        // The dispatcher passes on valid JSON; the script reports anything else.
        Err(_) => arguments.to_owned(),
    }
}

/// Makes the tool of pieces.
pub(super) async fn script_tool(
    pieces: &CheckedPieces,
    threads: &Arc<Threads>,
) -> Result<Arc<dyn Tool>, ToolError> {
    Ok(Arc::new(ScriptTool::new(pieces.clone(), Arc::clone(threads)).await?))
}
