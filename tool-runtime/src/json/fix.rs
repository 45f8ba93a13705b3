//! The closed list of repairs: what each is called, how deep it reaches and what it may cost.

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

/// How far a repair may go; each level may do what the levels before it may.
///
/// A result's level is its highest fix, so a caller can set a limit by comparing.
///
/// ```
/// use tool_runtime::json::{Level, parse};
///
/// let parsed = parse("```json\n{\"city\": \"Oslo\"}\n```").unwrap();
/// assert_eq!(parsed.level(), Level::Wrapping);
/// assert!(parsed.level() < Level::Spelling);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nothing: the value is exactly serde_json's.
    Strict,
    /// Take away what is around the value: byte order mark, odd blanks, fences, tags, prose, a
    /// level of escaping.
    Wrapping,
    /// Read another spelling of the same token: raw control characters, bad escapes, literals of
    /// Python and JavaScript, comments, stray commas, quotes of other kinds, bare keys.
    Spelling,
    /// Put in what holds the value together: missing commas, colons and closers, wrong closers,
    /// unescaped inner quotes.
    Structure,
    /// Read a text that was cut off inside a string, key or literal.
    Truncation,
    /// Change a value into the one that the schema allows, where that is the single reading.
    Schema,
}

/// What a repair may have cost, however deep it reached.
///
/// ```
/// use tool_runtime::json::{Risk, parse};
///
/// assert_eq!(parse("`{\"city\": \"Oslo\"}`").unwrap().risk(), Risk::Lossless);
/// assert_eq!(parse("I'd say {\"city\": \"Oslo\"}").unwrap().risk(), Risk::Inferred);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// The value is spelled in full and cannot mean anything else.
    Lossless,
    /// The value is complete, but which value was meant is a conclusion.
    Inferred,
    /// Part of what was meant is missing, or may be: the text was cut off.
    Lossy,
}

/// The repairs there are.
///
/// ```
/// use tool_runtime::json::{FixKind, Level, Risk};
///
/// assert_eq!(FixKind::Fence.level(), Level::Wrapping);
/// assert_eq!(FixKind::Prose.risk(), Risk::Inferred);
/// assert_eq!(FixKind::Fence.to_string(), "removed a code fence around the value");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FixKind {
    /// U+FEFF at the start of the text.
    Bom,
    /// Blanks that JSON does not know: no-break and zero-width spaces, form feeds and the like.
    Blank,
    /// Backticks or tildes around the value, with or without a language word.
    Fence,
    /// `<tool_call>`, `</s>`, `<|im_end|>`, `[TOOL_CALLS]` and their kind.
    Tag,
    /// A block of reasoning, `<think>…</think>`, with everything in it.
    Reasoning,
    /// `name(` and `);` around the value.
    Call,
    /// Words around the value.
    Prose,
    /// The same value once more.
    Repeat,
    /// The value's text was escaped one level too often: `{\"city\": \"Oslo\"}`.
    Escaped,
    /// A string that holds the value's text, where the schema allows no string.
    ///
    /// A string is valid JSON, so this is a fix of [`Level::Schema`]: below that level, valid JSON
    /// is never changed.
    EncodedTwice,
    /// No text at all, or `null`, where the schema wants an object and no member of it: one without
    /// members.
    Empty,
    /// A number, boolean or null in quotes, where the schema allows no string: `"17"` for 17.
    Unquoted,
    /// A number or boolean where the schema wants a string: the text of it as it was written.
    Quoted,
    /// A whole number with a fraction or exponent where the schema wants an integer: 30.0 for 30. To
    /// JSON Schema it is one, so a tool takes it whatever it says of repairs.
    Whole,
    /// Null for a member that the schema knows, wants not and takes no null for: one that isn't there.
    /// Some providers have models send all members, so a tool takes it whatever it says of repairs.
    Absent,
    /// One value where the schema wants a list: a list of it.
    Listed,
    /// A list of one where the schema wants no list: the one.
    Unlisted,
    /// A key in another case or with other separators than the one that the schema knows:
    /// `maxResults` for `max_results`.
    KeyCase,
    /// A value in another case, or with space around it, than the one that the schema lists.
    ChoiceCase,
    /// `{"name": …, "arguments": …}` and its kind around the arguments that the schema describes.
    Envelope,
    /// A raw line break, tab or other control character in a string.
    Control,
    /// A backslash that escapes nothing JSON knows, and is kept.
    Escape,
    /// A backslash before a quote of another kind than those around the string: `"it\'s"`.
    EscapedQuote,
    /// `True`, `None` and the like.
    Literal,
    /// `undefined`, read as null.
    Undefined,
    /// `// …`, `# …` or `/* … */`.
    Comment,
    /// A comma before the first, between two, or behind the last.
    Comma,
    /// A second colon between key and value.
    Colon,
    /// `;` for a comma between two members.
    Semicolon,
    /// Single, curly, full-width, backtick or triple quotes around a string.
    Quotes,
    /// Doubled quotes around a string, which may have been meant to be part of it: `""exact words""`.
    DoubledQuotes,
    /// A key without quotes.
    BareKey,
    /// A string without quotes.
    BareText,
    /// `+1`, `.5`, `5.`, `1_000`.
    Number,
    /// A number with zeros before it; only a schema can say whether it is one.
    LeadingZeros,
    /// Full-width signs outside strings.
    Punctuation,
    /// `=` or `=>` for a colon.
    Equals,
    /// `(1, 2)` or `{1, 2}` for a list; `(1)` for 1.
    Tuple,
    /// `"a" + "b"`.
    Concatenation,
    /// The same member twice.
    RepeatedMember,
    /// No comma between two members or items.
    MissingComma,
    /// No colon between key and value.
    MissingColon,
    /// A bracket that is never closed.
    MissingCloser,
    /// A bracket closed by one of another kind.
    WrongCloser,
    /// A bracket that closes nothing, or too early.
    ExtraCloser,
    /// Quotes in a string that are not escaped, the apostrophe in `'it's'` too.
    InnerQuotes,
    /// A string that lacks the quote at one end, or has another one there.
    MissingQuote,
    /// The text ends inside a string, which is closed there.
    CutText,
    /// The text ends inside `true`, `false` or `null`, and the schema leaves but one of them.
    CutLiteral,
    /// The text ends inside a key or before its value; the member is dropped.
    CutMember,
    /// The text ends where another member or item begins.
    CutList,
}

impl FixKind {
    /// The table: one row for each kind.
    const fn row(self) -> (Level, Risk, &'static str) {
        use {Level::*, Risk::*};
        match self {
            Self::Bom => (Wrapping, Lossless, "removed a byte order mark"),
            Self::Blank => (Wrapping, Lossless, "removed blanks that are not JSON's"),
            Self::Fence => (Wrapping, Lossless, "removed a code fence around the value"),
            Self::Tag => (Wrapping, Lossless, "removed a tag around the value"),
            Self::Reasoning => (Wrapping, Lossless, "removed a block of reasoning"),
            Self::Call => (Wrapping, Inferred, "removed a function call around the value"),
            Self::Prose => (Wrapping, Inferred, "removed prose around the value"),
            Self::Repeat => (Wrapping, Inferred, "removed a repetition of the value"),
            Self::Escaped => (Wrapping, Lossless, "removed a level of escaping"),
            Self::EncodedTwice => (Schema, Lossless, "decoded a string that holds the value"),
            Self::Empty => (Schema, Lossless, "took nothing for an object without members"),
            Self::Unquoted => (Schema, Lossless, "took a value out of its quotes"),
            Self::Quoted => (Schema, Lossless, "took a value for the text that spells it"),
            Self::Whole => (Schema, Lossless, "wrote a whole number as an integer"),
            Self::Absent => (Schema, Lossless, "left out a member that was null"),
            Self::Listed => (Schema, Inferred, "put a value into a list of one"),
            Self::Unlisted => (Schema, Inferred, "took a value out of a list of one"),
            Self::KeyCase => (Schema, Inferred, "spelled a key as the schema does"),
            Self::ChoiceCase => (Schema, Inferred, "spelled a value as the schema lists it"),
            Self::Envelope => (Schema, Inferred, "took the arguments out of what was around them"),
            Self::Control => (Spelling, Lossless, "escaped control characters in a string"),
            Self::Escape => (Spelling, Inferred, "kept the backslash of an escape that is none"),
            Self::EscapedQuote => (Spelling, Inferred, "removed the backslash before a quote"),
            Self::Literal => (Spelling, Lossless, "read a literal of another language"),
            Self::Undefined => (Spelling, Inferred, "read undefined as null"),
            Self::Comment => (Spelling, Lossless, "removed a comment"),
            Self::Comma => (Spelling, Lossless, "removed a stray comma"),
            Self::Colon => (Spelling, Lossless, "removed a second colon"),
            Self::Semicolon => (Spelling, Inferred, "read a semicolon as a comma"),
            Self::DoubledQuotes => (Spelling, Inferred, "read a string in doubled quotes"),
            Self::Quotes => (Spelling, Lossless, "read a string in quotes of another kind"),
            Self::BareKey => (Spelling, Lossless, "put quotes around a key"),
            Self::BareText => (Spelling, Inferred, "put quotes around a text"),
            Self::Number => (Spelling, Lossless, "read a number of another spelling"),
            Self::LeadingZeros => (Spelling, Inferred, "read a number with zeros before it"),
            Self::Punctuation => (Spelling, Lossless, "read full-width punctuation"),
            Self::Equals => (Spelling, Lossless, "read an equals sign as a colon"),
            Self::Tuple => (Spelling, Lossless, "read a tuple"),
            Self::Concatenation => (Spelling, Lossless, "joined strings"),
            Self::RepeatedMember => (Spelling, Inferred, "removed a repetition of a member"),
            Self::MissingComma => (Structure, Inferred, "put in a missing comma"),
            Self::MissingColon => (Structure, Inferred, "put in a missing colon"),
            Self::MissingCloser => (Structure, Inferred, "put in a missing closing bracket"),
            Self::WrongCloser => (Structure, Inferred, "replaced a closing bracket"),
            Self::ExtraCloser => (Structure, Inferred, "removed a closing bracket"),
            Self::InnerQuotes => (Structure, Inferred, "escaped quotes inside a string"),
            Self::MissingQuote => (Structure, Inferred, "put in a missing quote"),
            Self::CutText => (Truncation, Lossy, "closed a string that was cut off"),
            Self::CutLiteral => (Truncation, Inferred, "completed a literal that was cut off"),
            Self::CutMember => (Truncation, Lossy, "dropped a member that was cut off"),
            Self::CutList => (Truncation, Lossy, "closed what was cut off behind a comma"),
        }
    }

    /// How deep this repair reaches.
    ///
    /// ```
    /// use tool_runtime::json::{FixKind, Level};
    ///
    /// assert_eq!(FixKind::EncodedTwice.level(), Level::Schema);
    /// ```
    pub const fn level(self) -> Level {
        self.row().0
    }

    /// What this repair may have cost.
    ///
    /// ```
    /// use tool_runtime::json::{FixKind, Risk};
    ///
    /// assert_eq!(FixKind::Repeat.risk(), Risk::Inferred);
    /// ```
    pub const fn risk(self) -> Risk {
        self.row().1
    }
}

impl fmt::Display for FixKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().2)
    }
}

/// One repair: what was done, and to which bytes of the text.
///
/// Serialised, it also bears its level and risk, so that a log can be filtered by them.
///
/// ```
/// use tool_runtime::json::parse;
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
    /// What was done.
    pub kind: FixKind,
    /// The bytes it was done to, in the text as it came. Fixes within a string that had to be
    /// decoded first all bear the span of that string.
    pub span: Range<usize>,
}

impl Fix {
    pub(super) const fn new(kind: FixKind, span: Range<usize>) -> Self {
        Self { kind, span }
    }

    /// How deep this repair reaches.
    ///
    /// ```
    /// use tool_runtime::json::{Level, parse};
    ///
    /// assert_eq!(parse("\u{feff}[1]").unwrap().fixes[0].level(), Level::Wrapping);
    /// ```
    pub const fn level(&self) -> Level {
        self.kind.level()
    }

    /// What this repair may have cost.
    ///
    /// ```
    /// use tool_runtime::json::{Risk, parse};
    ///
    /// assert_eq!(parse("\u{feff}[1]").unwrap().fixes[0].risk(), Risk::Lossless);
    /// ```
    pub const fn risk(&self) -> Risk {
        self.kind.risk()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fix_survives_serialisation() {
        let fix = Fix::new(FixKind::EncodedTwice, 3..9);
        let text = serde_json::to_string(&fix).unwrap();
        assert!(text.contains(r#""level":"schema""#), "{text}");
        assert_eq!(serde_json::from_str::<Fix>(&text).unwrap(), fix);
    }

    #[test]
    fn levels_and_risks_are_ordered_as_listed() {
        assert!(Level::Strict < Level::Wrapping && Level::Truncation < Level::Schema);
        assert!(Risk::Lossless < Risk::Inferred && Risk::Inferred < Risk::Lossy);
    }
}
