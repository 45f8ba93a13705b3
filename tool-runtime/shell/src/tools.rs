//! The tools, as a model sees them.

use std::ops::Range;
use std::time::Duration;

use regex_lite::RegexBuilder;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::timeout;
use tool_core::event::ProcessEnd;
use tool_core::{
    EffectRecord, IntoToolOutput, OutputFormat, Row, ToolContext, ToolError, ToolOutput, tool,
};

use crate::Shell;
use crate::command::{Command, Repositories};
use crate::confinement::Confinement;
use crate::error::{failed, unavailable};
use crate::processes::exec::{exec, record_end, record_start, start};
use crate::processes::lines::Redact;
use crate::processes::{Owner, Process};

/// The most bytes of a pattern that is waited for.
const MAX_PATTERN_LEN: usize = 1_000;

/// The most bytes of a compiled pattern. The time of a search grows with them.
const MAX_REGEX: usize = 16 << 10;

#[tool]
impl Shell {
    /// Runs a command in the folder of the workspace and waits for it to end. Returns its output
    /// and exit code.
    #[tool(sequential, permission = "ask", available = Self::availability)]
    async fn shell_exec(
        &self,
        /// Command line for the shell.
        command: Option<String>,
        /// Program with its arguments, without a shell, instead of `command`.
        argv: Option<Vec<String>>,
        /// Text for the standard input.
        input: Option<String>,
        /// Time limit in seconds.
        #[arg(default = 120, range(min = 1, max = 3600))]
        timeout: u32,
        #[arg(default)] output: OutputFormat,
        ctx: &ToolContext,
    ) -> Result<Report<ExecReport>, ToolError> {
        let confinement = self.confinement()?;
        let command = Command::new(command, argv)?;
        let limit = Duration::from_secs(timeout.into());
        let execution = exec(confinement, command, input, limit, ctx).await?;
        let report = ExecReport {
            exit_code: execution.code,
            signal: execution.signal,
            timed_out: execution.is_timed_out.then_some(true),
            seconds: rounded(execution.elapsed),
            sandbox: confinement.status().sandbox,
            left_behind: execution.left_behind,
            output: execution.output,
        };
        Ok(Report { format: output, report })
    }

    /// Starts a command that runs in the background, such as a server. Returns the number of the
    /// process.
    #[tool(sequential, permission = "ask", available = Self::availability)]
    async fn shell_start(
        &self,
        /// Command line for the shell.
        command: Option<String>,
        /// Program with its arguments, without a shell, instead of `command`.
        argv: Option<Vec<String>>,
        #[arg(default)] output: OutputFormat,
        ctx: &ToolContext,
    ) -> Result<Report<StartReport>, ToolError> {
        let confinement = self.confinement()?;
        let command = Command::new(command, argv)?;
        let owner = Owner::of(ctx);
        self.0.processes.check_room(&owner)?;
        let text = command.text();
        let running = start(confinement, command, Repositories::ReadOnly).await?;
        record_start(ctx, confinement.status(), &text, running.child.id(), true);
        let process = self.0.processes.add(running, text, owner, ctx);
        let sandbox = confinement.status().sandbox;
        Ok(Report { format: output, report: StartReport { process, sandbox } })
    }

    /// Returns the output of a background process since the last call.
    #[tool(effect = "read", available = Self::availability)]
    async fn shell_output(
        &self,
        /// Number of the process.
        process: u32,
        /// Regular expression to wait for in the new output.
        pattern: Option<String>,
        /// Seconds to wait for the pattern or for the end of the process; default: 0, or 30 with a
        /// pattern.
        #[arg(range(max = 600))]
        wait: Option<u32>,
        #[arg(default)] output: OutputFormat,
        ctx: &ToolContext,
    ) -> Result<Report<ProcessReport>, ToolError> {
        let process = self.0.processes.get(process, &Owner::of(ctx))?;
        // Another run of the session may have started it.
        process.hold_reads(ctx);
        let pattern = match pattern {
            Some(pattern) => {
                let regex =
                    RegexBuilder::new(&pattern).multi_line(true).size_limit(MAX_REGEX).build();
                let regex = regex.ok().filter(|_| pattern.len() <= MAX_PATTERN_LEN);
                let text = "`pattern` is not a valid regular expression, or too complex: send a \
                            simpler one.";
                Some(regex.ok_or_else(|| failed(text))?)
            }
            None => None,
        };
        let default = if pattern.is_some() { 30 } else { 0 };
        let seconds = wait.unwrap_or(default);
        if seconds > 0 {
            let limit = Duration::from_secs(seconds.into());
            let output = &process.output;
            // What has arrived by then is returned.
            let _ = match pattern {
                Some(pattern) => timeout(limit, output.wait_for(pattern)).await,
                None => timeout(limit, output.wait()).await,
            };
        }
        Ok(Report { format: output, report: ProcessReport::of(&process, ctx) })
    }

    /// Writes to the standard input of a background process.
    #[tool(sequential, permission = "ask", available = Self::availability)]
    async fn shell_input(
        &self,
        /// Number of the process.
        process: u32,
        /// Text to write. End a line with a line break.
        input: &str,
        /// Whether to close the standard input afterwards.
        #[arg(default = false)]
        close: bool,
        ctx: &ToolContext,
    ) -> Result<String, ToolError> {
        let target = self.0.processes.get(process, &Owner::of(ctx))?;
        target.hold_reads(ctx);
        target.write(input, close).await?;
        let data = serde_json::json!({ "process": process, "pid": target.pid, "input": input });
        ctx.record(EffectRecord::Other { name: "process_input".to_owned(), data });
        let end = if close { ", and closed its standard input" } else { "" };
        Ok(format!("Wrote {} bytes to process {process}{end}.", input.len()))
    }

    /// Ends a background process and returns the rest of its output.
    #[tool(effect = "write", idempotent, sequential, available = Self::availability)]
    async fn shell_stop(
        &self,
        /// Number of the process.
        process: u32,
        #[arg(default)] output: OutputFormat,
        ctx: &ToolContext,
    ) -> Result<Report<ProcessReport>, ToolError> {
        let number = process;
        let process = self.0.processes.get(number, &Owner::of(ctx))?;
        process.stop().await;
        let report = ProcessReport::of(&process, ctx);
        self.0.processes.remove(number);
        Ok(Report { format: output, report })
    }

    fn confinement(&self) -> Result<&Confinement, ToolError> {
        self.0.confinement.as_ref().map_err(unavailable)
    }
}

/// The result for the model: a line with values, followed by the output; or a JSON object.
struct Report<T> {
    format: OutputFormat,
    report: T,
}

/// The end of a command.
#[derive(Clone, Serialize, JsonSchema)]
struct ExecReport {
    /// The exit code; missing if a signal or the time limit ended the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The number of the signal that ended the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// Whether the time limit ended the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    timed_out: Option<bool>,
    seconds: f64,
    sandbox: &'static str,
    /// The links that the command has left in repositories and that were removed, and the
    /// repositories that are new.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_behind: Vec<String>,
    output: String,
}

/// The start of a background process.
#[derive(Clone, Serialize, JsonSchema)]
struct StartReport {
    process: u32,
    sandbox: &'static str,
}

/// The state of a background process.
#[derive(Clone, Serialize, JsonSchema)]
struct ProcessReport {
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    seconds: f64,
    /// The number of bytes that were dropped before the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped_bytes: Option<u64>,
    /// The lines since the last call.
    output: String,
    /// The start of a line that is not complete yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    partial_line: Option<String>,
}

impl ProcessReport {
    /// Returns the news of a process, and records its end if this call is the first to see it.
    fn of(process: &Process, ctx: &ToolContext) -> Self {
        let (news, end) = process.output.look(ctx);
        if let Some(end) = end {
            let mut record = ProcessEnd::new();
            (record.code, record.signal) = (end.code, end.signal);
            record_end(ctx, process.pid, record);
        }
        Self {
            running: news.end.is_none(),
            exit_code: news.end.and_then(|end| end.code),
            signal: news.end.and_then(|end| end.signal),
            seconds: rounded(process.started.elapsed()),
            dropped_bytes: (news.dropped > 0).then_some(news.dropped),
            output: news.lines,
            partial_line: Some(news.partial).filter(|partial| !partial.is_empty()),
        }
    }
}

impl Redact for ToolContext {
    fn redact(&self, text: &str, part: Range<usize>) -> String {
        self.redact_part(text, part)
    }

    fn unfinished_secret(&self, text: &str) -> Option<usize> {
        self.unfinished_secret(text)
    }
}

/// A report with its values for the first line, and its output.
trait Labeled: Serialize {
    fn row(&self) -> Row;

    fn output(&self) -> &str {
        ""
    }
}

impl Labeled for ExecReport {
    fn row(&self) -> Row {
        let left_behind = !self.left_behind.is_empty();
        Row::new()
            .with("exit_code", self.exit_code)
            .with("signal", self.signal)
            .with("timed_out", self.timed_out)
            .with("seconds", self.seconds)
            .with("sandbox", self.sandbox)
            .with("left_behind", left_behind.then(|| self.left_behind.join("; ")))
    }

    fn output(&self) -> &str {
        &self.output
    }
}

impl Labeled for StartReport {
    fn row(&self) -> Row {
        Row::new().with("process", self.process).with("sandbox", self.sandbox)
    }
}

impl Labeled for ProcessReport {
    fn row(&self) -> Row {
        Row::new()
            .with("running", self.running)
            .with("exit_code", self.exit_code)
            .with("signal", self.signal)
            .with("seconds", self.seconds)
            .with("dropped_bytes", self.dropped_bytes)
            .with("partial_line", self.partial_line.clone())
    }

    fn output(&self) -> &str {
        &self.output
    }
}

impl<T: Labeled> IntoToolOutput for Report<T> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        if self.format == OutputFormat::Json {
            return Ok(ToolOutput::json(&self.report)?);
        }
        let line = OutputFormat::Labeled.render([self.report.row()]).into_text();
        let text = match self.report.output().trim_end_matches('\n') {
            "" => line,
            output => format!("{line}\n{output}"),
        };
        // Programs read the value, whatever the model asked for.
        Ok(ToolOutput::text(text).with_structured(serde_json::to_value(&self.report)?))
    }
}

impl<T: JsonSchema> JsonSchema for Report<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

/// Returns seconds with three decimals.
fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}
