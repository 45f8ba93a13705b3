//! The table of built-in formats.
//!
//! Formats with a common start marker are tried in the order of this table; the text after the
//! marker tells them apart.

mod anthropic;
mod aside;
mod bare;
mod command;
mod deepseek;
mod dsml;
mod functools;
mod gemma;
mod gigachat;
mod glm;
mod harmony;
mod hermes;
mod inkling;
pub(crate) mod invented_message;
mod kimi_k2;
mod kimi_k3;
mod lfm2;
mod llama;
mod minimax_m1;
mod minimax_m2;
mod minimax_m3;
mod mistral;
mod nemotron;
mod olmo3;
mod pythonic;
mod qwen_xml;
pub(crate) mod react;
mod step3;
mod stop;
mod think;

use std::sync::Arc;

use super::Format;

/// Returns the formats of calls.
pub(crate) fn calls() -> Vec<Arc<dyn Format>> {
    vec![
        Arc::new(hermes::HERMES),
        Arc::new(qwen_xml::QWEN_XML),
        Arc::new(glm::GLM),
        Arc::new(mistral::ARRAY),
        Arc::new(mistral::NAMED),
        Arc::new(llama::TAGGED_JSON),
        Arc::new(llama::BUILT_IN),
        Arc::new(llama::FUNCTION_TAG),
        Arc::new(llama::START_JSON),
        Arc::new(llama::START_PYTHON),
        Arc::new(lfm2::PYTHON),
        Arc::new(lfm2::JSON),
        Arc::new(olmo3::OLMO3),
        Arc::new(functools::FUNCTOOLS),
        Arc::new(deepseek::DEEPSEEK),
        Arc::new(dsml::DSML),
        Arc::new(kimi_k2::KIMI_K2),
        Arc::new(kimi_k3::KIMI_K3),
        Arc::new(harmony::Harmony),
        Arc::new(minimax_m1::MINIMAX_M1),
        Arc::new(minimax_m2::MINIMAX_M2),
        Arc::new(minimax_m3::MinimaxM3),
        Arc::new(gemma::GEMMA4),
        Arc::new(gemma::GEMMA_BARE),
        Arc::new(gemma::FUNCTION_GEMMA),
        Arc::new(anthropic::ANTHROPIC),
        Arc::new(nemotron::NEMOTRON),
        Arc::new(command::COMMAND),
        Arc::new(step3::STEP3),
        Arc::new(gigachat::GIGACHAT),
        Arc::new(inkling::Inkling),
        Arc::new(bare::BareJson),
        Arc::new(pythonic::PYTHONIC),
        Arc::new(react::ReactLines),
    ]
}

/// Returns the formats of other parts of a reply, which hold no calls.
pub(crate) fn parts() -> Vec<Arc<dyn Format>> {
    vec![
        Arc::new(kimi_k3::THINK),
        Arc::new(kimi_k3::RESPONSE),
        Arc::new(command::RESPONSE),
        Arc::new(think::THINK),
        Arc::new(think::MISTRAL),
        Arc::new(think::GEMMA),
        Arc::new(think::END),
        Arc::new(aside::ASIDE),
        Arc::new(stop::EndTokens),
        Arc::new(invented_message::INVENTED_MESSAGE),
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
