//! Metrics from events.
//!
//! 1. `mod.rs`: an observer turns events into measurements, and counts for each run.
//! 2. `instruments.rs`: the instruments of the chosen conventions record them.

mod instruments;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry::metrics::Meter;
use tool_core::event::{EventKind, ModelEvent, Observer, RunEvent, RunId, ToolEvent};
use tool_core::{Event, ToolExecution, Usage};

use crate::Conventions;
use instruments::Instruments;

/// Records durations, tokens and errors of requests, calls and runs as OpenTelemetry metrics.
///
/// Add it to one agent or to several with [`Agent::observer`](tool_core::Agent::observer). It
/// records what events contain and does not make models stream: the time to the first piece of a
/// reply is recorded if the reply is streamed anyway. The [guide](https://docs.rs/tool-runtime)
/// lists the metrics on its page `observability`.
///
/// ```
/// use opentelemetry::metrics::MeterProvider as _;
/// use opentelemetry_sdk::metrics::SdkMeterProvider;
/// use tool_runtime::otel::{Conventions, Metrics};
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // With a reader that has an exporter, as in the example `otlp`.
/// let provider = SdkMeterProvider::builder().build();
/// let metrics = Metrics::new(&provider.meter("weather"), Conventions::Latest);
///
/// let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// Agent::new(model, Tools::new()).observer(metrics).run("Hello").await?;
/// provider.shutdown()?; // exports the last measurements
/// # Ok(())
/// # }
/// ```
pub struct Metrics {
    instruments: Instruments,
    /// The runs in progress.
    runs: Mutex<HashMap<RunId, RunCounts>>,
}

/// The counts of a run in progress.
#[derive(Default)]
struct RunCounts {
    agent: Option<String>,
    /// The model of the last request.
    model: Option<String>,
    inference_calls: u64,
    tool_calls: u64,
}

/// A model request that has ended.
struct Request<'e> {
    provider: Option<&'e str>,
    model: Option<&'e str>,
    response_model: Option<&'e str>,
    server: (Option<&'e str>, Option<u16>),
    error: Option<&'e str>,
    usage: Option<Usage>,
    first_delta: Option<Duration>,
    duration: Duration,
}

/// A run that has ended or paused.
struct EndedRun<'e> {
    counts: RunCounts,
    error: Option<&'e str>,
    duration: Duration,
}

impl Metrics {
    /// Creates the instruments on a meter, with the names of these conventions.
    pub fn new(meter: &Meter, conventions: Conventions) -> Self {
        Self { instruments: Instruments::new(meter, conventions), runs: Mutex::default() }
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<RunId, RunCounts>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn observe_run(&self, run: RunId, event: &RunEvent) {
        match event {
            RunEvent::Started { agent, .. } => {
                let counts = RunCounts { agent: agent.clone(), ..RunCounts::default() };
                self.runs().insert(run, counts);
            }
            RunEvent::Finished { code, duration, .. } => {
                // A run that another process had started has no start here.
                let Some(counts) = self.runs().remove(&run) else { return };
                // The end of its last process was recorded with its duration.
                if code.as_deref() == Some("ABANDONED") {
                    return;
                }
                // A run that waits for a decision has not failed.
                let error = code.as_deref().filter(|code| *code != "AWAITING_APPROVAL");
                self.instruments.record_run(&EndedRun { counts, error, duration: *duration });
            }
            _ => {}
        }
    }

    fn observe_request(&self, run: RunId, event: &ModelEvent) {
        let request = match event {
            ModelEvent::Replied {
                provider,
                model,
                requested_model,
                server_address,
                server_port,
                usage,
                first_delta,
                duration,
                ..
            } => Request {
                provider: provider.as_deref(),
                model: requested_model.as_deref(),
                response_model: model.as_deref(),
                server: (server_address.as_deref(), *server_port),
                error: None,
                usage: *usage,
                first_delta: *first_delta,
                duration: *duration,
            },
            ModelEvent::Failed {
                code,
                provider,
                model,
                server_address,
                server_port,
                duration,
                ..
            } => Request {
                provider: provider.as_deref(),
                model: model.as_deref(),
                response_model: None,
                server: (server_address.as_deref(), *server_port),
                error: Some(code),
                // Estimated usage is not what the provider bills.
                usage: None,
                first_delta: None,
                duration: *duration,
            },
            _ => return,
        };
        if let Some(counts) = self.runs().get_mut(&run) {
            counts.inference_calls += 1;
            counts.model = request.model.map(str::to_owned);
        }
        self.instruments.record_request(&request);
    }

    fn observe_execution(&self, run: RunId, execution: &ToolExecution) {
        // A call that was refused or answered without its tool is no execution.
        if !execution.did_run() {
            return;
        }
        let mut runs = self.runs();
        let counts = runs.get_mut(&run);
        let agent = counts.and_then(|counts| {
            counts.tool_calls += 1;
            counts.agent.clone()
        });
        drop(runs);
        self.instruments.record_execution(execution, agent);
    }
}

impl Observer for Metrics {
    fn observe(&self, event: &Event) {
        let run = event.origin.run;
        match &event.kind {
            EventKind::Run(event) => self.observe_run(run, event),
            EventKind::Model(event) => self.observe_request(run, event),
            EventKind::Tool(ToolEvent::Finished(execution)) => {
                self.observe_execution(run, execution);
            }
            _ => {}
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
