//! The words of the markup of calls: wrappers, end-of-turn tokens, and names in tags.

/// Tags that models write around the calls of any format, and their end tags.
pub(crate) const WRAPPERS: [(&str, &str); 9] = [
    ("<tool_call>", "</tool_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<function_call>", "</function_call>"),
    ("<function_calls>", "</function_calls>"),
    ("<tools>", "</tools>"),
    ("<minimax:tool_call>", "</minimax:tool_call>"),
    ("<seed:tool_call>", "</seed:tool_call>"),
    ("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"),
    ("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
];

/// End-of-turn tokens, which are no part of the text. The last four begin another message.
pub(crate) const END_TOKENS: [&str; 17] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eot|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|end|>",
    "<end_of_turn>",
    "<turn|>",
    "<｜end▁of▁sentence｜>",
    "<|return|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|content_model_end_sampling|>",
    "</s>",
    "<|tool_response>",
    "<start_function_response>",
    "<|observation|>",
    "<|user|>",
];
/// The end-of-turn tokens that begin no other message.
pub(crate) const MESSAGE_ENDS: &[&str] = END_TOKENS.split_at(13).0;

/// Names of tags of calls and arguments.
pub(crate) const TAG_NAMES: [&str; 20] = [
    "parameter",
    "parameters",
    "param",
    "params",
    "argument",
    "arguments",
    "arg",
    "args",
    "arg_key",
    "arg_value",
    "function",
    "function_call",
    "function_calls",
    "invoke",
    "invocation",
    "tool_call",
    "tool_calls",
    "toolcall",
    "tool_use",
    "tool",
];

/// Names in the heads of tags, beside those of tags.
const HEAD_WORDS: [&str; 19] = [
    "name", "key", "type", "string", "true", "false", "dsml", "gcml", "steptml", "antml", "open",
    "close", "sep", "minimax", "input", "tools", "call", "calls", "begin",
];

/// Returns true for the name of a tag of calls or of an attribute of one.
pub(crate) fn is_markup_word(word: &str) -> bool {
    markup_words().any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns the names of tags of calls, and of their attributes.
pub(crate) fn markup_words() -> impl Iterator<Item = &'static str> {
    TAG_NAMES.into_iter().chain(HEAD_WORDS)
}
