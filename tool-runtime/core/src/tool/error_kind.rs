/// Classifies the failures of calls: who caused the failure, and what can be done about it.
///
/// ```
/// use tool_runtime::ToolErrorKind;
///
/// assert_eq!(ToolErrorKind::Timeout.code(), "TOOL_TIMEOUT");
/// assert!(ToolErrorKind::Timeout.is_infrastructure());
/// assert!(!ToolErrorKind::InvalidArguments.is_infrastructure());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The arguments are invalid. The model can correct them and call again.
    InvalidArguments,
    /// No tool has the called name.
    NotFound,
    /// The tool failed for a reason outside of it that may not recur, such as a busy service.
    TransientFailure,
    /// The tool ran and failed.
    ExecutionFailed,
    /// The policy does not allow the call.
    Denied,
    /// The call waits for an external decision.
    AwaitingApproval,
    /// The tool can't run now.
    Unavailable,
    /// The call exceeded its time limit.
    Timeout,
    /// The call was cancelled, possibly before it started.
    Cancelled,
    /// The code of the tool panicked.
    Panicked,
    /// The call may or may not have run.
    Indeterminate,
}

impl ToolErrorKind {
    const ALL: [Self; 11] = [
        Self::InvalidArguments,
        Self::NotFound,
        Self::TransientFailure,
        Self::ExecutionFailed,
        Self::Denied,
        Self::AwaitingApproval,
        Self::Unavailable,
        Self::Timeout,
        Self::Cancelled,
        Self::Panicked,
        Self::Indeterminate,
    ];

    /// Returns the kind with this [code](Self::code). `None` if the code is unknown, such as that
    /// of a newer version.
    ///
    /// ```
    /// use tool_runtime::ToolErrorKind;
    ///
    /// assert_eq!(ToolErrorKind::from_code("TOOL_TIMEOUT"), Some(ToolErrorKind::Timeout));
    /// assert_eq!(ToolErrorKind::from_code("timeout"), None);
    /// ```
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Returns the stable code that results and events carry.
    pub fn code(self) -> &'static str {
        match self {
            Self::InvalidArguments => "TOOL_INVALID_ARGUMENTS",
            Self::NotFound => "TOOL_NOT_FOUND",
            Self::TransientFailure => "TOOL_TRANSIENT_FAILURE",
            Self::ExecutionFailed => "TOOL_EXECUTION_FAILED",
            Self::Denied => "TOOL_DENIED",
            Self::AwaitingApproval => "TOOL_AWAITING_APPROVAL",
            Self::Unavailable => "TOOL_UNAVAILABLE",
            Self::Timeout => "TOOL_TIMEOUT",
            Self::Cancelled => "TOOL_CANCELLED",
            Self::Panicked => "TOOL_PANICKED",
            Self::Indeterminate => "TOOL_INDETERMINATE",
        }
    }

    /// Returns `true` if the cause is the tool's implementation or something that it depends on.
    ///
    /// The same call may succeed later or on another machine. Other kinds are regular results
    /// of the tool or the policy.
    pub fn is_infrastructure(self) -> bool {
        match self {
            Self::TransientFailure | Self::Unavailable | Self::Timeout => true,
            Self::Panicked | Self::Indeterminate => true,
            Self::InvalidArguments | Self::NotFound | Self::ExecutionFailed => false,
            Self::Denied | Self::AwaitingApproval | Self::Cancelled => false,
        }
    }
}
