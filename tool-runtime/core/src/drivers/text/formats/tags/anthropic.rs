//! The XML format of Anthropic's models: `<function_calls>` with `<invoke name="NAME">` and
//! `<parameter name="KEY">VALUE</parameter>`.
//!
//! Each tag may carry the prefix `antml:`. Strings are raw text without escaping; other types are
//! JSON. An `invoke` without `function_calls` counts if it begins a line.
//!
//! Models: Claude behind proxies that turn calls into text, and models prompted to write this
//! format.
//!
//! Source: openclaw/openclaw#97750, Luce-Org/lucebox#627, cline/cline#3887.

use crate::drivers::text::StartMarker;
use crate::drivers::text::grammar::{Style, TagSet, TaggedFormat};

pub(crate) const ANTHROPIC: TaggedFormat = TaggedFormat {
    name: "anthropic",
    start_markers: &[
        StartMarker::Anywhere("<function_calls>"),
        StartMarker::Anywhere("<antml:function_calls>"),
        StartMarker::LineStart("<invoke "),
        StartMarker::LineStart("<antml:invoke "),
    ],
    style: Style::Attribute,
    tags: TagSet {
        wrappers: &["<function_calls>", "<antml:function_calls>"],
        wrapper_ends: &["</function_calls>", "</antml:function_calls>"],
        before_call: &[],
        call: &["<invoke ", "<antml:invoke "],
        call_ends: &["</invoke>", "</antml:invoke>"],
        argument: &["<parameter ", "<antml:parameter "],
        value: &[],
        argument_ends: &["</parameter>", "</antml:parameter>"],
    },
};
