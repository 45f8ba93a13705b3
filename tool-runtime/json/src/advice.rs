//! Advice for the model: what to send so that a repair is not needed.

use super::{Fix, FixKind, error::describe_position};

impl FixKind {
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
            Self::Quoted => "put quotes around this value",
            Self::IntegralNumber => "write this number as an integer",
            Self::NullMember => "leave out this member",
            Self::IntoArray => "put this value into an array",
            Self::OutOfArray => "send this value without an array around it",
            Self::KeyCase => "spell this key as the schema does",
            Self::EnumCase => "spell this value as the schema lists it",
            Self::Envelope => "send the arguments alone",
            Self::Control => "escape line breaks, tabs and the like in this string",
            Self::Escape => "write each backslash in this string twice",
            Self::DoubledQuotes => {
                "put one quote around a string, and escape those that are part of it"
            }
            Self::EscapedQuote => "leave out the backslash before a single quote",
            Self::Literal => "write `true`, `false` or `null`",
            Self::Undefined => "write `null`, or leave this out",
            Self::Comment => "leave out the comment",
            Self::Comma => "leave out the stray comma",
            Self::Colon => "write one colon",
            Self::Semicolon => "write a comma for the semicolon",
            Self::Quotes => "put this string into plain double quotes",
            Self::UnquotedKey => "put this key into quotes",
            Self::UnquotedText => "put this text into quotes",
            Self::Number => "write this number as JSON does",
            Self::LeadingZeros => "leave out the zeros before this number",
            Self::Punctuation => "write plain punctuation",
            Self::Equals => "write a colon for the equals sign",
            Self::Tuple => "write an array in square brackets",
            Self::Concatenation => "write one string",
            Self::RepeatedMember => "send this member once",
            Self::MissingComma => "put a comma here",
            Self::MissingColon => "put a colon here",
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

impl Fix {
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

#[cfg(test)]
mod tests {
    use crate::{Level, Options, Risk, parse_as_with, parse_with};

    #[test]
    fn limit_error_contains_the_advice() {
        let options = Options::default();
        for (options, text, expected) in [
            (
                options.with_max_level(Level::Wrapping),
                "[1,]",
                "no repair of this level is allowed: leave out the stray comma at line 1 column 3, near `[1,]`",
            ),
            (
                options.with_max_risk(Risk::Lossless),
                "Here: [1]",
                "no repair of this risk is allowed: leave out the prose at line 1 column 1, near `Here: [1]`",
            ),
            (
                options.with_max_fixes(0),
                "[1,]",
                "no repair is allowed: leave out the stray comma at",
            ),
            (options.with_max_fixes(1), "[1,,]", "only one repair is allowed: leave out the stray"),
            (
                options.with_max_fixes(2),
                "[,1,,]",
                "only 2 repairs are allowed: leave out the stray",
            ),
            (
                options.with_max_len(3),
                "[12]",
                "the text is too long: it has 4 bytes, where 3 may be.",
            ),
            (
                options.with_max_depth(1),
                "[[1]]",
                "the JSON is nested deeper than 1 level at line 1",
            ),
            (
                options.with_max_depth(1),
                "[[1],]",
                "the JSON is nested deeper than 1 level at line 1",
            ),
            (
                options.with_max_risk(Risk::Inferred),
                "[1, [2]",
                "the text was cut off: it ends before the value does. Send one whole JSON value and",
            ),
        ] {
            let message = parse_with(text, &options).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{text}: {message}");
        }
        let options = options.with_max_level(Level::Truncation);
        let schema = serde_json::json!({"type": "array", "items": {"type": "integer"}});
        let message = parse_as_with("[\"1\"]", &schema, &options).unwrap_err().to_string();
        let expected =
            "no repair of this level is allowed: leave out the quotes around this value at";
        assert!(message.starts_with(expected), "{message}");
    }
}
