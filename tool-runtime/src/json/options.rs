//! How far reading may go.

use super::{Level, Risk};

/// As deep as serde_json reads, and so as deep as sound text may be.
const DEPTH: usize = 127;
/// Values are dropped and printed by recursion, so no option goes further.
const DEEPEST: usize = 512;

/// Limits on what is read and repaired; whatever goes beyond one is refused.
///
/// ```
/// use tool_runtime::json::{Level, Options, parse_with};
///
/// let options = Options::default().with_max_level(Level::Wrapping);
/// assert!(parse_with("```[1, 2]```", &options).is_ok());
/// assert!(parse_with("[1, 2,]", &options).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Options {
    /// The highest level that a fix may have; by default all are allowed.
    pub max_level: Level,
    /// The highest risk that a fix may bear; by default all are allowed. Below [`Risk::Lossy`] no text
    /// is read that was cut off, wherever the cut is.
    pub max_risk: Risk,
    /// How many lists and objects may be open at once: 127 by default, 512 at most.
    pub max_depth: usize,
    /// How many bytes a text may have; by default any number.
    pub max_len: usize,
    /// How many fixes a text may take; by default any number.
    pub max_fixes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_level: Level::Schema,
            max_risk: Risk::Lossy,
            max_depth: DEPTH,
            max_len: usize::MAX,
            max_fixes: usize::MAX,
        }
    }
}

impl Options {
    /// With another limit on the level of fixes.
    ///
    /// ```
    /// use tool_runtime::json::{Level, Options, parse_with};
    ///
    /// let strict = Options::default().with_max_level(Level::Strict);
    /// assert!(parse_with("`[1]`", &strict).is_err());
    /// ```
    pub const fn with_max_level(mut self, level: Level) -> Self {
        self.max_level = level;
        self
    }

    /// With another limit on the risk of fixes.
    ///
    /// ```
    /// use tool_runtime::json::{Options, Risk, parse_with};
    ///
    /// let careful = Options::default().with_max_risk(Risk::Inferred);
    /// assert!(parse_with(r#"{"city": "Os"#, &careful).is_err());
    /// ```
    pub const fn with_max_risk(mut self, risk: Risk) -> Self {
        self.max_risk = risk;
        self
    }

    /// With another limit on the depth.
    ///
    /// ```
    /// use tool_runtime::json::{Options, parse_with};
    ///
    /// let flat = Options::default().with_max_depth(1);
    /// assert!(parse_with("[[1]]", &flat).is_err());
    /// ```
    pub const fn with_max_depth(mut self, depth: usize) -> Self {
        self.max_depth = if depth < DEEPEST { depth } else { DEEPEST };
        self
    }

    /// With another limit on the length of the text in bytes.
    ///
    /// ```
    /// use tool_runtime::json::{Options, parse_with};
    ///
    /// assert!(parse_with("[1, 2]", &Options::default().with_max_len(5)).is_err());
    /// ```
    pub const fn with_max_len(mut self, len: usize) -> Self {
        self.max_len = len;
        self
    }

    /// With another limit on the number of fixes.
    ///
    /// ```
    /// use tool_runtime::json::{Options, parse_with};
    ///
    /// let options = Options::default().with_max_fixes(1);
    /// assert!(parse_with("[1, 2,]", &options).is_ok());
    /// assert!(parse_with("[1,, 2,]", &options).is_err());
    /// ```
    pub const fn with_max_fixes(mut self, fixes: usize) -> Self {
        self.max_fixes = fixes;
        self
    }

    /// The limit on the depth, whatever the field says.
    pub(super) const fn depth(&self) -> usize {
        if self.max_depth < DEEPEST { self.max_depth } else { DEEPEST }
    }
}
