//! Names of providers in events and spans, by the host of their servers.

use crate::connection::endpoint::Endpoint;

/// Hosts, subdomains included, with the `gen_ai.provider.name` of
/// [OpenTelemetry](https://github.com/open-telemetry/semantic-conventions-genai). OpenRouter and
/// Ollama are not in its registry.
const NAMES: &[(&str, &str)] = &[
    ("openai.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("api.openai.com", "openai"),
    ("api.anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("amazonaws.com", "aws.bedrock"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.deepseek.com", "deepseek"),
    ("api.groq.com", "groq"),
    ("api.x.ai", "x_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("api.moonshot.ai", "moonshot_ai"),
    ("api.cohere.com", "cohere"),
    ("openrouter.ai", "openrouter"),
    ("ollama.com", "ollama"),
];

/// Returns the name of the provider whose server this is.
pub(super) fn provider_of(endpoint: &Endpoint) -> Option<&'static str> {
    NAMES.iter().find(|(host, _)| endpoint.host_among(&[host]).is_some()).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, provider_of};

    #[test]
    fn hosts_have_the_names_of_their_providers() {
        for (url, name) in [
            ("https://api.groq.com/openai/v1", Some("groq")),
            ("https://eu.api.openai.com/v1", Some("openai")),
            ("https://team.openai.azure.com/openai/v1", Some("azure.ai.openai")),
            ("https://europe-west4-aiplatform.googleapis.com/v1", None),
            ("http://127.0.0.1:8080/v1", None),
            ("no url", None),
        ] {
            assert_eq!(provider_of(&Endpoint::new(url)), name, "{url}");
        }
    }
}
