//! Grammars that several formats share: how a call is written once its start marker is known.

mod argument_builder;
mod call_object;
mod cursor;
mod json;
mod named;
mod python;
mod raw_value;
mod stray_tag;
mod style;
mod tagged;
mod tags;

pub(crate) use self::argument_builder::ArgumentBuilder;
pub(crate) use self::call_object::is_call_key;
pub(crate) use self::{
    call_object::{Strictness, begins_ambiguous_call, may_be_call, parse_calls},
    cursor::Cursor,
    json::{JsonFormat, parse_json_calls},
    named::{NamedFormat, Section},
    python::{PythonFormat, parse_python_arguments, parse_python_call, parse_python_calls},
    stray_tag::{ends_with_stray_tag, may_hold_tag},
    style::{Style, without_last_line_break},
    tagged::TaggedFormat,
    tags::{ArgumentStart, TagSet, TagState},
};
pub(crate) use super::markup::Members;
pub(crate) use super::markup::{
    END_TOKENS, MESSAGE_ENDS, WRAPPERS, beginning, find_first, first_line, text_before,
    text_before_any, value_end, without_partial_marker,
};
