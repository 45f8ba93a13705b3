//! Runs a command to its end.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout};
use tool_core::event::{ProcessEnd, ProcessStart};
use tool_core::{EffectRecord, ToolContext, ToolError, ToolErrorKind};

use super::capture::Capture;
use super::live;
use crate::command::{Command, Output, Repositories, sandbox_error};
use crate::confinement::{Confinement, Running};
use crate::error::failed;
use crate::status::SandboxStatus;

/// How long the output is read after the command has ended. Without a sandbox, a process that it
/// left behind can keep the pipe open forever.
const LINGER: Duration = Duration::from_secs(1);

/// A command that has ended or was stopped at its time limit.
#[derive(Debug)]
pub(crate) struct Execution {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) is_timed_out: bool,
    pub(crate) elapsed: Duration,
    pub(crate) output: String,
    /// Lists the links and repositories that the command has left behind.
    pub(crate) left_behind: Vec<String>,
}

/// Runs a command, and records its start and end. Emits its output while it runs.
pub(crate) async fn exec(
    confinement: &Confinement,
    command: Command,
    input: Option<String>,
    limit: Duration,
    ctx: &ToolContext,
) -> Result<Execution, ToolError> {
    let started = Instant::now();
    let text = command.text();
    let mut running = start(confinement, command, Repositories::Writable).await?;
    record_start(ctx, confinement.status(), &text, running.child.id(), false);
    let child = &mut running.child;
    let stdin = child.take_stdin();
    let writer = tokio::spawn(async move {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // A command need not read all of its input.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    });
    let capture = Arc::new(Mutex::new(Capture::default()));
    let sink = Arc::clone(&capture);
    let (live_sender, mut live) = live::queue();
    let push = move |bytes: &[u8]| {
        sink.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        live_sender.push(bytes);
    };
    let mut reader = tokio::spawn(read(child.take_stdout(), push));
    let ended = {
        let mut ended = pin!(timeout(limit, child.wait()));
        loop {
            tokio::select! {
                ended = &mut ended => break ended,
                has_more = live.next(ctx) => if !has_more {
                    // The command has closed its output, and still runs.
                    break ended.await;
                },
            }
        }
    };
    let is_timed_out = ended.is_err();
    let status = match ended {
        Ok(status) => status,
        Err(_) => child.kill_group().await,
    };
    writer.abort();
    if timeout(LINGER, &mut reader).await.is_err() {
        reader.abort();
    }
    live.finish(ctx);
    let status = status.map_err(|error| {
        failed("The command was started, and its end is unknown.").with_source(error)
    })?;
    record_end(ctx, running.child.id(), ProcessEnd::from(status));
    let left_behind = running.finish().await.into_lines();
    record_left_behind(ctx, &left_behind);
    let error = running.child.stderr_tail();
    if !is_timed_out
        && !status.success()
        && let Some(error) = sandbox_error(&error)
    {
        return Err(sandbox_failed(error));
    }
    let output = std::mem::take(&mut *capture.lock().unwrap_or_else(PoisonError::into_inner));
    let end = ProcessEnd::from(status);
    Ok(Execution {
        code: end.code.filter(|_| !is_timed_out),
        signal: end.signal.filter(|_| !is_timed_out),
        is_timed_out,
        elapsed: started.elapsed(),
        output: output.text(|text, part| ctx.redact_part(text, part)),
        left_behind,
    })
}

/// Starts a command.
pub(crate) async fn start(
    confinement: &Confinement,
    command: Command,
    repositories: Repositories,
) -> Result<Running, ToolError> {
    confinement.start(command, Output::Merged, repositories).await.map_err(|error| {
        let text = format!("The command was not run: {error}.");
        ToolError::new(ToolErrorKind::Unavailable, text).with_source(error)
    })
}

/// Returns the error of a command that did not run because its sandbox could not be made.
fn sandbox_failed(error: &str) -> ToolError {
    let text = format!("The command was not run: {error}");
    ToolError::new(ToolErrorKind::Unavailable, text)
}

/// Passes on what a stream returns, until it ends.
pub(crate) async fn read(stream: Option<impl AsyncRead + Unpin>, mut push: impl FnMut(&[u8])) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 16 << 10];
    // A broken pipe ends the output.
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        push(buffer.get(..count).unwrap_or_default());
    }
}

/// Records the start of a command and what confines it.
pub(crate) fn record_start(
    ctx: &ToolContext,
    status: &SandboxStatus,
    command: &str,
    pid: Option<u32>,
    is_background: bool,
) {
    let mut start = ProcessStart::new(command);
    start.pid = pid;
    start.background = is_background;
    ctx.record(start);
    if let Ok(sandbox) = EffectRecord::other("sandbox", status) {
        ctx.record(sandbox);
    }
}

pub(crate) fn record_end(ctx: &ToolContext, pid: Option<u32>, mut end: ProcessEnd) {
    end.pid = pid;
    ctx.record(end);
}

/// Records what a command has left behind.
fn record_left_behind(ctx: &ToolContext, left_behind: &[String]) {
    if !left_behind.is_empty()
        && let Ok(effect) = EffectRecord::other("left_behind", left_behind)
    {
        ctx.record(effect);
    }
}
