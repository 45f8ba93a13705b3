//! Tool code that runs outside a call: texts and destructors of errors, definitions, availability;
//! and calls whose runtime is shut down.

use std::error::Error;
use std::fmt;

use tool_runtime::CancellationToken;
use tool_runtime::dispatch::{Batch, Dispatch};

use super::*;

/// The code of an error that panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Display,
    Source,
    Drop,
    /// No panic, but the error is its own source.
    Loop,
}

#[derive(Debug)]
struct Mined(At);

impl fmt::Display for Mined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert!(self.0 != At::Display, "in the text");
        f.write_str("mined")
    }
}

impl Error for Mined {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        assert!(self.0 != At::Source, "in the source");
        (self.0 == At::Loop).then_some(self)
    }
}

impl Drop for Mined {
    fn drop(&mut self) {
        assert!(self.0 != At::Drop, "in the destructor");
    }
}

/// Collects the events of an observer.
fn observed(dispatcher: Dispatcher) -> (Dispatcher, std::sync::mpsc::Receiver<Event>) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut observers = Observers::default();
    observers.add(move |event: &Event| sender.send(event.clone()).unwrap());
    (dispatcher.observers(observers), receiver)
}

fn finished(events: &std::sync::mpsc::Receiver<Event>) -> Vec<ToolExecution> {
    events.try_iter().filter_map(|event| event.execution().cloned()).collect()
}

#[tokio::test(start_paused = true)]
async fn error_with_a_panicking_text_is_reported() {
    support::panics::silence_panics_on_purpose();
    for (at, cause) in [
        (At::Display, "an error whose own text panicked: in the text"),
        (At::Source, "an error whose own text panicked: in the source"),
        (At::Drop, "mined"),
        (At::Loop, "mined: mined: mined"),
    ] {
        let mut tool = ByHand::new("mined", move || -> Call<'static> {
            Box::pin(async move { Err(ToolError::transient("no").with_source(Mined(at))) })
        });
        // The error that is dropped between two attempts panics as well.
        tool.0 = tool.0.idempotent();
        tool.0.max_retries = 1;
        let (dispatcher, events) = observed(dispatcher(Tools::new().with(tool)));
        for count in [1, 2] {
            let executions = dispatcher.dispatch(calls(&vec![("mined", "{}"); count])).await;
            assert_eq!(finished(&events).len(), count, "{at:?}");
            for execution in executions {
                assert_eq!(execution.result.text, "no");
                assert_eq!(execution.result.error.as_deref(), Some("TOOL_TRANSIENT_FAILURE"));
                assert_eq!(execution.attempts, 2);
                let recorded = execution.cause.unwrap();
                assert!(recorded.starts_with(cause) && recorded.len() < 1_000, "{recorded}");
            }
        }
    }
}

/// Panics after this number of calls.
struct Shy {
    definition: ToolDefinition,
    left: AtomicUsize,
}

#[async_trait]
impl Tool for Shy {
    fn definition(&self) -> &ToolDefinition {
        let left = self.left.fetch_sub(1, Ordering::SeqCst);
        assert!(left > 0, "asked too often");
        &self.definition
    }

    fn availability(&self) -> Availability {
        panic!("the answer is unknown")
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("called"))
    }
}

#[tokio::test]
async fn definition_of_a_tool_is_read_once() {
    support::panics::silence_panics_on_purpose();
    let shy = |name: &str| Shy {
        definition: ToolDefinition::new(name, "Shy.", json!({ "type": "object" })),
        left: AtomicUsize::new(1),
    };
    let registry = Registry::try_from(tools![add].with(shy("one"))).unwrap();
    registry.register(Arc::new(shy("two"))).unwrap();
    let dispatcher = Dispatcher::new(registry);
    let snapshot = dispatcher.registry().snapshot();
    // A panic in `availability` makes the tool unavailable.
    let offered: Vec<_> =
        dispatcher.offered_tools(&snapshot).iter().map(|tool| &tool.name).collect();
    assert_eq!(offered, ["add"]);
    assert_eq!(snapshot.definition("two").unwrap().description, "Shy.");
    let executions = dispatcher.dispatch(calls(&[("one", "{}")])).await;
    assert_eq!(texts(&executions), ["called"]);
    let executions =
        dispatcher.dispatch(calls(&[("one", "{}"), ("two", "{}"), ("tow", "{}")])).await;
    assert_eq!(texts(&executions)[..2], ["called"; 2]);
    assert_eq!(texts(&executions)[2], "There is no tool named `tow`. The tools are `add`.");
}

#[test]
fn call_dropped_with_its_runtime_emits_its_end() {
    let shut_down = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let handle = shut_down.handle().clone();
    shut_down.shutdown_background();
    let alive = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for count in [2, 3] {
        let (dispatcher, events) = observed(all());
        let list = vec![("add", r#"{"a": 1, "b": 2}"#); count];
        let executions = alive.block_on(async {
            let _entered = handle.enter();
            dispatcher.dispatch(calls(&list)).await
        });
        assert_eq!(codes(&executions), vec!["TOOL_INDETERMINATE"; count]);
        assert_eq!(codes(&finished(&events)), codes(&executions));
    }
}

/// Fails with an error whose source panics when dropped, cancels its own batch, and leaves a task
/// that ends a moment later: the call is cancelled while it holds the error.
#[tool]
async fn fail_and_stop(ctx: &ToolContext) -> Result<(), ToolError> {
    ctx.spawn(std::future::pending::<()>());
    ctx.get::<CancellationToken>().unwrap().cancel();
    Err(ToolError::failed("no").with_source(Mined(At::Drop)))
}

#[tokio::test(start_paused = true)]
async fn panic_in_the_drop_of_an_error_is_caught() {
    support::panics::silence_panics_on_purpose();
    for count in [1, 2] {
        let stop = CancellationToken::new();
        let (dispatcher, events) = observed(dispatcher(tools![fail_and_stop]));
        let mut batch = Batch::from(calls(&vec![("fail_and_stop", "{}"); count]));
        batch.cancellation = Some(stop.clone());
        let executions = Dispatch::dispatch(&dispatcher.extension(stop), batch).await;
        assert_eq!(codes(&executions), vec!["TOOL_CANCELLED"; count]);
        assert_eq!(finished(&events).len(), count);
    }
}

#[tokio::test]
async fn registry_view_that_panics_holds_no_tools() {
    support::panics::silence_panics_on_purpose();
    let registry = Registry::try_from(tools![add, fail]).unwrap();
    let view = registry.filter(|entry| {
        assert!(entry.name() != "add", "in the view");
        true
    });
    let dispatcher = Dispatcher::new(view);
    for count in [1, 2] {
        let executions = dispatcher.dispatch(calls(&vec![("add", "{}"); count])).await;
        assert_eq!(codes(&executions), vec!["TOOL_NOT_FOUND"; count]);
    }
    assert_eq!(dispatcher.registry().snapshot().all_definitions().len(), 1);
}
