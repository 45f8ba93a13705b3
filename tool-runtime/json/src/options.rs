//! Limits on parsing and repair.

use super::{Level, Risk};

/// The maximum depth that serde_json parses, and so that of valid text.
const DEFAULT_MAX_DEPTH: usize = 127;
/// The maximum of `max_depth`: values are dropped and serialized by recursion.
const MAX_DEPTH_LIMIT: usize = 512;

/// The default of `max_len`.
const DEFAULT_MAX_LEN: usize = 32 << 20;

/// The default of `max_repair_len`: a repair can take 128 times the memory of its text, and so at
/// most 8 times `max_len`.
const DEFAULT_MAX_REPAIR_LEN: usize = 2 << 20;

/// Limits on the text and its repairs; a text that exceeds one is refused.
///
/// By default, all repairs are allowed. A text has at most 32 MiB, and at most 2 MiB if it needs
/// repairs. A limit never changes how a text is read.
///
/// ```
/// use tool_json::{Level, Options, parse_with};
///
/// let options = Options::default().with_max_level(Level::Wrapping);
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
    pub max_len: usize,
    /// The maximum length in bytes of a text that is not valid JSON, or does not fit the schema.
    /// Default: 2 MiB, because a repair takes up to 128 times the memory of its text.
    pub max_repair_len: usize,
    /// The maximum number of fixes. Default: unlimited.
    pub max_fixes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_level: Level::Schema,
            max_risk: Risk::Lossy,
            max_depth: DEFAULT_MAX_DEPTH,
            max_len: DEFAULT_MAX_LEN,
            max_repair_len: DEFAULT_MAX_REPAIR_LEN,
            max_fixes: usize::MAX,
        }
    }
}

impl Options {
    /// Sets the highest level that a fix may have.
    ///
    /// ```
    /// use tool_json::{Level, Options, parse_with};
    ///
    /// let strict = Options::default().with_max_level(Level::Strict);
    /// assert!(parse_with("`[1]`", &strict).is_err());
    /// ```
    pub const fn with_max_level(mut self, level: Level) -> Self {
        self.max_level = level;
        self
    }

    /// Sets the highest risk that a fix may have.
    ///
    /// ```
    /// use tool_json::{Options, Risk, parse_with};
    ///
    /// let careful = Options::default().with_max_risk(Risk::Inferred);
    /// assert!(parse_with(r#"{"city": "Os"#, &careful).is_err());
    /// ```
    pub const fn with_max_risk(mut self, risk: Risk) -> Self {
        self.max_risk = risk;
        self
    }

    /// Sets the maximum nesting depth; values above 512 are reduced to 512.
    ///
    /// ```
    /// use tool_json::{Options, parse_with};
    ///
    /// let flat = Options::default().with_max_depth(1);
    /// assert!(parse_with("[[1]]", &flat).is_err());
    /// ```
    pub const fn with_max_depth(mut self, depth: usize) -> Self {
        self.max_depth = if depth < MAX_DEPTH_LIMIT { depth } else { MAX_DEPTH_LIMIT };
        self
    }

    /// Sets the maximum length of the text in bytes.
    ///
    /// ```
    /// use tool_json::{Options, parse_with};
    ///
    /// assert!(parse_with("[1, 2]", &Options::default().with_max_len(5)).is_err());
    /// ```
    pub const fn with_max_len(mut self, len: usize) -> Self {
        self.max_len = len;
        self
    }

    /// Sets the maximum length in bytes of a text that needs repairs.
    ///
    /// ```
    /// use tool_json::{Options, parse_with};
    ///
    /// let options = Options::default().with_max_repair_len(5);
    /// assert!(parse_with("[1, 2]", &options).is_ok());
    /// assert!(parse_with("[1, 2,]", &options).is_err());
    /// ```
    pub const fn with_max_repair_len(mut self, len: usize) -> Self {
        self.max_repair_len = len;
        self
    }

    /// Sets the maximum number of fixes.
    ///
    /// ```
    /// use tool_json::{Options, parse_with};
    ///
    /// let options = Options::default().with_max_fixes(1);
    /// assert!(parse_with("[1, 2,]", &options).is_ok());
    /// assert!(parse_with("[1,, 2,]", &options).is_err());
    /// ```
    pub const fn with_max_fixes(mut self, fixes: usize) -> Self {
        self.max_fixes = fixes;
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
                "the text is too long: it has 4 bytes; the limit is 3.",
            ),
            (
                options.with_max_repair_len(3),
                "[1,]",
                "the text is too long to repair: it has 4 bytes; the limit is 3.",
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
