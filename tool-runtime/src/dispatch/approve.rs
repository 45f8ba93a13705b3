//! Who is asked before a tool runs that may only run when somebody agrees.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::Value;

use crate::guard::{Guarded, Panic};
use crate::message::ToolCall;
use crate::tool::{ToolDefinition, ToolError, ToolErrorKind};

/// Somebody who decides whether a call may run.
///
/// Asked for tools of `permission = "ask"`, once their arguments are known to be right: what is
/// approved is what runs. Where nobody can be asked, nothing of the kind runs; neither does it when
/// the one who is asked panics.
///
/// ```
/// use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
/// use tool_runtime::{Dispatcher, Registry, ToolCall, async_trait, tool, tools};
///
/// struct SmallSums;
///
/// #[async_trait]
/// impl Approver for SmallSums {
///     async fn approve(&self, request: &ApprovalRequest) -> Approval {
///         match request.arguments["amount"].as_u64() {
///             Some(0..=100) => Approval::Once,
///             _ => Approval::Deny("at most 100 may be paid".into()),
///         }
///     }
/// }
///
/// /// Pays somebody.
/// #[tool(permission = "ask")]
/// async fn pay(to: String, amount: u32) -> String {
///     format!("{to} has {amount} more")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![pay])?).approver(SmallSums);
/// let calls = ["5", "500"].map(|amount| {
///     ToolCall::new(amount, "pay", format!(r#"{{"to": "Ada", "amount": {amount}}}"#))
/// });
/// let done = dispatcher.dispatch(calls.into()).await;
/// assert_eq!(done[0].result.text, "Ada has 5 more");
/// assert_eq!(done[1].result.text, "`pay` was not approved: at most 100 may be paid");
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Approver: Send + Sync {
    /// Decides.
    async fn approve(&self, request: &ApprovalRequest) -> Approval;
}

/// What is to be approved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The call as it came.
    pub call: ToolCall,
    /// The arguments that the tool will be given.
    pub arguments: Value,
    /// The tool.
    pub tool: Arc<ToolDefinition>,
    /// Under whom it is registered.
    pub provider: Option<String>,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approval {
    /// This call may run.
    Once,
    /// This tool may run for as long as this dispatcher lives, which is one run of an agent.
    ForRun,
    /// It may not, for this reason, which the model is told.
    Deny(String),
}

/// Who is asked, and what was decided for good.
#[derive(Clone, Default)]
pub(super) struct Approvals {
    approver: Option<Arc<dyn Approver>>,
    for_run: Arc<Mutex<BTreeSet<String>>>,
}

impl Approvals {
    pub(super) fn by(approver: Arc<dyn Approver>) -> Self {
        Self { approver: Some(approver), for_run: Arc::default() }
    }

    pub(super) fn can_ask(&self) -> bool {
        self.approver.is_some()
    }

    pub(super) async fn ask(&self, request: &ApprovalRequest) -> Result<(), ToolError> {
        let name = &request.tool.name;
        let denied = |why: String| Err(ToolError::new(ToolErrorKind::Denied, why));
        let Some(approver) = &self.approver else {
            return denied(format!("`{name}` needs approval, and there is nobody to ask."));
        };
        if self.lock().contains(name) {
            return Ok(());
        }
        let failed = |Panic(_)| Approval::Deny("whoever was asked could not answer".into());
        match Guarded::new(|| approver.approve(request), failed).await {
            Approval::Once => Ok(()),
            Approval::ForRun => {
                self.lock().insert(name.clone());
                Ok(())
            }
            Approval::Deny(why) => denied(format!("`{name}` was not approved: {why}")),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.for_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approvals").field("can_ask", &self.can_ask()).finish_non_exhaustive()
    }
}
