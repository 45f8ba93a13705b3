//! Calls that a model wrote into its text.
//!
//! Models write calls as they were trained to, and where no server turns that into calls, or a model is
//! unsure, it arrives as text. [`extract`] reads it, in all formats of [`Formats::all`] and in those
//! that users add; [`TextStream`] does while the text arrives. It is for replies that hold no call as
//! their provider spells one.
//!
//! # What is a call
//! - **Only an offered tool is called**, by its name; otherwise the text stays text.
//! - **What a model thinks is no call**: `<think>` and `<thinking>`, in capitals too, `<thought>`, `<seed:think>`,
//!   `[THINK]`, `<|START_THINKING|>`, and what formats have of their own. It may have no end where it begins a
//!   line; within a line its end has to be there, and a line that but tells of both tags is text. A closing
//!   tag without an opening one ends what the prompt began: all before it was thought.
//! - **What is told of thoughts and of tools is no call**, and stays text: `<reasoning>`, `<scratchpad>`, `<analysis>`,
//!   `<reflection>`; `<tool_response>`, `<tool_result>`, `<tool_output>`, `<function_response>`, `<function_result>`, or
//!   the same with an `s`. Of their ends the same holds.
//! - **An example is no call**: markup in a fence, in code within a line, in a quotation or right behind a
//!   quote. But a fence, or code that is alone on its line, that is the whole message or ends it, perhaps
//!   after a lead-in, holds calls where it holds nothing else.
//! - **What ordinary text could be is a call only at the end**: bare JSON, a list of Python's calls and
//!   `Action:` lines count where they begin a line, and nothing follows but more of the kind.
//! - **Bare JSON has to say that it is a call**, by the name of a tool and its arguments, and nothing that
//!   calls don't have. Arguments alone are an answer in JSON.
//! - **A missing end tag doesn't matter**, nor missing closers, where the object is complete.
//! - **A call that was cut off** is handed on as it is: its arguments have no end, and [what the tool
//!   allows](crate::Repair) decides. A tool of effect `write` or `external` never runs on them. Where
//!   arguments come one by one, the end tag of the call is what says that there were no more. What was
//!   called before it stands.
//! - **An argument may talk about calls**: where arguments are plain text between tags, what is begun in one and
//!   ended there is part of it. Where end tags are left over behind a call, and no call begins before
//!   them, nobody knows where its arguments end: it counts as cut off, and what is left over is no text.
//! - **A definition is no call**, nor is a blank to be filled in: `{"name": …, "arguments": {...}}`.
//! - Arguments that can't be read are handed on where a marker says that it is a call: the tool's refusal tells
//!   the model what to mend.
//!
//! Arguments are the model's own text, or as near to it as its format allows; what is plain text between
//! tags is typed by the tool's schema. Decoding and repair are the same as for all other calls. A call
//! has no id yet.
//!
//! # What remains
//! The text without the markup of its calls, and without tokens that say that it ends; other text without calls
//! is returned as it came. What a model says that it thinks is returned apart. A stream holds back what may still
//! become markup; behind a call with plain text between tags, that is all up to the next call or the end, for an end
//! tag may be left over there.
//!
//! # How
//! One pass finds openers, the format reads from there on, and says how far its markup goes. A text of any
//! kind takes time in proportion to its length; one without openers little more than copying it. To keep it so,
//! what is looked at in vain is counted: after a megabyte that was looked at to the end of the text for small
//! parts of it, or after 32 broken calls, the rest is text.
//!
//! A format of one's own is a [`Format`] handed to [`Formats::with`]; all rules above hold for it too.

mod channel;
mod driver;
mod fence;
mod format;
mod formats;
pub(super) mod grammar;
mod heads;
mod last;
mod offered;
mod openers;
mod places;
mod quotes;
mod scan;
mod shown;
mod stream;

use std::fmt;
use std::sync::{Arc, LazyLock};

pub use self::{
    driver::Text,
    format::{Format, Found, Miss, Opener, Rest},
    grammar::Typed,
    offered::Offered,
    stream::{Shown, TextStream},
};
pub(super) use self::{driver::thought, offered::is_schema};
use self::{openers::Openers, scan::Scan};
use crate::message::ToolCall;

/// What was read out of a text.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Reading {
    /// What remains without markup.
    pub text: String,
    /// What the model thought, as far as it was marked; empty if nothing was.
    pub reasoning: String,
    /// The calls, in their order; they have no ids.
    pub calls: Vec<ToolCall>,
}

/// The calls in `text`, in any of the formats known here.
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::drivers::text::{Offered, extract};
///
/// let schema = serde_json::json!({ "type": "object", "properties": { "city": {} } });
/// let weather = ToolDefinition::new("weather", "Tells the weather.", schema);
/// let offered = Offered::new(&[&weather]);
///
/// let read = extract("[TOOL_CALLS]weather[ARGS]{\"city\": \"Oslo\"}", &offered);
/// assert_eq!(read.calls[0].to_string(), r#"weather({"city": "Oslo"})"#);
///
/// let read = extract("Write `<tool_call>{\"name\": \"weather\"}</tool_call>` to call it.", &offered);
/// assert!(read.calls.is_empty());
/// ```
pub fn extract(text: &str, offered: &Offered<'_>) -> Reading {
    Formats::all().extract(text, offered)
}

/// The formats that are looked for.
#[derive(Clone)]
pub struct Formats {
    list: Vec<Arc<dyn Format>>,
    openers: Openers,
}

impl Formats {
    /// All formats known here.
    pub fn all() -> &'static Self {
        static ALL: LazyLock<Formats> = LazyLock::new(Formats::new);
        &ALL
    }

    /// Those alone that tell what a model thinks from what it says.
    pub(super) fn thinking() -> &'static Self {
        static THINKING: LazyLock<Formats> = LazyLock::new(|| Formats::of(formats::thinking()));
        &THINKING
    }

    /// All formats known here, to add others to.
    pub fn new() -> Self {
        Self::of(formats::all())
    }

    fn of(list: Vec<Arc<dyn Format>>) -> Self {
        let openers = Openers::new(list.iter().map(AsRef::as_ref));
        Self { list, openers }
    }

    /// Adds one, which is asked before those that are there.
    #[must_use]
    pub fn with(mut self, format: impl Format + 'static) -> Self {
        self.list.insert(0, Arc::new(format));
        Self::of(self.list)
    }

    /// The names of the formats, in the order in which they are asked.
    ///
    /// ```
    /// use tool_runtime::drivers::text::Formats;
    ///
    /// assert_eq!(Formats::all().names().next(), Some("hermes"));
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|format| format.name())
    }

    /// The calls in `text`.
    pub fn extract(&self, text: &str, offered: &Offered<'_>) -> Reading {
        let mut scan = Scan::new();
        scan.read(self, offered, text, true);
        scan.finish()
    }

    fn get(&self, place: usize) -> Option<&dyn Format> {
        self.list.get(place).map(AsRef::as_ref)
    }
}

impl Default for Formats {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Formats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
