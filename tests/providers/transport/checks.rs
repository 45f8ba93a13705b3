//! Problems that a client reports before its first request.

use std::sync::Arc;

use tool_runtime::http::ReqwestTransport;
use tool_runtime::models::Embedder;
use tool_runtime::providers::{
    Anthropic, Client, Gemini, Mistral, Ollama, OpenAi, OpenAiEmbedder, OpenAiResponses, codec,
};
use tool_runtime::{ChatModel, ChatRequest, Message, ModelError};

use crate::provider::{PROVIDERS, Setup, Shared};

async fn assert_missing<C: codec::Codec>(client: Client<C>, host: &str) {
    let with_key = client.clone().key("secret");
    assert!(with_key.check().is_ok(), "{host}");
    assert!(!format!("{with_key:?}").contains("secret"), "{host}");
    let (header, value) = C::key_header("secret");
    assert!(client.clone().header(header, value).check().is_ok(), "{host}");
    let with_transport = client.clone().transport(ReqwestTransport::new());
    assert!(with_transport.check().is_ok(), "a transport may add the key of {host}");
    let error = client.check().unwrap_err();
    assert!(matches!(error, ModelError::Setup(_)), "{error:?}");
    let expected = format!("missing API key for {host}: set it with `key`");
    assert_eq!(error.to_string(), expected);
    // A program that does not check sends nothing either.
    let messages = [Message::user("Hello")];
    for client in [client.clone(), client.key("")] {
        let request = ChatRequest::new(&messages);
        let error = client.reply(request).await.unwrap_err();
        assert_eq!((error.code(), error.to_string()), ("MODEL_SETUP", expected.clone()));
        let error = client.stream(request, &mut |_| {}).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn missing_key_is_reported_for_hosts_that_require_one() {
    let anthropic = Anthropic::new("https://api.anthropic.com/v1", "m");
    assert_missing(anthropic, "api.anthropic.com").await;
    let gemini = Gemini::new("https://generativelanguage.googleapis.com/v1beta", "m");
    assert_missing(gemini, "generativelanguage.googleapis.com").await;
    assert_missing(Mistral::new("https://api.mistral.ai/v1", "m"), "api.mistral.ai").await;
    assert_missing(Ollama::new("https://ollama.com", "m"), "ollama.com").await;
    assert_missing(OpenAi::new("https://api.openai.com/v1", "m"), "api.openai.com").await;
    assert_missing(OpenAiResponses::new("https://eu.api.openai.com/v1", "m"), "eu.api.openai.com")
        .await;
    // Credentials in the URL.
    let base = "https://generativelanguage.googleapis.com/v1beta?key=secret";
    assert!(Gemini::new(base, "m").check().is_ok());
}

#[test]
fn missing_key_is_accepted_for_other_hosts() {
    for base in ["http://127.0.0.1:8080/v1", "https://models.invalid/v1"] {
        assert!(OpenAi::new(base, "m").check().is_ok(), "{base}");
        assert!(Anthropic::new(base, "m").check().is_ok(), "{base}");
        assert!(Ollama::new(base, "m").check().is_ok(), "{base}");
    }
}

#[test]
fn malformed_url_is_reported() {
    for provider in &PROVIDERS {
        for base in ["", "localhost:8080/v1", "htp://models.invalid/v1"] {
            let custom = Some(Shared(Arc::new(ReqwestTransport::new())));
            for transport in [None, custom] {
                let model = (provider.model)(Setup { transport, ..Setup::new(base) });
                let error = model.check().unwrap_err();
                assert!(matches!(error, ModelError::Setup(_)), "{error:?}");
                let expected = format!("malformed base URL: `{base}`");
                assert!(error.to_string().starts_with(&expected), "{}: {error}", provider.name);
            }
        }
    }
}

#[test]
fn malformed_names_and_keys_are_reported() {
    const BASE: &str = "http://127.0.0.1:8080/v1";
    let assert_error = |checked: Result<(), ModelError>, part: &str| {
        let error = checked.unwrap_err();
        assert!(matches!(error, ModelError::Setup(_)), "{error:?}");
        let error = error.to_string();
        assert!(error.contains(part) && !error.contains("secret"), "{error}");
    };
    for (name, problem) in [
        ("", "malformed model name \"\": it is empty"),
        (" \n", "it is empty"),
        ("gpt-5\n", "it contains a line break"),
        ("gpt\r-5", "it contains a line break"),
        ("gpt\0-5", "it contains a control character"),
        (" gpt-5", "white space surrounds it"),
    ] {
        assert_error(OpenAi::new(BASE, name).check(), problem);
        assert_error(Anthropic::new(BASE, name).check(), problem);
        assert_error(Gemini::new(BASE, name).check(), problem);
        assert_error(Mistral::new(BASE, name).check(), problem);
        assert_error(Ollama::new(BASE, name).check(), problem);
        assert_error(OpenAiResponses::new(BASE, name).check(), problem);
        assert_error(OpenAiEmbedder::new(BASE, name).check(), problem);
    }
    for (key, problem) in [
        ("", "malformed API key: it is empty"),
        (" \n", "it is empty"),
        ("secret-1\nsecret-2", "it contains a line break"),
        ("secret-1\r\nx-admin: 1", "it contains a line break"),
        ("secret\t1", "it contains a control character"),
    ] {
        for provider in &PROVIDERS {
            let custom = Some(Shared(Arc::new(ReqwestTransport::new())));
            for transport in [None, custom] {
                let setup = Setup { key, transport, ..Setup::new(BASE) };
                assert_error((provider.model)(setup).check(), problem);
            }
        }
        assert_error(OpenAiEmbedder::new(BASE, "m").key(key).check(), problem);
    }
    let header = OpenAi::new(BASE, "m").header("x-team", "secret\nx-admin: 1");
    assert_error(header.check(), "malformed value of the header `x-team`");
    assert!(OpenAi::new(BASE, "m").key(" secret\n").check().is_ok(), "white space is removed");
}
