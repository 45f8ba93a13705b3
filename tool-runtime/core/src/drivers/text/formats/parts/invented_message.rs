//! Messages of other roles, and the output of tools, which a model invents after its own message:
//! `<|im_start|>user`, `<|observation|>`, `[TOOL_RESULTS]`.
//!
//! No call in them is meant. A message reaches to its end token, or else to the end of the text.
//!
//! Source: the chat templates of Qwen, Llama 3, Gemma, Mistral, DeepSeek V3, Command R, GLM 4 and
//! gpt-oss.

use std::sync::LazyLock;

use memchr::memmem;

use crate::drivers::text::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};

#[derive(Debug)]
pub(crate) struct InventedMessage;

pub(crate) const INVENTED_MESSAGE: InventedMessage = InventedMessage;

/// The name of the format.
pub(crate) const NAME: &str = "invented_message";

/// The tokens that begin messages, and those that end them.
const TOKENS: [(&str, &str); 22] = [
    ("[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
    ("<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"),
    ("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
    ("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
    ("<start_function_response>", "<end_function_response>"),
    ("<|tool_response>", "<tool_response|>"),
    ("<|observation|>", "<|assistant|>"),
    ("<|user|>", "<|assistant|>"),
    ("<|system|>", "<|assistant|>"),
    ("<|im_start|>user", "<|im_end|>"),
    ("<|im_start|>tool", "<|im_end|>"),
    ("<|im_start|>system", "<|im_end|>"),
    ("<|start_header_id|>user", "<|eot_id|>"),
    ("<|start_header_id|>ipython", "<|eot_id|>"),
    ("<|start_header_id|>tool", "<|eot_id|>"),
    ("<|start_header_id|>system", "<|eot_id|>"),
    ("<|start|>user", "<|end|>"),
    ("<|start|>system", "<|end|>"),
    ("<|start|>developer", "<|end|>"),
    ("<|start|>functions.", "<|end|>"),
    ("<start_of_turn>user", "<end_of_turn>"),
    ("<｜User｜>", "<｜Assistant｜>"),
];

static START_MARKERS: LazyLock<Vec<StartMarker>> =
    LazyLock::new(|| TOKENS.iter().map(|(start, _)| StartMarker::Anywhere(start)).collect());

impl Format for InventedMessage {
    fn name(&self) -> &str {
        NAME
    }

    fn start_markers(&self) -> &[StartMarker] {
        &START_MARKERS
    }

    fn parse(&self, input: Input<'_>, _: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let found = TOKENS.iter().find(|(start, _)| input.text.starts_with(start));
        let (start, end_token) = found.ok_or(NoMatch::Text)?;
        let body = input.text.get(start.len()..).unwrap_or_default();
        match memmem::find(body.as_bytes(), end_token.as_bytes()) {
            Some(at) => Ok(Match::Text { end: start.len() + at + end_token.len() }),
            None if !input.is_complete => Err(NoMatch::Incomplete),
            None => Ok(Match::Text { end: input.text.len() }),
        }
    }
}
