use tool_core::dispatch::{Decision, SuspendedCall};

/// How a call starts or continues.
#[derive(Default)]
pub(crate) struct Resume {
    pub(super) decisions: Vec<Decision>,
    pub(super) suspended: Vec<SuspendedCall>,
    /// The text with which the call ends at once, since the user declined.
    pub(super) declined: Option<String>,
}
