//! Questions of tools and prompts to the client.

use serde_json::{Value, json};
use tool_mcp::McpServer;
use tool_mcp::server::{
    ElicitationReply, ElicitationRequest, InputRequests, InputResponses, McpRequest, Prompt,
    PromptMessage, PromptRequest, Prompts, SamplingRequest,
};
use tool_runtime::{ToolContext, ToolError, tool, tools};

use crate::client::{Client, NEW, OLD, text};

fn name_schema() -> Value {
    let name = json!({ "type": "string" });
    json!({ "type": "object", "properties": { "name": name }, "required": ["name"] })
}

/// Asks for everything, in two rounds.
#[tool]
async fn gather(ctx: &ToolContext) -> Result<String, ToolError> {
    let Some(responses) = InputResponses::of(ctx) else {
        return Err(InputRequests::new()
            .elicit("user", ElicitationRequest::new("What is your name?", name_schema()))
            .sample("greeting", SamplingRequest::new("Greet!").max_tokens(9))
            .roots("folders")
            .suspend(1));
    };
    if responses.state_as::<u32>()? == 1 {
        let name = match responses.elicited("user")? {
            ElicitationReply::Accepted(content) => content["name"].as_str().unwrap().to_owned(),
            _ => "stranger".to_owned(),
        };
        let greeting = responses.sampled("greeting")?.text;
        let folders = responses.roots("folders")?.join(",");
        let page = ElicitationRequest::url("Please visit.", "https://example.org/a");
        let requests = InputRequests::new().elicit("page", page);
        // Text, so it is not taken for the first state.
        return Err(requests.suspend(format!("{greeting} {name} {folders}")));
    }
    unreachable!()
}

/// Asks a question in plain text.
#[tool]
async fn seat(ctx: &ToolContext) -> Result<String, ToolError> {
    match ctx.resumed() {
        None => Err(ToolError::suspended("Window or aisle?", json!({ "train": "ICE" }))),
        Some(resumed) => {
            Ok(format!("{} {}", resumed.state["train"], resumed.answer_as::<String>()?))
        }
    }
}

/// Asks while it runs.
#[tool]
async fn live(ctx: &ToolContext) -> Result<String, ToolError> {
    let request = ctx.require::<McpRequest>()?.clone();
    // Another task than that of the request.
    let handle = tokio::spawn(async move {
        let question = ElicitationRequest::new("Name?", name_schema());
        let (name, greeting) =
            (request.elicit(question).await?, request.sample(SamplingRequest::new("Hi")).await?);
        let roots = request.roots().await?;
        let name = name.content().map(|content| content["name"].to_string());
        Ok::<_, ToolError>(format!("{} {name:?} {roots:?}", greeting.text))
    });
    handle.await?
}

fn answer_to(request: &Value) -> Value {
    match request["method"].as_str().unwrap() {
        "elicitation/create" if request["params"]["mode"] == "url" => json!({ "action": "accept" }),
        "elicitation/create" => json!({ "action": "accept", "content": { "name": "Ada" } }),
        "sampling/createMessage" => json!({
            "role": "assistant",
            "content": { "type": "text", "text": "Hello" },
            "model": "m",
        }),
        "roots/list" => json!({ "roots": [{ "uri": "file:///w" }] }),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn sessions_are_asked_all_questions_at_once() {
    let mut client = Client::connect(McpServer::new(tools![gather]), OLD).await;
    let id = client.start("tools/call", json!({ "name": "gather", "arguments": {} })).await;
    let mut questions = Vec::new();
    for _ in 0..3 {
        questions.push(client.next().await);
    }
    let mut methods: Vec<_> = questions.iter().map(|it| it["method"].as_str().unwrap()).collect();
    methods.sort_unstable();
    assert_eq!(methods, ["elicitation/create", "roots/list", "sampling/createMessage"]);
    for question in questions.iter().rev() {
        client.answer(question, answer_to(question)).await;
    }
    let page = client.next().await;
    assert_eq!(page["params"]["url"], "https://example.org/a");
    client.answer(&page, json!({ "action": "decline" })).await;
    let result = client.response(id).await["result"].clone();
    // The second state is text, which the tool does not expect.
    assert_eq!(result["isError"], true, "{result}");
}

#[tokio::test]
async fn stateless_clients_get_one_round_of_questions_after_the_other() {
    let mut client = Client::connect(McpServer::new(tools![gather]), NEW).await;
    let call = json!({ "name": "gather", "arguments": {} });
    let pending = client.request("tools/call", call.clone()).await["result"].clone();
    let requests = pending["inputRequests"].as_object().unwrap();
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["folders", "greeting", "user"]);
    assert_eq!(requests["greeting"]["params"]["maxTokens"], 9);
    let answers: Value = requests.iter().map(|(key, it)| (key.clone(), answer_to(it))).collect();

    // If an answer is missing, all questions are repeated.
    let mut retry = call.clone();
    retry["requestState"] = pending["requestState"].clone();
    retry["inputResponses"] = json!({ "user": answers["user"] });
    let repeated = client.request("tools/call", retry.clone()).await["result"].clone();
    assert_eq!(repeated["inputRequests"], pending["inputRequests"]);

    retry["requestState"] = repeated["requestState"].clone();
    retry["inputResponses"] = answers;
    let second = client.request("tools/call", retry).await["result"].clone();
    assert_eq!(second["inputRequests"]["page"]["params"]["mode"], "url", "{second}");
}

#[tokio::test]
async fn questions_in_plain_text_become_forms() {
    for (reply, expected) in [
        (json!({ "action": "accept", "content": { "answer": "aisle" } }), "\"ICE\" aisle"),
        (json!({ "action": "decline" }), "The user declined to answer."),
    ] {
        let mut client = Client::connect(McpServer::new(tools![seat]), NEW).await;
        let call = json!({ "name": "seat", "arguments": {} });
        let pending = client.request("tools/call", call.clone()).await["result"].clone();
        let question = &pending["inputRequests"]["answer"]["params"];
        assert_eq!(question["message"], "Window or aisle?");
        let mut retry = call;
        retry["requestState"] = pending["requestState"].clone();
        retry["inputResponses"] = json!({ "answer": reply });
        let result = client.request("tools/call", retry).await["result"].clone();
        assert_eq!(text(&result), expected);

        let mut client = Client::connect(McpServer::new(tools![seat]), OLD).await;
        let id = client.start("tools/call", json!({ "name": "seat", "arguments": {} })).await;
        let question = client.next().await;
        client.answer(&question, reply).await;
        assert_eq!(text(&client.response(id).await["result"]), expected);
    }
}

#[tokio::test]
async fn running_tools_can_ask_sessions_only() {
    let mut client = Client::connect(McpServer::new(tools![live]), OLD).await;
    let id = client.start("tools/call", json!({ "name": "live", "arguments": {} })).await;
    for _ in 0..3 {
        let question = client.next().await;
        client.answer(&question, answer_to(&question)).await;
    }
    let result = client.response(id).await["result"].clone();
    assert_eq!(text(&result), r#"Hello Some("\"Ada\"") ["file:///w"]"#);

    let mut client = Client::connect(McpServer::new(tools![live]), NEW).await;
    let result = client.call("live", json!({})).await;
    let expected =
        "Clients of MCP 2026-07-28 can't be asked during a call: suspend the call instead.";
    assert_eq!(text(&result), expected);

    let mut client = Client::with(McpServer::new(tools![live]), OLD, json!({})).await;
    let result = client.call("live", json!({})).await;
    assert_eq!(text(&result), "The client can't be asked: it does not support `elicitation`.");
}

#[tokio::test]
async fn prompts_can_ask() {
    fn server() -> McpServer {
        let prompts = Prompts::new();
        prompts.insert(Prompt::new("greet"), |request: PromptRequest| async move {
            let Some(responses) = request.responses else {
                let question = ElicitationRequest::new("Name?", name_schema());
                return Err(InputRequests::new().elicit("user", question).suspend("state"));
            };
            let state: String = responses.state_as()?;
            let reply = responses.elicited("user")?;
            Ok(vec![PromptMessage::user(format!("{state} {}", reply.content().unwrap()["name"]))])
        });
        McpServer::new(tools![]).prompts(prompts)
    }
    let expected =
        json!({ "role": "user", "content": { "type": "text", "text": "state \"Ada\"" } });

    let mut client = Client::connect(server(), OLD).await;
    let id = client.start("prompts/get", json!({ "name": "greet" })).await;
    let question = client.next().await;
    client.answer(&question, answer_to(&question)).await;
    assert_eq!(client.response(id).await["result"]["messages"][0], expected);

    let mut client = Client::connect(server(), NEW).await;
    let pending = client.request("prompts/get", json!({ "name": "greet" })).await["result"].clone();
    assert_eq!(pending["resultType"], "input_required", "{pending}");
    let answer = answer_to(&pending["inputRequests"]["user"]);
    let mut retry = json!({ "name": "greet", "requestState": pending["requestState"] });
    retry["inputResponses"] = json!({ "user": 7 });
    let repeated = client.request("prompts/get", retry.clone()).await["result"].clone();
    assert_eq!(repeated["inputRequests"], pending["inputRequests"]);
    retry["inputResponses"] = json!({ "user": answer });
    let result = client.request("prompts/get", retry.clone()).await["result"].clone();
    assert_eq!(result["messages"][0], expected, "{result}");
    retry["arguments"] = json!({ "other": "x" });
    let refused = client.request("prompts/get", retry).await;
    assert_eq!(refused["error"]["code"], -32602, "the state belongs to other arguments");
}
