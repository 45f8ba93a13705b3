//! How formats with tags write names in them, and which whitespace beside a tag is markup.

use std::borrow::Cow;

use super::super::NoMatch;
use super::super::leftover::other_attributes;
use super::super::markup::text_before;
use super::Cursor;
use crate::tool::ToolDefinition;

/// Attributes that models write beside the name of a tool, and beside that of an argument.
const CALL_ATTRIBUTES: &[&str] = &["id", "index", "type"];
const ARGUMENT_ATTRIBUTES: &[&str] = &["string", "type"];

/// The longest name of an argument in tags, in bytes.
const MAX_NAME_LEN: usize = 512;

/// How a tag contains a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `<function=NAME>` and `<parameter=KEY>`; a line break next to a tag is markup.
    Equals,
    /// `<invoke name="NAME">` and `<parameter name="KEY">`.
    Attribute,
    /// `<|open|>call tool="NAME"<|sep|>` and `<|open|>argument key="KEY"<|sep|>`.
    Tokens,
    /// `<tool_call>NAME` and `<arg_key>KEY</arg_key><arg_value>`.
    Elements,
}

/// The head of a tag.
#[derive(Debug)]
pub(crate) struct Head<'t> {
    /// The name of the tool or of the argument.
    pub(crate) name: Cow<'t, str>,
    /// All text of the head.
    text: &'t str,
    /// The text after the name.
    more: &'t str,
}

impl Style {
    /// Returns the markup that may stand between tags: some models write a line break as two
    /// characters.
    pub(crate) fn fillers(self) -> &'static [&'static str] {
        if self == Self::Elements { &["\\n"] } else { &[] }
    }

    /// Parses the head of the tag of a call.
    pub(crate) fn call_head<'t>(self, cursor: &mut Cursor<'t>) -> Result<Head<'t>, NoMatch> {
        match self {
            Self::Elements => {
                cursor.skip_blanks();
                let name = cursor.name()?;
                Ok(Head { name: name.into(), text: "", more: "" })
            }
            Self::Tokens => self.tag(cursor, "tool")?.ok_or(NoMatch::Text),
            Self::Equals | Self::Attribute => self.tag(cursor, "name")?.ok_or(NoMatch::Text),
        }
    }

    /// Parses the head of the tag of an argument. Returns `None` if it has no name.
    pub(crate) fn argument_head<'t>(
        self,
        cursor: &mut Cursor<'t>,
    ) -> Result<Option<Head<'t>>, NoMatch> {
        match self {
            Self::Elements => {
                let Some(name) = text_before(cursor.rest(), "<", MAX_NAME_LEN) else {
                    let may_come = cursor.rest().len() <= MAX_NAME_LEN;
                    return Err(if may_come { NoMatch::Incomplete } else { NoMatch::Text });
                };
                cursor.skip(name.len());
                let ends = ["</arg_key>", "<arg_value>"];
                if cursor.is_truncated_token(&ends) {
                    return Err(NoMatch::Incomplete);
                }
                let has_end = Cursor { ..*cursor }.take(&ends)?;
                cursor.take(&ends[..1])?;
                Ok(has_end.then(|| Head { name: name.trim().into(), text: "", more: "" }))
            }
            Self::Tokens => self.tag(cursor, "key"),
            Self::Equals | Self::Attribute => self.tag(cursor, "name"),
        }
    }

    /// Parses the rest of a tag whose name is in this attribute, if the style has attributes.
    fn tag<'t>(self, cursor: &mut Cursor<'t>, key: &str) -> Result<Option<Head<'t>>, NoMatch> {
        let text = cursor.head(if self == Self::Tokens { "<|sep|>" } else { ">" })?;
        let (name, more) = match self {
            Self::Equals => (text, ""),
            _ => match attribute(text, key) {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        let name = name.trim().trim_matches(['"', '\'']);
        let name = match self {
            Self::Tokens => name.replace("&quot;", "\"").replace("&amp;", "&").into(),
            _ => name.into(),
        };
        Ok(Some(Head { name, text, more }))
    }

    /// Returns the attributes in the head of a call that are no part of the format.
    pub(crate) fn call_leftover(self, head: &Head<'_>, tool: &ToolDefinition) -> String {
        self.leftover(head, &["name", "tool"], CALL_ATTRIBUTES, tool)
    }

    /// Returns the attributes in the head of an argument that are no part of the format.
    pub(crate) fn argument_leftover(self, head: &Head<'_>, tool: &ToolDefinition) -> String {
        self.leftover(head, &["name", "key"], ARGUMENT_ATTRIBUTES, tool)
    }

    /// Returns the attributes of other names. Those of `known` belong to the format, unless the
    /// tool has a parameter of this name.
    fn leftover(
        self,
        head: &Head<'_>,
        [name, token_name]: &[&str; 2],
        known: &[&str],
        tool: &ToolDefinition,
    ) -> String {
        let name = if self == Self::Tokens { token_name } else { name };
        let is_known = |key: &str| key == *name || known.contains(&key) && !tool.has_parameter(key);
        if self == Self::Equals { String::new() } else { other_attributes(head.text, is_known) }
    }

    /// Returns a value whose end tag is missing without the line break and the blanks before the
    /// next tag.
    pub(crate) fn before_tag(self, value: &str) -> &str {
        let is_block =
            self == Self::Equals || self == Self::Attribute && value.starts_with(['\r', '\n']);
        let lines = value.trim_end_matches([' ', '\t']);
        match is_block {
            // The line break is markup of every value.
            true if lines.ends_with('\n') => lines,
            true => value,
            false => without_last_line_break(value),
        }
    }

    /// Returns a value without the line breaks that are markup.
    pub(crate) fn without_line_breaks(self, value: &str) -> &str {
        let begins = value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n'));
        let inner = begins.unwrap_or(value);
        let ends = inner.strip_suffix('\n').map(|inner| inner.strip_suffix('\r').unwrap_or(inner));
        match self {
            Self::Equals => ends.unwrap_or(inner),
            Self::Attribute if begins.is_some() => ends.unwrap_or(value),
            _ => value,
        }
    }
}

impl Head<'_> {
    /// Returns true if another tag begins in the head, or text follows its attributes: a damaged
    /// tag ends at the bracket of another one.
    pub(crate) fn is_damaged(&self) -> bool {
        let ends_in_text =
            !self.more.trim().is_empty() && !self.more.trim_end().ends_with(['"', '\'']);
        self.holds_tag() || ends_in_text || self.more.contains('｜')
    }

    /// Returns true if another tag begins in the head.
    pub(crate) fn holds_tag(&self) -> bool {
        self.text.contains('<')
    }

    /// Returns true if the value is marked as text, false if it is marked as JSON, and `None` if
    /// the schema decides.
    pub(crate) fn is_text(&self) -> Option<bool> {
        let is_text =
            ["string=\"true\"", "type=\"string\""].iter().any(|it| self.text.contains(it));
        let is_json = self.text.contains("string=\"false\"");
        (is_text || is_json).then_some(is_text)
    }
}

/// Returns the value of an attribute, and the text after it.
fn attribute<'t>(head: &'t str, key: &str) -> Option<(&'t str, &'t str)> {
    let (_, value) = head.split_once(&format!("{key}="))?;
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value.strip_prefix(quote)?.split_once(quote)
}

/// Returns a value whose end tag is missing without the line break before the next tag, which is
/// markup, and the indentation of that tag.
pub(crate) fn without_last_line_break(value: &str) -> &str {
    let lines = value.trim_end_matches([' ', '\t']);
    let inner = lines.strip_suffix('\n').map(|inner| inner.strip_suffix('\r').unwrap_or(inner));
    inner.unwrap_or(value)
}
