//! Tool calls that a model writes into the text of its reply.
//!
//! Models write calls in the format that they were trained on. If no server converts that format
//! into native calls, the calls arrive as text. The [`Text`](super::Text) driver parses them in all
//! known formats, also while a reply is streamed. [`extract`] does so without an agent.
//!
//! # The flow
//!
//! 1. `scanner.rs` passes over the text once. It finds start markers (`search/marker_index.rs`) and
//!    skips quoted text and code (`quotation/quote_tracker.rs`, `quotation/fence.rs`).
//! 2. At each marker the formats (`formats/`) parse the call, also inside tags of another format
//!    (`wrapper.rs`). What they have in common is in `grammar/`.
//! 3. The sentence before a call is examined (`quotation/lead_in.rs`), the text after it in its
//!    line (`quotation/call_line.rs`), and the text after the last of several calls
//!    (`quotation/remark.rs`).
//! 4. Formats that ordinary text may look like count only at the end of the text
//!    (`quotation/trailing.rs`).
//! 5. `visible_text.rs` collects the text without markup. If it ends with markup that no format
//!    could parse (`quotation/unreadable.rs`), the driver asks the model again.
//!
//! # What counts as a call
//!
//! - **A call names an offered tool.** If no tool has exactly this name, these are ignored, one
//!   after the other, until one tool matches: a namespace such as `functions.`; letter case, `-`,
//!   `_` and blanks, so that `getTime` is `get_time`; and the word `json` or an index at the end,
//!   as in `get_timejson` and `get_time_2`. If several match, none is called.
//! - **A marked call of an unknown tool is a call**: the model receives an error with the nearest
//!   names, as for a native call. A list of calls without markers needs at least one offered tool.
//!   Any other call without markers stays in the text, and so does every call if no tool is
//!   offered.
//! - **Reasoning holds no calls**: `<think>`, `<thinking>` (also capitalized), `<thought>`,
//!   `<seed:think>`, `[THINK]`, `<|START_THINKING|>`, and the markers of single formats. At the
//!   start of a line the end tag may be missing. Inside a line it has to be there, and a line that
//!   only mentions both tags is text. A closing tag without an opening tag ends reasoning that the
//!   prompt began: all text before it is reasoning.
//! - **Quotations hold no calls**, and stay in the text with all tags inside them: text in
//!   quotation marks, inline code, Markdown quotations, list items with all lines that are indented
//!   below them, rows of tables, blocks that are indented by four columns after an empty line,
//!   comments and strings of programming languages (`#`, `//`, `--`, `/*`, `"""`), HTML elements
//!   such as `<blockquote>` or `<td>`, and `<code>`, `<pre>` and `<example>`. So does a backslash
//!   directly before the call.
//! - **A call that may be quoted is [doubtful](crate::ToolCall::is_doubtful)**: after a comment or
//!   a string that has no end, after a quotation mark that was opened on a line before, and in an
//!   element that is not known to hold calls. A doubtful call runs only if its tool [accepts every
//!   repair](crate::Repair::Lossy), as tools with the effect `none` or `read` do by default.
//! - **Quoted thoughts and tool output hold no calls**, and stay in the text: `<reasoning>`,
//!   `<scratchpad>`, `<analysis>`, `<reflection>`; `<tool_response>`, `<tool_result>`,
//!   `<tool_output>`, `<function_response>`, `<function_result>`, or any of them with a trailing
//!   `s`. The rule for missing end tags is the same. Messages of other roles that begin with a
//!   token of a chat template hold no calls either, such as `<|im_start|>user` and
//!   `<|observation|>`. After a call they are removed from the text.
//! - **Fences are examples.** The exception is a fence, or inline code that is alone on its line,
//!   if it is the whole message or ends it, perhaps after a lead-in, and holds nothing but calls.
//! - **The line of a call has to end with it.** If the call begins within a sentence that has not
//!   ended, or if a note or the rest of a sentence follows it on its line, its arguments count as
//!   truncated: `**<call>**`, `x = <call>`, `Should I run <call>?`, `<call> (an example)`. The same
//!   holds behind a label such as `Before:` on the line of the call, below a line that begins a
//!   block of code or quoted text, such as `[code]` or `\begin{verbatim}`, and between two equal
//!   rules.
//! - **The sentence before a call may announce an example, quote or forbid the call**: "You could
//!   call it like this:", "The user wrote:", "Never write". Then a call that no marker announces is
//!   text, and any other call is doubtful. A call that no marker announces is doubtful, too, after
//!   any other sentence that ends with a colon, unless the model announces the call in it: "I'll
//!   write it:".
//! - **The text after calls may take them back**: behind "This is only an example." or "Shall I run
//!   it?" the calls before it are doubtful, up to the text before them.
//! - **Formats that look like ordinary text count only at the end**: bare JSON, a list of Python
//!   calls and `Action:` lines count if they begin a line and only more of their kind follows.
//! - **Bare JSON has to be recognizable as a call**, by the name of a tool and its arguments, and
//!   may have no members that calls don't have. Arguments alone are an answer in JSON.
//! - **A missing end tag is tolerated**, and so are missing closing brackets, if the object is
//!   complete.
//! - **A truncated call is returned unchanged**: its arguments have no closing bracket, and
//!   [the repair settings of the tool](crate::Repair) decide. By default, a tool with the effect
//!   `write` or `external` does not run on truncated arguments. If a format writes arguments one by
//!   one, only the end tag of the call proves that they are complete. Calls before a truncated one
//!   are kept.
//! - **An argument ends at the start tag of the next argument** if its own end tag is missing or
//!   has another name, which is removed, as is the line break before the start tag. If the tool has
//!   no such argument, and too few end tags follow, the arguments count as truncated. So they do if
//!   an end tag that was not opened in the argument precedes the right one, and has the name of an
//!   argument, of the tool or of a tag of calls, as in `All well.</body>`.
//! - **An argument may contain markup**: if arguments are plain text between tags, a call that
//!   begins and ends inside an argument is part of it. If end tags are left over after a call, and
//!   no call begins before them, the end of its arguments is ambiguous: the call counts as
//!   truncated, and the leftover tags are removed from the text.
//! - **A call has one name and one set of arguments**: an object that names two tools, such as
//!   `{"tool": "f", "Tool": "g"}`, or has two members with arguments, is a call that can't be
//!   parsed. None of them is chosen.
//! - **A leftover is never dropped silently**: an argument that stands beside the arguments, behind
//!   a bracket that closed too early, in the head of a tag, or directly before or after the call,
//!   and other text between the markers, is the [leftover](crate::ToolCall::leftover) of the call.
//!   The arguments count as truncated. If the leftover names a parameter of the tool, the call is
//!   refused with a text that quotes it. Keys of calls, such as `id`, and closing brackets are no
//!   leftovers.
//! - **Text behind the end tag of an argument is a leftover**, as in `<parameter=KEY>a</parameter>
//!   so </function>`, unless the argument ends with another end tag: then the first tag is a part
//!   of it. If the text between both is short and names a parameter of the tool, or begins with an
//!   argument, the call is refused.
//! - **Definitions and placeholders are no calls**: `{"name": …, "arguments": {...}}`, or an
//!   argument without quotes that is `<query>` or `[your query here]`. In quotes, it is text.
//! - **Markup of a call that can't be parsed is no answer**: if no name or no arguments are found
//!   in it, or its format is not known and it names an offered tool, and the reply has no other
//!   call, the [`Text`](super::Text) driver asks the model again, and names the format and the
//!   error in the JSON if they are known. After the last attempt, the run ends with an error that
//!   quotes the markup.
//!   An expression such as `@search(query="x")` or `Calling search with {…}` is such markup, too,
//!   if it begins a line and its arguments have values. `<tool name="search"/>` alone is an entry
//!   of a list, unless the tool requires no arguments.
//! - **Arguments that can't be parsed are kept** if a marker announces the call: the error of the
//!   tool asks the model for a correction.
//!
//! Arguments are the text of the model, or as close to it as the format allows. Plain text between
//! tags is converted by the tool's schema. Decoding and repair are the same as for all other calls.
//! Calls have no ids yet.
//!
//! # What remains as text
//!
//! The visible text has no markup of calls and no end-of-turn tokens, nor tags of one format around
//! calls of another; text without calls is returned unchanged. Reasoning is returned separately.
//!
//! # Limits
//!
//! The words that announce an example are known in about twenty languages. After a sentence that
//! ends with a colon and has none of them, a call with a marker runs, even if its tool changes
//! something: models also write sentences such as "Now the configuration:" before calls that they
//! mean. If an example must never run, require approval for the tools that change something.
//!
//! The time is linear in the length of the text. A text without markers costs little more than a
//! copy. To keep this bound, the scanner counts failed attempts: after one megabyte that was read
//! to the end of the text without being consumed, or after 32 malformed calls, the rest is text. It
//! reads no more than 10,001 calls: the [`Text`](super::Text) driver rejects a reply with more than
//! 10,000.

mod arguments;
mod callee;
mod channel;
pub(crate) mod driver;
mod format;
pub(crate) mod format_set;
mod formats;
pub(crate) mod grammar;
mod leftover;
pub(crate) mod lookup;
mod markup;
mod quotation;
mod scanner;
mod search;
pub(crate) mod stream;
mod truncation;
mod visible_text;
mod wrapper;

use self::format::{Format, Input, Match, NoMatch, StartMarker};
pub(crate) use self::{
    arguments::is_schema,
    driver::reasoning_part,
    format_set::Formats,
    leftover::{CallMarkup, add_leftover, leftover_members, truncate_with_leftover},
    lookup::ToolLookup,
    quotation::unreadable::is_call_markup,
    quotation::unreadable::unreadable_call,
    stream::TextStream,
};
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

/// The calls, the reasoning and the remaining text of a reply.
///
/// # Examples
///
/// ```
/// let text = "<think>It is cold.</think>Take a coat.";
/// let parsed = tool_runtime::drivers::text::extract(text, &[]);
/// assert_eq!(parsed.reasoning, "It is cold.");
/// assert_eq!(parsed.text, "Take a coat.");
/// assert!(parsed.calls.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ParsedText {
    /// The visible text, without markup.
    pub text: String,
    /// The marked reasoning; empty if there is none.
    pub reasoning: String,
    /// The calls in the order of the text, without ids.
    pub calls: Vec<ToolCall>,
}

/// Extracts the calls of `tools` from `text`, in any of the formats that the module lists.
///
/// # Examples
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::drivers::text::extract;
///
/// let schema = serde_json::json!({ "type": "object", "properties": { "city": {} } });
/// let weather = ToolDefinition::new("weather", "Returns the weather.", schema);
///
/// let parsed = extract("[TOOL_CALLS]weather[ARGS]{\"city\": \"Oslo\"}", &[&weather]);
/// assert_eq!(parsed.calls[0].to_string(), r#"weather({"city": "Oslo"})"#);
///
/// // Markup in inline code is an example.
/// let text = "Write `<tool_call>{\"name\": \"weather\"}</tool_call>` to call it.";
/// assert!(extract(text, &[&weather]).calls.is_empty());
/// ```
pub fn extract(text: &str, tools: &[&ToolDefinition]) -> ParsedText {
    Formats::all().extract(text, &ToolLookup::new(tools))
}
