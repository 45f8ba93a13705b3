//! Limits of one execution of a script.

/// The memory of a script.
pub(super) const MAX_MEMORY_BYTES: usize = 32 << 20;

/// The stack of a script, far below that of the thread that runs it.
pub(super) const MAX_STACK_BYTES: usize = 256 << 10;

/// The longest output of a script, as JSON.
pub(super) const MAX_OUTPUT_BYTES: usize = 256 << 10;

/// The most text that is kept of the console.
pub(super) const MAX_CONSOLE_BYTES: usize = 8 << 10;

/// The most calls of tools in one execution of a script.
pub(super) const MAX_CALLS: u32 = 100;

/// The longest arguments of a call, as JSON.
pub(super) const MAX_CALL_BYTES: usize = 256 << 10;

/// The longest body of a response, as text.
#[cfg(feature = "fetch")]
pub(super) const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// The longest text of an exception that the model receives.
pub(super) const MAX_ERROR_CHARS: usize = 1_000;

/// The longest line of the body that an error quotes.
pub(super) const MAX_LINE_CHARS: usize = 120;
