//! The table of built-in formats.
//!
//! Formats with a common start marker are tried in the order of this table; the text after the
//! marker tells them apart.

mod gemma;
mod harmony;
mod inkling;
mod json;
mod olmo3;
pub(crate) mod parts;
mod pythonic;
pub(crate) mod react;
mod tags;

use std::sync::Arc;

use self::parts::think;
use super::Format;

/// Returns the formats of calls.
pub(crate) fn calls() -> Vec<Arc<dyn Format>> {
    vec![
        Arc::new(json::hermes::HERMES),
        Arc::new(tags::qwen_xml::QWEN_XML),
        Arc::new(tags::glm::GLM),
        Arc::new(json::mistral::ARRAY),
        Arc::new(json::mistral::NAMED),
        Arc::new(json::llama::TAGGED_JSON),
        Arc::new(json::llama::BUILT_IN),
        Arc::new(json::llama::FUNCTION_TAG),
        Arc::new(json::llama::START_JSON),
        Arc::new(json::llama::START_PYTHON),
        Arc::new(json::lfm2::PYTHON),
        Arc::new(json::lfm2::JSON),
        Arc::new(olmo3::OLMO3),
        Arc::new(json::functools::FUNCTOOLS),
        Arc::new(json::deepseek::DEEPSEEK),
        Arc::new(tags::dsml::DSML),
        Arc::new(json::kimi_k2::KIMI_K2),
        Arc::new(tags::kimi_k3::KIMI_K3),
        Arc::new(harmony::Harmony),
        Arc::new(json::minimax_m1::MINIMAX_M1),
        Arc::new(tags::minimax_m2::MINIMAX_M2),
        Arc::new(tags::minimax_m3::MinimaxM3),
        Arc::new(gemma::GEMMA4),
        Arc::new(gemma::GEMMA_BARE),
        Arc::new(gemma::FUNCTION_GEMMA),
        Arc::new(tags::anthropic::ANTHROPIC),
        Arc::new(json::nemotron::NEMOTRON),
        Arc::new(json::command::COMMAND),
        Arc::new(tags::step3::STEP3),
        Arc::new(json::gigachat::GIGACHAT),
        Arc::new(inkling::Inkling),
        Arc::new(json::bare::BareJson),
        Arc::new(pythonic::PYTHONIC),
        Arc::new(react::ReactLines),
    ]
}

/// Returns the formats of other parts of a reply, which hold no calls.
pub(crate) fn parts() -> Vec<Arc<dyn Format>> {
    vec![
        Arc::new(tags::kimi_k3::THINK),
        Arc::new(tags::kimi_k3::RESPONSE),
        Arc::new(json::command::RESPONSE),
        Arc::new(think::THINK),
        Arc::new(think::MISTRAL),
        Arc::new(think::GEMMA),
        Arc::new(think::END),
        Arc::new(parts::aside::ASIDE),
        Arc::new(parts::stop::EndTokens),
        Arc::new(parts::invented_message::INVENTED_MESSAGE),
    ]
}

/// Returns the formats of reasoning at the start of a line; decisions in JSON may mention their
/// markers.
pub(crate) fn reasoning_only() -> Vec<Arc<dyn Format>> {
    let all =
        [think::THINK, think::MISTRAL, think::GEMMA].map(think::ChannelFormat::at_line_start_only);
    let all = all.into_iter().map(|think| Arc::new(think) as Arc<dyn Format>);
    all.chain([Arc::new(think::END_AT_LINE_START) as Arc<dyn Format>]).collect()
}
