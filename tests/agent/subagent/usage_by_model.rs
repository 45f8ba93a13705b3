//! The usage of a run by model: its own, that of nested runs and tools, and of failed requests.

use tool_runtime::agent::{Limits, Prices, RunState};
use tool_runtime::message::{ModelUsage, UsedModel};
use tool_runtime::models::{DeltaSink, ModelInfo};
use tool_runtime::{Delta, EffectRecord, ToolOutput};

use super::*;

/// A model with a name; every third reply is that of another version.
struct Named(&'static str, Story);

#[async_trait]
impl ChatModel for Named {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let count = request.messages.len();
        let mut reply = self.1.reply(request).await?;
        reply.model = (count > 3).then(|| format!("{}-2", self.0));
        Ok(reply)
    }

    fn info(&self) -> ModelInfo {
        ModelInfo::new(self.0).provider("acme")
    }
}

/// Embeds something, and looks at a picture.
#[tool(effect = "read")]
async fn embed() -> ToolOutput {
    let spent = |tokens, cost, model: Option<UsedModel>| EffectRecord::TokensSpent {
        usage: Usage::new(tokens, 0),
        cost,
        model: model.map(Box::new),
    };
    let named = || Some(UsedModel::new("acme", "embedder"));
    ToolOutput::text("done")
        .with_effect(spent(100, Some(0.5), named()))
        .with_effect(spent(20, None, named()))
        .with_effect(spent(7, None, None))
}

/// The models, with their input and output tokens.
fn lines(usage_by_model: &[ModelUsage]) -> Vec<String> {
    let line = |of_model: &ModelUsage| {
        let (model, Usage { input_tokens, output_tokens, .. }) =
            (of_model.used_model(), of_model.usage);
        format!("{model}: {input_tokens} {output_tokens}")
    };
    usage_by_model.iter().map(line).collect()
}

fn sum(usage_by_model: &[ModelUsage]) -> Usage {
    usage_by_model.iter().fold(Usage::default(), |mut sum, of_model| {
        sum += of_model.usage;
        sum
    })
}

/// A large model calls a small one, which calls a tool.
fn agent() -> Agent {
    let small = Named(
        "small",
        story([ChatReply::default().call("embed", "{}"), ChatReply::text("Embedded.")]),
    );
    let helper = Agent::new(small, tools![embed]).into_tool("helper", "Helps.");
    let large = Named("large", story([ask("helper"), ChatReply::text("Done.")]));
    Agent::new(large, Tools::new().with(helper))
}

#[tokio::test]
async fn usage_is_known_by_model_and_survives_a_resumption() {
    let (agent, events) = with_recorder(agent());
    let mut run = agent.start("Go");
    let mut usages = Vec::new();
    loop {
        usages.push(lines(&run.turn().usage_by_model()));
        // In another process.
        let saved = serde_json::to_string(&run.state()).unwrap();
        let state: RunState = serde_json::from_str(&saved).unwrap();
        assert_eq!(state.turn.usage_by_model(), run.turn().usage_by_model());
        if run.next().await.is_none() {
            break;
        }
        let saved = serde_json::to_string(&run.state()).unwrap();
        run = agent.resume(serde_json::from_str::<RunState>(&saved).unwrap());
    }
    let answer = run.finish().await.unwrap();
    let expected = [
        "unknown model: 7 0",
        "embedder (acme): 120 0",
        "large (acme): 20 2",
        "small (acme): 20 2",
    ];
    assert_eq!(usages[..2], [vec![], vec!["large (acme): 10 1".to_owned()]]);
    assert_eq!(lines(&answer.usage_by_model), expected);
    assert_eq!(sum(&answer.usage_by_model), answer.usage);
    assert!(answer.usage_by_model.iter().all(|of_model| of_model.cost.is_none()));

    let events = events.lock().unwrap();
    let ended = events.iter().filter_map(|event| match &event.kind {
        EventKind::Run(RunEvent::Finished { code: None, usage, usage_by_model, .. }) => {
            assert_eq!(sum(usage_by_model), *usage);
            Some(lines(usage_by_model))
        }
        _ => None,
    });
    let ended: Vec<_> = ended.collect();
    assert_eq!(ended[0], [expected[0], expected[1], expected[3]]);
    assert_eq!(ended.last().unwrap(), &expected);
}

#[tokio::test]
async fn costs_of_the_models_add_up_to_that_of_the_run() {
    let prices = Prices { input: 1e6, cached: 0.0, output: 0.0 };
    let answer = agent().limits(Limits::default().max_cost(1e9, prices)).run("Go").await.unwrap();
    let costs: Vec<_> = answer.usage_by_model.iter().map(|it| it.cost.unwrap()).collect();
    assert_eq!(costs, [7.0, 20.5, 20.0, 20.0]);
    assert_eq!(answer.cost, Some(67.5));
}

#[tokio::test]
async fn model_that_served_a_reply_is_the_one_that_is_charged() {
    let replies = [echo_call("a"), echo_call("b"), ChatReply::text("Done.")];
    let answer = Agent::new(Named("large", story(replies)), tools![echo]).run("Go").await.unwrap();
    assert_eq!(lines(&answer.usage_by_model), ["large (acme): 20 2", "large-2 (acme): 10 1"]);
}

/// Streams a part of a reply, then fails.
struct Cut;

#[async_trait]
impl ChatModel for Cut {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Err(ModelError::failed("cut"))
    }

    async fn stream(
        &self,
        _: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        deltas(Delta::Text("12345678"));
        Err(ModelError::failed("cut"))
    }

    fn info(&self) -> ModelInfo {
        ModelInfo::new("cutter").provider("scissors")
    }
}

#[tokio::test]
async fn cut_request_is_estimated_for_its_model() {
    let stopped = Agent::new(Cut, Tools::new()).stream("1234").finish().await.unwrap_err();
    assert_eq!(lines(&stopped.usage_by_model), ["cutter (scissors): 1 2"]);
    let usage = stopped.usage_by_model[0].usage;
    assert_eq!((usage, usage.estimated_tokens), (*stopped.usage, 3));
}
