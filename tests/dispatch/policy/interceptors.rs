//! Interceptors before and after each call.

use tool_runtime::dispatch::{InterceptAction, InterceptContext, Interceptor};
use tool_runtime::{Policy, RunContext, async_trait};

use super::*;

/// Records each call, and acts as the name of the call says.
struct Watch(&'static str, Arc<Mutex<Vec<String>>>);

impl Watch {
    fn note(&self, stage: &str, name: &str) {
        self.1.lock().unwrap().push(format!("{} {stage} {name}", self.0));
    }
}

#[async_trait]
impl Interceptor for Watch {
    async fn before_call(
        &self,
        call: &mut ToolCall,
        _: &mut InterceptContext<'_>,
    ) -> InterceptAction {
        self.note("before", &call.name);
        call.id = "changed".into();
        match (self.0, call.name.as_str()) {
            ("outer", "renamed") => call.name = "allowed".into(),
            ("outer", "blocked") => return InterceptAction::Block("so it is".into()),
            ("inner", "answered") => return InterceptAction::Return(ToolOutput::text("42")),
            ("inner", "crash") => panic!("in before"),
            _ => {}
        }
        InterceptAction::Run
    }

    async fn after_call(&self, execution: &mut ToolExecution, _: &RunContext<'_>) {
        self.note("after", &execution.call.name);
        execution.call.id = "changed".into();
        execution.result.call = "changed".into();
        assert_ne!((self.0, execution.call.name.as_str()), ("outer", "allowed"), "in after");
    }
}

#[tokio::test]
async fn interceptors_can_change_answer_and_block_calls() {
    let notes = Arc::default();
    let dispatcher = dispatcher(tools![allowed]).policy(
        Policy::new()
            .interceptor(Watch("outer", Arc::clone(&notes)))
            .interceptor(Watch("inner", Arc::clone(&notes))),
    );
    for (name, text, code_, expected) in [
        ("allowed", "ok", "-", "outer inner inner outer"),
        ("renamed", "ok", "-", "outer inner inner outer"),
        ("answered", "42", "-", "outer inner inner outer"),
        ("blocked", "The call was blocked: so it is", "TOOL_DENIED", "outer inner outer"),
        (
            "crash",
            "The call was blocked: an interceptor panicked",
            "TOOL_DENIED",
            "outer inner inner outer",
        ),
    ] {
        let execution = run(&dispatcher, &[name]).await.remove(0);
        assert_eq!((execution.result.text.as_str(), code(&execution)), (text, code_), "{name}");
        // Interceptors can't change ids.
        assert_eq!(
            (execution.call.id.as_str(), execution.result.call.as_str()),
            ("call_0", "call_0")
        );
        assert_eq!(execution.call.name, name);
        let ran_as = execution.modified_call.map(|call| call.name.clone());
        assert_eq!(ran_as.as_deref(), (name == "renamed").then_some("allowed"));
        let notes: Vec<_> = notes.lock().unwrap().drain(..).collect();
        let interceptors: Vec<_> = notes.iter().filter_map(|note| note.split(' ').next()).collect();
        assert_eq!(interceptors.join(" "), expected, "{name}: {notes:?}");
    }
}
