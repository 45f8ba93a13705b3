//! Problems that a client reports before its first request.

use std::sync::Arc;

use tool_runtime::http::ReqwestTransport;
use tool_runtime::providers::{
    Anthropic, Client, Gemini, Mistral, Ollama, OpenAi, OpenAiResponses, codec,
};
use tool_runtime::{ChatModel, ModelError};

use crate::provider::{PROVIDERS, Setup, Shared};

fn assert_missing<C: codec::Codec>(client: Client<C>, host: &str) {
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
}

#[test]
fn missing_key_is_reported_for_hosts_that_require_one() {
    let anthropic = Anthropic::new("https://api.anthropic.com/v1", "m");
    assert_missing(anthropic, "api.anthropic.com");
    let gemini = Gemini::new("https://generativelanguage.googleapis.com/v1beta", "m");
    assert_missing(gemini, "generativelanguage.googleapis.com");
    assert_missing(Mistral::new("https://api.mistral.ai/v1", "m"), "api.mistral.ai");
    assert_missing(Ollama::new("https://ollama.com", "m"), "ollama.com");
    assert_missing(OpenAi::new("https://api.openai.com/v1", "m"), "api.openai.com");
    assert_missing(OpenAiResponses::new("https://eu.api.openai.com/v1", "m"), "eu.api.openai.com");
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
