//! Authorization of calls: permissions, approvals and what a person is shown.

pub(crate) mod approval_request;
pub(crate) mod approve;
pub(crate) mod authorize;
pub(crate) mod preview;
