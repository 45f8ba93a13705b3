//! The format of Kimi K3: the channels `think`, `response` and `tools`, each from
//! `<|open|>NAME<|sep|>` to `<|close|>NAME<|sep|>`.
//!
//! A call is `<|open|>call tool="NAME" index="N"<|sep|>`, with `<|open|>argument key="KEY"
//! type="T"<|sep|>VALUE<|close|>argument<|sep|>` for each argument. Values of type `string` are raw
//! text; other types are JSON.
//!
//! Models: Kimi K3.
//!
//! Source: sglang `kimik3_format.py`, `kimik3_detector.py`.

use crate::drivers::text::StartMarker;
use crate::drivers::text::formats::parts::think::{ChannelFormat, InLine};
use crate::drivers::text::grammar::{Style, TagSet, TaggedFormat};

pub(crate) const KIMI_K3: TaggedFormat = TaggedFormat {
    name: "kimi_k3",
    start_markers: &[
        StartMarker::Anywhere("<|open|>tools<|sep|>"),
        StartMarker::Anywhere("<|open|>call "),
    ],
    style: Style::Tokens,
    tags: TagSet {
        wrappers: &["<|open|>tools<|sep|>"],
        wrapper_ends: &["<|close|>tools<|sep|>"],
        before_call: &[],
        call: &["<|open|>call "],
        call_ends: &["<|close|>call<|sep|>"],
        argument: &["<|open|>argument "],
        value: &[],
        argument_ends: &["<|close|>argument<|sep|>"],
    },
};

pub(crate) const THINK: ChannelFormat = ChannelFormat {
    name: "kimi_k3_think",
    start_markers: &[StartMarker::Anywhere("<|open|>think<|sep|>")],
    is_visible: false,
    in_line: InLine::Always,
    end_markers: &["<|close|>think<|sep|>"],
};

pub(crate) const RESPONSE: ChannelFormat = ChannelFormat {
    name: "kimi_k3_response",
    start_markers: &[StartMarker::Anywhere("<|open|>response<|sep|>")],
    is_visible: true,
    in_line: InLine::Always,
    end_markers: &["<|close|>response<|sep|>"],
};
