//! One history: processes that run a session and workers, until the run has its answer.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use fastrand::Rng;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tool_runtime::agent::session::{MemorySessions, Session, SessionStore};
use tool_runtime::agent::{CompletedStep, Run};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, StopReason, async_trait,
};

use super::engine::Engine;
use super::process::{Process, ProcessStore};
use super::tools::{KINDS, name, tools_of_runner, work};
use super::world::{Kind, Mutation, Summary, World, number_of};

const SESSION: &str = "s";
const LEASE_LIFETIME: Duration = Duration::from_secs(3);
const RUNNERS: u64 = 2;
const WORKERS: u64 = 2;
/// A history that has not ended by then hangs.
const LIMIT: Duration = Duration::from_secs(3_600);

/// Everything that outlives the processes.
#[derive(Clone)]
struct Machines {
    world: World,
    store: MemorySessions,
    granted: Arc<AtomicU64>,
    engine: Engine,
    script: Arc<Vec<Vec<(u64, Kind)>>>,
}

/// Replies with the calls of the turn, to each process.
struct Model {
    process: Process,
    script: Arc<Vec<Vec<(u64, Kind)>>>,
}

#[async_trait]
impl ChatModel for Model {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.process.world().start(self.process.epoch(), "a request");
        self.process.point().await;
        let is_results = |message: &&Message| matches!(message, Message::Tool { .. });
        let turn = request.messages.iter().filter(is_results).count();
        let calls = self.script.get(turn).into_iter().flatten();
        let reply = calls.fold(ChatReply::default(), |reply, (number, kind)| {
            reply.call(name(*kind), json!({ "n": number }))
        });
        Ok(if reply.parts.is_empty() { ChatReply::text("Done.") } else { reply })
    }
}

impl Machines {
    fn session(&self, process: &Process) -> Session {
        let model = Model { process: process.clone(), script: Arc::clone(&self.script) };
        let agent = Agent::new(model, tools_of_runner(process, &self.engine)).max_iterations(100);
        let store = ProcessStore::new(&self.store, &self.granted, process);
        agent.session(store, SESSION).lease_lifetime(LEASE_LIFETIME)
    }

    /// Resumes the session until its run has ended.
    async fn run_session(&self, process: Process) {
        let session = self.session(&process);
        loop {
            match session.resume().await {
                Ok(Some(run)) => {
                    if self.drive(run, &process).await {
                        return;
                    }
                }
                Ok(None) => return,
                Err(_) => {}
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Runs all steps, and deletes the jobs whose results are saved. Returns whether the run ended.
    async fn drive(&self, mut run: Run, process: &Process) -> bool {
        while let Some(step) = run.next().await {
            if let CompletedStep::Called(executions) = step {
                process.point().await;
                let numbers = executions.iter().map(|it| number_of(&it.call.arguments.to_text()));
                numbers.for_each(|number| self.engine.delete(number));
            }
        }
        match run.finish().await {
            Ok(_) => true,
            Err(stopped) if matches!(stopped.reason, StopReason::Session(_)) => false,
            Err(stopped) => {
                self.world.violate(format!("the run stopped: {stopped}"));
                true
            }
        }
    }
}

/// Runs the history of a seed, and checks the laws.
pub fn run_history(seed: u64, mutation: Mutation) -> Result<Summary, String> {
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(history(Rng::with_seed(seed), mutation))
}

async fn history(mut rng: Rng, mutation: Mutation) -> Result<Summary, String> {
    let mut numbers = 1..;
    let turns = rng.usize(1..=3);
    let script: Vec<Vec<_>> = (0..turns)
        .map(|_| {
            let count = rng.usize(1..=3);
            (&mut numbers).take(count).map(|number| (number, KINDS[rng.usize(..4)])).collect()
        })
        .collect();
    let faults = rng.u32(1..=8);
    let world = World::new(rng, mutation);
    script.iter().flatten().for_each(|(number, kind)| world.add_call(*number, *kind));
    let machines = Machines {
        engine: Engine::new(&world),
        store: MemorySessions::default(),
        granted: Arc::default(),
        script: Arc::new(script),
        world,
    };
    // The first reply is saved before anything fails, so that there is a run to resume.
    let mut run = machines.session(&Process::new(&machines.world)).start("Go.").await.unwrap();
    run.next().await;
    drop(run);
    machines.world.allow_faults(faults);

    let mut background = JoinSet::new();
    let engine = machines.engine.clone();
    background.spawn(async move { engine.watch_workers().await });
    for _ in 0..WORKERS {
        let machines = machines.clone();
        background.spawn(async move {
            loop {
                let process = Process::new(&machines.world);
                process.run(work(process.clone(), machines.engine.clone())).await;
                sleep(machines.world.millis(2_000)).await;
            }
        });
    }
    let mut runners = JoinSet::new();
    for number in 0..RUNNERS {
        let machines = machines.clone();
        runners.spawn(async move {
            // The second one starts beside the first, or after it.
            sleep(machines.world.millis(1 + number * 6_000)).await;
            loop {
                let process = Process::new(&machines.world);
                if process.run(machines.run_session(process.clone())).await.is_some() {
                    return;
                }
                sleep(machines.world.millis(4_000)).await;
            }
        });
    }
    if timeout(LIMIT, runners.join_all()).await.is_err() {
        return Err("the run does not end".to_owned());
    }
    let record = machines.store.load(SESSION).await.map_err(|error| error.to_string())?;
    machines.world.check(&record.map(|record| record.messages).unwrap_or_default())
}
