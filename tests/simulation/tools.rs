//! The tools of a history: those that run in the process of the run, and both halves of those that
//! run on workers.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;
use tool_runtime::dispatch::CallEnvelope;
use tool_runtime::event::Observers;
use tool_runtime::{
    Arguments, CancellationToken, Dispatcher, Registry, Tool, ToolContext, ToolDefinition,
    ToolError, ToolErrorKind, ToolOutput, Tools, async_trait,
};

use super::engine::{Ended, Engine};
use super::process::Process;
use super::world::{Kind, number_of};

pub const KINDS: [Kind; 4] = [
    Kind { is_remote: false, is_repeatable: false },
    Kind { is_remote: false, is_repeatable: true },
    Kind { is_remote: true, is_repeatable: false },
    Kind { is_remote: true, is_repeatable: true },
];

fn definition(kind: Kind) -> ToolDefinition {
    let schema = json!({
        "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"],
    });
    let mut definition = ToolDefinition::new(name(kind), "Acts.", schema);
    definition.idempotent = kind.is_repeatable;
    definition.reattaches = kind.is_remote;
    definition
}

/// Returns the name of the tool of a kind.
pub fn name(Kind { is_remote, is_repeatable }: Kind) -> String {
    let (place, times) =
        (if is_remote { "remote" } else { "local" }, if is_repeatable { "again" } else { "once" });
    format!("{place}_{times}")
}

/// Has its effect in this process.
struct Acts {
    definition: ToolDefinition,
    process: Process,
    /// Whether it runs under the lease of a session.
    is_leased: bool,
}

#[async_trait]
impl Tool for Acts {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let world = self.process.world();
        if self.is_leased {
            world.start(self.process.epoch(), "a call");
        }
        self.process.point().await;
        world.effect(number_of(&args.to_text()));
        self.process.point().await;
        Ok(ToolOutput::text("done"))
    }
}

/// Has its effect on a worker.
struct Submits {
    definition: ToolDefinition,
    process: Process,
    engine: Engine,
}

#[async_trait]
impl Tool for Submits {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.process.world().start(self.process.epoch(), "a remote call");
        self.process.point().await;
        let envelope = ctx.envelope(&self.definition, &args);
        let job = serde_json::to_string(&envelope)?;
        self.engine.submit(job, self.definition.idempotent).await;
        self.process.point().await;
        let ended = self.engine.result(&envelope.key).await;
        self.process.point().await;
        match ended {
            Ended::Done(execution) => ctx.outcome_of(serde_json::from_str(&execution)?),
            Ended::Lost => {
                Err(ToolError::new(ToolErrorKind::Indeterminate, "The worker was lost."))
            }
        }
    }
}

/// Returns the tools of a process that runs the session.
pub fn tools_of_runner(process: &Process, engine: &Engine) -> Tools {
    KINDS.into_iter().fold(Tools::new(), |tools, kind| {
        let (definition, process) = (definition(kind), process.clone());
        if kind.is_remote {
            tools.with(Submits { definition, process, engine: engine.clone() })
        } else {
            tools.with(Acts { definition, process, is_leased: true })
        }
    })
}

/// Executes jobs until the process crashes.
pub async fn work(process: Process, engine: Engine) {
    let tools =
        KINDS.into_iter().filter(|kind| kind.is_remote).fold(Tools::new(), |tools, kind| {
            let (definition, process) = (definition(kind), process.clone());
            tools.with(Acts { definition, process, is_leased: false })
        });
    let dispatcher = Dispatcher::new(Registry::try_from(tools).unwrap());
    loop {
        let (key, envelope) = engine.next().await;
        process.point().await;
        let Some(lease) = engine.begin(&key) else {
            // The other delivery of the job has begun; this worker looks for another job.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        process.point().await;
        // The answer may have been delayed until the job was given to another worker.
        if !engine.heartbeat(&key, lease) {
            continue;
        }
        let envelope: CallEnvelope = serde_json::from_str(&envelope).unwrap();
        let stop = CancellationToken::new();
        let mut served = Box::pin(dispatcher.serve(envelope, Observers::default(), stop.clone()));
        let execution = loop {
            tokio::select! {
                biased;
                execution = &mut served => break execution,
                () = sleep(Duration::from_millis(500)) => {
                    if !engine.heartbeat(&key, lease) {
                        stop.cancel();
                    }
                }
            }
        };
        process.point().await;
        engine.finish(&key, lease, serde_json::to_string(&execution).unwrap());
    }
}
