//! The stable codes of failures.

use std::collections::BTreeSet;

use tool_runtime::ToolErrorKind;

#[test]
fn code_leads_back_to_its_kind() {
    use ToolErrorKind::*;
    let kinds = [
        InvalidArguments,
        NotFound,
        TransientFailure,
        ExecutionFailed,
        Denied,
        AwaitingApproval,
        Unavailable,
        Timeout,
        Cancelled,
        Panicked,
        Indeterminate,
    ];
    let codes: BTreeSet<_> = kinds.iter().map(|kind| kind.code()).collect();
    assert_eq!(codes.len(), kinds.len());
    for kind in kinds {
        assert_eq!(ToolErrorKind::from_code(kind.code()), Some(kind));
    }
    for unknown in ["", "TOOL", "TOOL_TIMEOUT ", "tool_timeout"] {
        assert_eq!(ToolErrorKind::from_code(unknown), None, "{unknown}");
    }
}
