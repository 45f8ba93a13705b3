//! A small coding agent: a model from the environment works on the folder, task by task.

use std::error::Error;
use std::io::{self, Write as _};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tool_runtime::agent::StreamItem;
use tool_runtime::drivers::Driver;
use tool_runtime::event::{Recorder, RunId};
use tool_runtime::files::{DiffRecorder, Files};
use tool_runtime::providers::OpenAi;
use tool_runtime::report::RunReport;
use tool_runtime::shell::Shell;
use tool_runtime::terminal::Terminal;
use tool_runtime::{Agent, Message, Policy, Tools};

use crate::report_place::ReportPlace;

const SETUP: &str = "\
The agent needs a model. This example talks to any server that speaks OpenAI's chat completions:

    OPENAI_MODEL=gpt-5-mini OPENAI_API_KEY=sk-…
    OPENAI_MODEL=qwen3      OPENAI_BASE_URL=http://127.0.0.1:11434/v1

A single call needs no model and no key: workspace FOLDER --call NAME JSON";

const INSTRUCTIONS: &str = "\
You are a coding agent. You work in one folder, with tools that read, search and change its files \
and run commands in a sandbox. Read a file before you edit it. After a change, run the tests if \
there are some. When the task is done, answer with what you changed, in one or two sentences.";

/// The agent and what records its runs.
pub(crate) struct Coder {
    agent: Agent,
    files: Files,
    terminal: Terminal,
    diffs: DiffRecorder,
    events: Recorder,
}

impl Coder {
    /// Creates the agent, with a model from the environment.
    pub(crate) fn new(
        files: &Files,
        shell: Shell,
        tools: Tools,
        policy: Policy,
        terminal: Terminal,
        driver: Box<dyn Driver>,
    ) -> Result<Self, Box<dyn Error>> {
        let model = OpenAi::from_env().map_err(|error| format!("{error}\n\n{SETUP}"))?;
        let diffs = DiffRecorder::new(files);
        let events = Recorder::new(10_000);
        let agent = Agent::new(model.timeout(Duration::from_secs(600)), tools)
            .system(INSTRUCTIONS)
            .driver(driver)
            .policy(policy)
            .max_iterations(40)
            .observer(terminal.clone())
            .observer(diffs.clone())
            // Ends the processes of a run with the run.
            .observer(shell)
            .observer(events.clone());
        Ok(Self { agent, files: files.clone(), terminal, diffs, events })
    }

    /// Works on one task, or on one task per line of the standard input.
    pub(crate) async fn work(&self, task: Option<String>) -> Result<(), Box<dyn Error>> {
        if let Some(task) = task {
            return match self.run(vec![Message::user(task)]).await {
                (_, true) => Ok(()),
                (_, false) => Err("the agent stopped without an answer".into()),
            };
        }
        let mut conversation = Vec::new();
        while let Some(task) = self.next_task().await? {
            conversation.push(Message::user(task));
            (conversation, _) = self.run(conversation).await;
        }
        Ok(())
    }

    /// Reads the next line that is not empty; `None` at the end of the input.
    async fn next_task(&self) -> io::Result<Option<String>> {
        let terminal = self.terminal.clone();
        let line = spawn_blocking(move || {
            terminal.suspend(|| {
                eprint!("> ");
                let is_empty = |line: &String| line.trim().is_empty();
                io::stdin().lines().find(|line| !line.as_ref().is_ok_and(is_empty))
            })
        });
        line.await?.transpose()
    }

    /// Runs the agent, prints its text as it arrives, and returns the conversation and whether it
    /// ended with an answer.
    async fn run(&self, conversation: Vec<Message>) -> (Vec<Message>, bool) {
        let mut output = self.terminal.writer();
        let mut stream = self.agent.stream(conversation);
        while let Some(item) = stream.next().await {
            if let StreamItem::Text(text) = item {
                // Without a reader of its output, the program still finishes the task.
                let _ = write!(output, "{text}").and_then(|()| output.flush());
            }
        }
        let _ = writeln!(output);
        match stream.finish().await {
            Ok(answer) => (answer.transcript, true),
            // The terminal has shown the reason.
            Err(stopped) => (stopped.transcript, false),
        }
    }

    /// Writes the report, and the patch of all runs beside it.
    pub(crate) fn write_report(&self, place: &ReportPlace) -> io::Result<()> {
        let mut runs: Vec<RunId> = self.diffs.turns().into_iter().map(|(run, _)| run).collect();
        runs.dedup();
        let patches = runs.into_iter().map(|run| self.diffs.patch_of_run(run).to_string());
        let patch: String = patches.collect();
        let report = RunReport::from(&self.events);
        let paths = place.write(&self.files, &report, &patch)?;
        self.terminal.suspend(|| eprintln!("wrote {} and {}", paths.0, paths.1));
        Ok(())
    }
}
