//! The closed list of repairs: the level, the risk, the description and the advice of each.

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

use super::{
    level::{Level, Risk},
    position::describe_position,
};

/// The kinds of repairs, each with a fixed level and risk.
///
/// ```
/// use tool_json::{FixKind, Level, Risk};
///
/// assert_eq!(FixKind::Fence.level(), Level::Wrapping);
/// assert_eq!(FixKind::Prose.risk(), Risk::Inferred);
/// assert_eq!(FixKind::Fence.to_string(), "removed a code fence around the value");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FixKind {
    /// Removed a byte order mark (U+FEFF) at the start of the text.
    Bom,
    /// Removed non-JSON whitespace: no-break and zero-width spaces, form feeds and the like, and
    /// `\n`, `\r` and `\t` that are written as escapes between tokens.
    Whitespace,
    /// Removed backticks or tildes around the value, with or without a language word.
    Fence,
    /// Removed a tag such as `<tool_call>`, `</s>`, `<|im_end|>` or `[TOOL_CALLS]`.
    Tag,
    /// Removed a block of reasoning, `<think>…</think>`, with its content.
    Reasoning,
    /// Removed a function call, `name(` and `);`, around the value.
    Call,
    /// Removed words around the value.
    Prose,
    /// Removed a repetition of the same value.
    Repeat,
    /// Removed a level of escaping around the value's text: `{\"city\": \"Oslo\"}`, or the same
    /// with `&quot;`.
    Escaped,
    /// Decoded a string that holds the value's text, because the schema allows no string.
    ///
    /// A string is valid JSON, so this fix has [`Level::Schema`]: below that level, valid JSON is
    /// never changed.
    EncodedTwice,
    /// Read an empty text or `null` as an object without members, because the schema requires an
    /// object and no member.
    Empty,
    /// Read a quoted number, boolean or null as such, because the schema allows no string: `"17"`
    /// for 17.
    Unquoted,
    /// Read a number as the string that spells it, because the schema requires a string.
    Quoted,
    /// Read a boolean as the string `true` or `false`, because the schema requires a string.
    QuotedBoolean,
    /// Wrote an integral number with a fraction or exponent as an integer, because the schema
    /// requires one: 30.0 becomes 30.
    ///
    /// JSON Schema accepts such a number as an integer, so every tool accepts this fix, whatever it
    /// declares about repairs.
    IntegralNumber,
    /// Removed a null member that the schema knows, does not require, and allows no null for.
    ///
    /// Some providers make models send all members, so every tool accepts this fix, whatever it
    /// declares about repairs.
    NullMember,
    /// Wrapped one value in an array, because the schema requires an array.
    IntoArray,
    /// Replaced an array of one item by the item, because the schema allows no array.
    OutOfArray,
    /// Replaced a key by the schema's spelling, which differs in case or separators: `maxResults`
    /// for `max_results`.
    KeyCase,
    /// Replaced a string by the schema's enum value, which differs in case or surrounding
    /// whitespace.
    EnumCase,
    /// Removed an envelope such as `{"name": …, "arguments": …}` around the arguments.
    Envelope,
    /// Escaped raw line breaks, tabs or other control characters in a string.
    Control,
    /// Kept a backslash that is not a JSON escape.
    Escape,
    /// Kept a backslash that is not a JSON escape and may be unintended: `"it costs \$5"`.
    DoubtfulEscape,
    /// Removed a backslash before an apostrophe in a word, or before a curly quote: `"it\'s"`.
    EscapedQuote,
    /// Read a literal of another language, such as `True` or `None`.
    Literal,
    /// Read `undefined` as null.
    Undefined,
    /// Removed a comment: `// …`, `# …` or `/* … */`.
    Comment,
    /// Removed a comma after the last element or after the value.
    Comma,
    /// Removed a comma before the first element or after another comma: an element may be missing
    /// there.
    RepeatedComma,
    /// Removed a second colon between key and value.
    Colon,
    /// Read `;` between two members as a comma.
    Semicolon,
    /// Read a string in single, curly, full-width, backtick or triple quotes.
    Quotes,
    /// Removed the prefix of a Python string: `u'Oslo'`, `r'\d+'`.
    StringPrefix,
    /// Read a string in doubled quotes, which may be part of the content: `""exact words""`.
    DoubledQuotes,
    /// Read a key without quotes.
    UnquotedKey,
    /// Read a string without quotes.
    UnquotedText,
    /// Read a number in a spelling that JSON does not allow: `+1`, `.5`, `5.`, `1_000`.
    Number,
    /// Read a number with leading zeros; only a schema decides whether it is a number.
    LeadingZeros,
    /// Read full-width punctuation outside strings.
    Punctuation,
    /// Read `=` or `=>` as a colon.
    Equals,
    /// Read a tuple or set, `(1, 2)` or `{1, 2}`, as an array; `(1)` is 1.
    Tuple,
    /// Joined concatenated strings: `"a" + "b"`.
    Concatenation,
    /// Removed a repetition of the same member.
    RepeatedMember,
    /// Inserted a missing comma between two members or items.
    MissingComma,
    /// Inserted a missing colon between key and value.
    MissingColon,
    /// Read an object in doubled braces, which templates use as an escape: `{{"a": 1}}`.
    DoubledBraces,
    /// Inserted a missing brace before the first key.
    MissingOpener,
    /// Inserted the closing bracket of a bracket that is never closed.
    MissingCloser,
    /// Replaced a closing bracket of another kind.
    WrongCloser,
    /// Removed a closing bracket that closes nothing, or closes too early.
    ExtraCloser,
    /// Escaped quotes inside a string, including the apostrophe in `'it's'`.
    InnerQuotes,
    /// Inserted a missing quote at one end of a string, or replaced a different one.
    MissingQuote,
    /// Closed a string inside which the text ends.
    TruncatedText,
    /// Completed `true`, `false` or `null` at the end of the text, because the schema allows only
    /// one.
    TruncatedLiteral,
    /// Dropped a member because the text ends inside its key or before its value.
    TruncatedMember,
    /// Closed the containers after a comma at the end of the text.
    TruncatedList,
}

impl FixKind {
    /// The level, the risk and the description of this kind.
    const fn row(self) -> (Level, Risk, &'static str) {
        use {Level::*, Risk::*};
        match self {
            Self::Bom => (Wrapping, Lossless, "removed a byte order mark"),
            Self::Whitespace => (Wrapping, Lossless, "removed whitespace that JSON does not allow"),
            Self::Fence => (Wrapping, Lossless, "removed a code fence around the value"),
            Self::Tag => (Wrapping, Lossless, "removed a tag around the value"),
            Self::Reasoning => (Wrapping, Lossless, "removed a block of reasoning"),
            Self::Call => (Wrapping, Inferred, "removed a function call around the value"),
            Self::Prose => (Wrapping, Inferred, "removed prose around the value"),
            Self::Repeat => (Wrapping, Inferred, "removed a repetition of the value"),
            Self::Escaped => (Wrapping, Lossless, "removed a level of escaping"),
            Self::EncodedTwice => (Schema, Lossless, "decoded a string that holds the value"),
            Self::Empty => (Schema, Inferred, "read an empty text as an object without members"),
            Self::Unquoted => (Schema, Lossless, "removed the quotes around a value"),
            Self::Quoted => (Schema, Lossless, "put quotes around a value"),
            Self::QuotedBoolean => (Schema, Inferred, "put quotes around a boolean"),
            Self::IntegralNumber => (Schema, Lossless, "wrote an integral number as an integer"),
            Self::NullMember => (Schema, Lossless, "removed a member that was null"),
            Self::IntoArray => (Schema, Inferred, "put a value into an array of one"),
            Self::OutOfArray => (Schema, Inferred, "took a value out of an array of one"),
            Self::KeyCase => (Schema, Inferred, "corrected the spelling of a key to the schema's"),
            Self::EnumCase => {
                (Schema, Inferred, "corrected the spelling of a value to the schema's")
            }
            Self::Envelope => (Schema, Inferred, "removed the envelope around the arguments"),
            Self::Control => (Spelling, Lossless, "escaped control characters in a string"),
            Self::Escape => (Spelling, Inferred, "kept a backslash that is not an escape"),
            Self::DoubtfulEscape => {
                (Spelling, Lossy, "kept a backslash that may not be part of the text")
            }
            Self::EscapedQuote => (Spelling, Inferred, "removed the backslash before a quote"),
            Self::Literal => (Spelling, Lossless, "read a literal of another language"),
            Self::Undefined => (Spelling, Inferred, "read undefined as null"),
            Self::Comment => (Spelling, Lossless, "removed a comment"),
            Self::Comma => (Spelling, Lossless, "removed a stray comma"),
            Self::RepeatedComma => (Spelling, Inferred, "removed a repeated comma"),
            Self::Colon => (Spelling, Lossless, "removed a second colon"),
            Self::Semicolon => (Spelling, Inferred, "read a semicolon as a comma"),
            Self::DoubledQuotes => (Spelling, Inferred, "read a string in doubled quotes"),
            Self::StringPrefix => (Spelling, Inferred, "removed the prefix of a string"),
            Self::Quotes => (Spelling, Lossless, "read a string in quotes of another kind"),
            Self::UnquotedKey => (Spelling, Lossless, "put quotes around a key"),
            Self::UnquotedText => (Spelling, Inferred, "put quotes around a string"),
            Self::Number => (Spelling, Inferred, "read a number that JSON spells otherwise"),
            Self::LeadingZeros => (Spelling, Inferred, "read a number with leading zeros"),
            Self::Punctuation => (Spelling, Lossless, "read full-width punctuation"),
            Self::Equals => (Spelling, Lossless, "read an equals sign as a colon"),
            Self::Tuple => (Spelling, Inferred, "read a tuple"),
            Self::Concatenation => (Spelling, Lossless, "joined concatenated strings"),
            Self::RepeatedMember => (Spelling, Inferred, "removed a repetition of a member"),
            Self::MissingComma => (Structure, Inferred, "inserted a missing comma"),
            Self::MissingColon => (Structure, Inferred, "inserted a missing colon"),
            Self::DoubledBraces => (Structure, Inferred, "read an object in doubled braces"),
            Self::MissingOpener => (Structure, Inferred, "inserted a missing opening bracket"),
            Self::MissingCloser => (Structure, Inferred, "inserted a missing closing bracket"),
            Self::WrongCloser => (Structure, Inferred, "replaced a closing bracket"),
            Self::ExtraCloser => (Structure, Inferred, "removed a closing bracket"),
            Self::InnerQuotes => (Structure, Inferred, "escaped quotes inside a string"),
            Self::MissingQuote => (Structure, Inferred, "inserted a missing quote"),
            Self::TruncatedText => (Truncation, Lossy, "closed a string that was cut off"),
            Self::TruncatedLiteral => {
                (Truncation, Inferred, "completed a literal that was cut off")
            }
            Self::TruncatedMember => (Truncation, Lossy, "dropped a member that was cut off"),
            Self::TruncatedList => {
                (Truncation, Lossy, "closed the value that was cut off after a comma")
            }
        }
    }

    /// Returns the level of this kind of fix.
    ///
    /// ```
    /// use tool_json::{FixKind, Level};
    ///
    /// assert_eq!(FixKind::EncodedTwice.level(), Level::Schema);
    /// ```
    pub const fn level(self) -> Level {
        self.row().0
    }

    /// Returns the risk of this kind of fix.
    ///
    /// ```
    /// use tool_json::{FixKind, Risk};
    ///
    /// assert_eq!(FixKind::Repeat.risk(), Risk::Inferred);
    /// ```
    pub const fn risk(self) -> Risk {
        self.row().1
    }

    /// Returns an instruction for the model that avoids this repair.
    ///
    /// ```
    /// use tool_json::FixKind;
    ///
    /// assert_eq!(FixKind::Comma.advice(), "leave out the stray comma");
    /// ```
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Bom => "leave out the byte order mark",
            Self::Whitespace => "write plain spaces",
            Self::Fence => "leave out the code fence",
            Self::Tag => "leave out the tag",
            Self::Reasoning => "leave out the reasoning",
            Self::Call => "send the value without the call around it",
            Self::Prose => "leave out the prose",
            Self::Repeat => "send the value once",
            Self::Escaped => "escape nothing outside of strings",
            Self::EncodedTwice => "send the value itself, not a string that holds it",
            Self::Empty => "send `{}`",
            Self::Unquoted => "leave out the quotes around this value",
            Self::Quoted | Self::QuotedBoolean => "put quotes around this value",
            Self::IntegralNumber => "write this number as an integer",
            Self::NullMember => "leave out this member",
            Self::IntoArray => "put this value into an array",
            Self::OutOfArray => "send this value without an array around it",
            Self::KeyCase => "spell this key as the schema does",
            Self::EnumCase => "spell this value as the schema lists it",
            Self::Envelope => "send the arguments alone",
            Self::Control => "escape line breaks, tabs and the like in this string",
            Self::Escape => "write each backslash in this string twice",
            Self::DoubtfulEscape => {
                "write a backslash that is part of this string twice, and leave out any other"
            }
            Self::DoubledQuotes => {
                "put one quote around a string, and escape those that are part of it"
            }
            Self::EscapedQuote => "leave out the backslash before a single quote",
            Self::Literal => "write `true`, `false` or `null`",
            Self::Undefined => "write `null`, or leave this out",
            Self::Comment => "leave out the comment",
            Self::Comma | Self::RepeatedComma => "leave out the stray comma",
            Self::Colon => "write one colon",
            Self::Semicolon => "write a comma instead of the semicolon",
            Self::StringPrefix => "write this string without a prefix",
            Self::Quotes => "put this string into plain double quotes",
            Self::UnquotedKey => "put this key into quotes",
            Self::UnquotedText => "put this text into quotes",
            Self::Number => "write this number as JSON does",
            Self::LeadingZeros => "leave out the zeros before this number",
            Self::Punctuation => "write plain punctuation",
            Self::Equals => "write a colon instead of the equals sign",
            Self::Tuple => "write an array in square brackets",
            Self::Concatenation => "write one string",
            Self::RepeatedMember => "send this member once",
            Self::MissingComma => "put a comma here",
            Self::MissingColon => "put a colon here",
            Self::DoubledBraces => "write each brace once",
            Self::MissingOpener => "put the opening bracket before the first key",
            Self::MissingCloser => "put the closing bracket here",
            Self::WrongCloser => "put another closing bracket here",
            Self::ExtraCloser => "leave out this closing bracket",
            Self::InnerQuotes => "escape the quotes inside this string as `\\\"`",
            Self::MissingQuote => "put the missing quote here",
            Self::TruncatedText
            | Self::TruncatedLiteral
            | Self::TruncatedMember
            | Self::TruncatedList => "send all of the text, which breaks off here",
        }
    }
}

impl fmt::Display for FixKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().2)
    }
}

/// A recorded repair or coercion: its kind and the span that it changed.
///
/// [`Display`](fmt::Display) describes the fix for operators; [`Fix::advice`] describes it for
/// the model. The serialized form also contains the level and the risk, so that logs can be
/// filtered by them.
///
/// ```
/// use tool_json::parse;
///
/// let parsed = parse("{\"city\": \"Oslo\"}<|im_end|>").unwrap();
/// let fix = &parsed.fixes[0];
/// assert_eq!(fix.span, 16..26);
/// assert_eq!(fix.to_string(), "removed a tag around the value");
/// assert_eq!(
///     serde_json::to_string(fix).unwrap(),
///     r#"{"kind":"tag","span":{"start":16,"end":26},"level":"wrapping","risk":"lossless"}"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[non_exhaustive]
pub struct Fix {
    /// The kind of the repair.
    pub kind: FixKind,
    /// The changed bytes, as a range of the original text. If a string was decoded first, the fixes
    /// of its text have the span of that string.
    pub span: Range<usize>,
}

impl Fix {
    pub(super) const fn new(kind: FixKind, span: Range<usize>) -> Self {
        Self { kind, span }
    }

    /// Returns the level of this kind of fix.
    ///
    /// ```
    /// use tool_json::{Level, parse};
    ///
    /// assert_eq!(parse("\u{feff}[1]").unwrap().fixes[0].level(), Level::Wrapping);
    /// ```
    pub const fn level(&self) -> Level {
        self.kind.level()
    }

    /// Returns the risk of this kind of fix.
    ///
    /// ```
    /// use tool_json::{Risk, parse};
    ///
    /// assert_eq!(parse("\u{feff}[1]").unwrap().fixes[0].risk(), Risk::Lossless);
    /// ```
    pub const fn risk(&self) -> Risk {
        self.kind.risk()
    }

    /// Returns an instruction for the model that avoids this repair, with its position in `text`.
    ///
    /// `text` is the text that was parsed.
    ///
    /// ```
    /// use tool_json::parse;
    ///
    /// let text = "[1, 2,]";
    /// let advice = parse(text).unwrap().fixes[0].advice(text);
    /// assert_eq!(advice, "leave out the stray comma at line 1 column 6, near `[1, 2,]`");
    /// ```
    pub fn advice(&self, text: &str) -> String {
        format!("{} {}", self.kind.advice(), describe_position(text, self.span.start).1)
    }
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl Serialize for Fix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fix = serializer.serialize_struct("Fix", 4)?;
        fix.serialize_field("kind", &self.kind)?;
        fix.serialize_field("span", &self.span)?;
        fix.serialize_field("level", &self.level())?;
        fix.serialize_field("risk", &self.risk())?;
        fix.end()
    }
}

/// Sorts fixes by where they begin. Fixes that begin at the same byte keep their order.
pub(crate) fn sort_by_position(fixes: &mut [Fix]) {
    fixes.sort_by_key(|fix| fix.span.start);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fix_round_trips_through_json() {
        let fix = Fix::new(FixKind::EncodedTwice, 3..9);
        let text = serde_json::to_string(&fix).unwrap();
        assert!(text.contains(r#""level":"schema""#), "{text}");
        assert_eq!(serde_json::from_str::<Fix>(&text).unwrap(), fix);
    }
}
