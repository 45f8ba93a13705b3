//! Limits of specs, which models write.

/// The longest name of a tool or an argument.
pub(super) const MAX_NAME_BYTES: usize = 64;

/// The longest description of a tool.
pub(super) const MAX_DESCRIPTION_BYTES: usize = 4 << 10;

/// The longest description of an argument.
pub(super) const MAX_FIELD_DESCRIPTION_BYTES: usize = 1 << 10;

/// The longest body of a tool.
pub(super) const MAX_BODY_BYTES: usize = 64 << 10;

/// The most fields of a tool, nested ones included.
pub(super) const MAX_FIELDS: usize = 128;

/// The most levels of types within types.
pub(super) const MAX_DEPTH: usize = 6;

/// The most values of a choice.
pub(super) const MAX_VALUES: usize = 64;

/// The most capabilities of a tool.
pub(super) const MAX_CAPABILITIES: usize = 8;

/// The most tools that a body calls.
pub(super) const MAX_TOOLS: usize = 32;

/// The longest time limit of a call.
pub(super) const MAX_TIMEOUT_SECONDS: u32 = 300;

/// The time limit of a call of a tool that declares none.
pub(super) const DEFAULT_TIMEOUT_SECONDS: u32 = 30;

/// The most example calls of a tool.
pub(super) const MAX_EXAMPLES: usize = 16;

/// The longest JSON of the arguments or the output of an example, and of a default.
pub(super) const MAX_VALUE_BYTES: usize = 16 << 10;

/// The most errors that are reported.
pub(super) const MAX_ERRORS: usize = 50;
