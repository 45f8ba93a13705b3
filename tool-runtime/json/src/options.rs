//! Limits on parsing and repair.

use super::{Level, Risk};

/// The maximum depth that serde_json parses, and so that of valid text.
const DEFAULT_MAX_DEPTH: usize = 127;
/// The maximum of `max_depth`: values are dropped and serialized by recursion.
const MAX_DEPTH_LIMIT: usize = 512;

/// The default of `max_bytes`.
const DEFAULT_MAX_BYTES: usize = 32 << 20;

/// The default of `max_repair_bytes`: a repair can take 128 times the memory of its text, and so at
/// most 8 times `max_bytes`.
const DEFAULT_MAX_REPAIR_BYTES: usize = 2 << 20;

/// Limits on the text and its repairs; a text that exceeds one is refused.
///
/// By default, all repairs are allowed. A text has at most 32 MiB, and at most 2 MiB if it needs
/// repairs. A limit never changes how a text is read.
///
/// ```
/// use tool_json::{Level, Options, parse_with};
///
/// let options = Options::default().max_level(Level::Wrapping);
/// assert!(parse_with("```[1, 2]```", &options).is_ok());
/// assert!(parse_with("[1, 2,]", &options).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Options {
    /// The highest level that a fix may have. Default: [`Level::Schema`], so all levels are
    /// allowed.
    pub max_level: Level,
    /// The highest risk that a fix may have. Default: [`Risk::Lossy`], so all risks are allowed.
    /// With a lower maximum, every text that was cut off is refused.
    pub max_risk: Risk,
    /// The maximum number of nested arrays and objects. Default: 127; maximum: 512.
    pub max_depth: usize,
    /// The maximum length of the text in bytes. Default: 32 MiB.
    pub max_bytes: usize,
    /// The maximum length in bytes of a text that is not valid JSON, or does not fit the schema.
    /// Default: 2 MiB, because a repair takes up to 128 times the memory of its text.
    pub max_repair_bytes: usize,
    /// The maximum number of fixes. Default: `None`, no limit.
    pub max_fixes: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_level: Level::Schema,
            max_risk: Risk::Lossy,
            max_depth: DEFAULT_MAX_DEPTH,
            max_bytes: DEFAULT_MAX_BYTES,
            max_repair_bytes: DEFAULT_MAX_REPAIR_BYTES,
            max_fixes: None,
        }
    }
}

impl Options {
    /// Sets the highest level that a fix may have.
    ///
    /// ```
    /// use tool_json::{Level, Options, parse_with};
    ///
    /// let strict = Options::default().max_level(Level::Strict);
    /// assert!(parse_with("`[1]`", &strict).is_err());
    /// ```
    pub const fn max_level(mut self, level: Level) -> Self {
        self.max_level = level;
        self
    }

    /// Sets the highest risk that a fix may have.
    ///
    /// ```
    /// use tool_json::{Options, Risk, parse_with};
    ///
    /// let careful = Options::default().max_risk(Risk::Inferred);
    /// assert!(parse_with(r#"{"city": "Os"#, &careful).is_err());
    /// ```
    pub const fn max_risk(mut self, risk: Risk) -> Self {
        self.max_risk = risk;
        self
    }

    /// Sets the maximum nesting depth; values above 512 are reduced to 512.
    ///
    /// ```
    /// use tool_json::{Options, parse_with};
    ///
    /// let flat = Options::default().max_depth(1);
    /// assert!(parse_with("[[1]]", &flat).is_err());
    /// ```
    pub const fn max_depth(mut self, depth: usize) -> Self {
        self.max_depth = if depth < MAX_DEPTH_LIMIT { depth } else { MAX_DEPTH_LIMIT };
        self
    }

    /// Sets the maximum length of the text in bytes.
    ///
    /// ```
    /// use tool_json::{Options, parse_with};
    ///
    /// assert!(parse_with("[1, 2]", &Options::default().max_bytes(5)).is_err());
    /// ```
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the maximum length in bytes of a text that needs repairs.
    ///
    /// ```
    /// use tool_json::{Options, parse_with};
    ///
    /// let options = Options::default().max_repair_bytes(5);
    /// assert!(parse_with("[1, 2]", &options).is_ok());
    /// assert!(parse_with("[1, 2,]", &options).is_err());
    /// ```
    pub const fn max_repair_bytes(mut self, bytes: usize) -> Self {
        self.max_repair_bytes = bytes;
        self
    }

    /// Sets the maximum number of fixes.
    ///
    /// ```
    /// use tool_json::{Options, parse_with};
    ///
    /// let options = Options::default().max_fixes(1);
    /// assert!(parse_with("[1, 2,]", &options).is_ok());
    /// assert!(parse_with("[1,, 2,]", &options).is_err());
    /// ```
    pub const fn max_fixes(mut self, fixes: usize) -> Self {
        self.max_fixes = Some(fixes);
        self
    }

    /// The effective depth limit: `max_depth` is a public field and may exceed the maximum.
    pub(super) const fn depth(&self) -> usize {
        if self.max_depth < MAX_DEPTH_LIMIT { self.max_depth } else { MAX_DEPTH_LIMIT }
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
                options.max_level(Level::Wrapping),
                "[1,]",
                "no repair of this level is allowed: leave out the stray comma at line 1 column 3, near `[1,]`",
            ),
            (
                options.max_risk(Risk::Lossless),
                "Here: [1]",
                "no repair of this risk is allowed: leave out the prose at line 1 column 1, near `Here: [1]`",
            ),
            (options.max_fixes(0), "[1,]", "no repair is allowed: leave out the stray comma at"),
            (options.max_fixes(1), "[1,,]", "only one repair is allowed: leave out the stray"),
            (options.max_fixes(2), "[,1,,]", "only 2 repairs are allowed: leave out the stray"),
            (options.max_bytes(3), "[12]", "the text is too long: it has 4 bytes; the limit is 3."),
            (
                options.max_repair_bytes(3),
                "[1,]",
                "the text is too long to repair: it has 4 bytes; the limit is 3.",
            ),
            (options.max_depth(1), "[[1]]", "the JSON is nested deeper than 1 level at line 1"),
            (options.max_depth(1), "[[1],]", "the JSON is nested deeper than 1 level at line 1"),
            (
                options.max_risk(Risk::Inferred),
                "[1, [2]",
                "the text was cut off: it ends before the value does. Send one whole JSON value and",
            ),
        ] {
            let message = parse_with(text, &options).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{text}: {message}");
        }
        let options = options.max_level(Level::Truncation);
        let schema = serde_json::json!({"type": "array", "items": {"type": "integer"}});
        let message = parse_as_with("[\"1\"]", &schema, &options).unwrap_err().to_string();
        let expected =
            "no repair of this level is allowed: leave out the quotes around this value at";
        assert!(message.starts_with(expected), "{message}");
    }
}
