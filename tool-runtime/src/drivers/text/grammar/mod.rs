//! Grammars that several formats share: how a call is written once its start marker is known.

mod argument_builder;
mod call_object;
mod cursor;
mod json;
mod members;
mod named;
mod python;
mod raw_value;
#[cfg(test)]
mod scan_counter;
mod search;
mod stray_tag;
mod tagged;
mod tags;
mod value_end;

pub use self::argument_builder::ArgumentBuilder;
pub(in crate::drivers) use self::{call_object::is_call_key, members::Members};
pub(super) use self::{
    call_object::{Strictness, begins_ambiguous_call, may_be_call, parse_calls},
    cursor::Cursor,
    json::{JsonFormat, parse_json_calls},
    named::NamedFormat,
    python::{PythonFormat, parse_python_arguments, parse_python_call, parse_python_calls},
    search::{
        beginning, find_first, first_line, text_before, text_before_any, without_partial_marker,
    },
    stray_tag::{ends_with_stray_tag, is_markup_word, is_of_markup, markup_words, may_hold_tag},
    tagged::{Style, TaggedFormat},
    tags::{
        ArgumentStart, TagSet, TagState, TaggedCall, without_last_line_break, without_other_end_tag,
    },
    value_end::value_end,
};

/// Tags that models write around the calls of any format, and their end tags.
pub(super) const WRAPPERS: [(&str, &str); 9] = [
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
pub(super) const END_TOKENS: [&str; 17] = [
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
pub(super) const MESSAGE_ENDS: &[&str] = END_TOKENS.split_at(13).0;
