//! The client that the official conformance suite runs, with one configuration for all scenarios.
//!
//! The suite passes the URL of its server as the last argument, the scenario in
//! `MCP_CONFORMANCE_SCENARIO`, and further data as JSON in `MCP_CONFORMANCE_CONTEXT`. The client
//! needs no `MCP_CONFORMANCE_PROTOCOL_VERSION`: it finds out which revision the server speaks.

use std::error::Error;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tool_runtime::mcp::{
    AuthorizationHandler, Elicitation, ElicitationAction, ElicitationHandler, ElicitationKind,
    McpClient, OAuth, SigningAlgorithm, SigningKey,
};
use tool_runtime::{Dispatcher, Registry, ToolCall, async_trait};

/// The scenarios whose servers answer no calls.
const WITHOUT_CALLS: [&str; 2] = ["initialize", "json-schema-ref-no-deref"];

/// The suite kills a client after 30 seconds.
const LIMIT: Duration = Duration::from_secs(28);

/// Connects, lists the tools, and calls those that the suite names, or all.
pub(crate) async fn run(url: &str) -> Result<(), Box<dyn Error>> {
    tokio::time::timeout(LIMIT, play(url)).await?
}

async fn play(url: &str) -> Result<(), Box<dyn Error>> {
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();

    let registry = Registry::new();
    let client = McpClient::http(url)
        // The suite starts all scenarios at once, so a small machine is slow.
        .connect_timeout(Duration::from_secs(20))
        .call_timeout(Duration::from_secs(10))
        .elicitation(FormFiller)
        .oauth(oauth(url, &scenario, &context).await?);
    let connection = client.connect("suite", &registry).await?;

    let mut calls = Vec::new();
    if let Some(named) = context["toolCalls"].as_array() {
        for call in named {
            let name = call["name"].as_str().unwrap_or_default();
            calls.push((format!("suite__{name}"), call["arguments"].clone()));
        }
    } else if !WITHOUT_CALLS.contains(&scenario.as_str()) {
        for entry in registry.snapshot().entries() {
            let schema = entry.definition().parameters.as_value();
            calls.push((entry.name().to_owned(), sample(schema)));
        }
        echo_schema(&registry, &mut calls);
    }
    let dispatcher = Dispatcher::new(registry);
    for (number, (name, arguments)) in calls.into_iter().enumerate() {
        let arguments = if arguments.is_null() { json!({}) } else { arguments };
        let call = ToolCall::new(number.to_string(), name, arguments.to_string());
        for execution in dispatcher.dispatch(vec![call]).await {
            eprintln!("{}: {}", execution.call.name, execution.result.text);
        }
    }
    connection.disconnect().await;
    Ok(())
}

/// Returns the schema of a tool to the server, which compares it with the one that it sent.
fn echo_schema(registry: &Registry, calls: &mut [(String, Value)]) {
    let tools = registry.snapshot();
    let Some(definition) = tools.definition("suite__json_schema_2020_12_tool") else { return };
    for (_, arguments) in calls.iter_mut().filter(|(name, _)| name == "suite__json_schema_echo") {
        arguments["schema"] = definition.parameters.as_value().clone();
    }
}

/// Returns the settings of OAuth with the credentials that the suite passes.
async fn oauth(url: &str, scenario: &str, context: &Value) -> Result<OAuth, Box<dyn Error>> {
    let text = |name: &str| context[name].as_str().unwrap_or_default();
    let (id, secret) = (text("client_id"), text("client_secret"));
    if scenario.contains("client-credentials-jwt") {
        let algorithm = algorithm(text("signing_algorithm"));
        let key = SigningKey::from_pem(text("private_key_pem"), algorithm);
        return Ok(OAuth::client_credentials_jwt(id, key).issuer(issuer(url).await?));
    }
    if scenario.contains("client-credentials") {
        return Ok(OAuth::client_credentials(id, secret).issuer(issuer(url).await?));
    }
    let mut oauth = OAuth::authorization_code(Headless)
        .client_metadata_url("https://conformance-test.local/client-metadata.json");
    if scenario == "auth/metadata-var2" {
        // The metadata of this server are those of its host.
        oauth = oauth.resource(reqwest::Url::parse(url)?.join("/")?);
    }
    match id {
        "" => Ok(oauth),
        id => Ok(oauth.client(id).client_secret(secret).issuer(issuer(url).await?)),
    }
}

/// Returns the authorization server with which the suite registered the client. A program knows it
/// from the registration; the suite names it in the metadata of its server only.
async fn issuer(url: &str) -> Result<String, Box<dyn Error>> {
    let metadata = reqwest::Url::parse(url)?.join("/.well-known/oauth-protected-resource/mcp")?;
    let metadata: Value = serde_json::from_slice(&reqwest::get(metadata).await?.bytes().await?)?;
    let issuer = metadata["authorization_servers"][0].as_str();
    Ok(issuer.ok_or("the metadata of the server name no authorization server")?.to_owned())
}

fn algorithm(name: &str) -> SigningAlgorithm {
    match name {
        "RS256" => SigningAlgorithm::Rs256,
        "RS384" => SigningAlgorithm::Rs384,
        "RS512" => SigningAlgorithm::Rs512,
        "ES384" => SigningAlgorithm::Es384,
        _ => SigningAlgorithm::Es256,
    }
}

/// Follows the redirect of the authorization server without a browser.
struct Headless;

#[async_trait]
impl AuthorizationHandler for Headless {
    fn redirect_uri(&self) -> String {
        "http://localhost:3000/callback".to_owned()
    }

    async fn authorize(&self, url: &str) -> std::io::Result<String> {
        let stop = reqwest::redirect::Policy::none();
        let client = reqwest::Client::builder().redirect(stop).build();
        let client = client.map_err(std::io::Error::other)?;
        let response = client.get(url).send().await.map_err(std::io::Error::other)?;
        let location = response.headers().get("location").and_then(|value| value.to_str().ok());
        location.map(str::to_owned).ok_or_else(|| std::io::Error::other("no redirect"))
    }
}

/// Fills in forms with their defaults, and with samples where those are missing.
struct FormFiller;

#[async_trait]
impl ElicitationHandler for FormFiller {
    async fn elicit(&self, request: Elicitation) -> ElicitationAction {
        match &request.kind {
            ElicitationKind::Form { schema } => {
                let mut content = sample(schema.as_value());
                let defaults = request.defaults().unwrap_or_default();
                for (name, value) in defaults.as_object().into_iter().flatten() {
                    content[name] = value.clone();
                }
                ElicitationAction::Accept(content)
            }
            _ => ElicitationAction::Accept(json!({})),
        }
    }
}

/// Returns an object with a value for each required member.
fn sample(schema: &Value) -> Value {
    let mut object = Map::new();
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in required {
        let member = &schema["properties"][name];
        let value = match member["type"].as_str() {
            _ if member["enum"].is_array() => member["enum"][0].clone(),
            Some("number") => json!(1.5),
            Some("integer") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => sample(member),
            _ => json!("test"),
        };
        object.insert(name.to_owned(), value);
    }
    Value::Object(object)
}
