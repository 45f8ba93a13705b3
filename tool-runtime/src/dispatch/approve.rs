//! Who is asked before a tool runs that may only run when somebody agrees.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::Value;

use crate::event::{Gate, RunId};
use crate::guard::{Guarded, Panic, guarded};
use crate::message::ToolCall;
use crate::secret::Redactor;
use crate::tool::{Approval, Decision, ToolDefinition, ToolError, ToolErrorKind};

/// Somebody who decides whether a call may run.
///
/// Asked for tools of `permission = "ask"`, once their arguments are known to be right: what is
/// approved is what runs. Where nobody can be asked, nothing of the kind runs; neither does it when
/// the one who is asked panics.
///
/// Its impl stands under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
/// use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, async_trait, tool, tools};
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
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![pay])?).policy(Policy::new().approver(SmallSums));
/// let calls = ["5", "500"].map(|amount| {
///     ToolCall::new(amount, "pay", format!(r#"{{"to": "Ada", "amount": {amount}}}"#))
/// });
/// let done = dispatcher.dispatch(calls.into()).await;
/// assert_eq!(done[0].result.text, "Ada has 5 more");
/// assert_eq!(done[1].result.text, "`pay` was not approved: at most 100 may be paid");
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't approve calls",
    label = "implement `Approver` for a type of your own, under `#[async_trait]`",
    note = "a closure is no approver; where the answer comes later, pass `AskLater`"
)]
#[async_trait]
pub trait Approver: Send + Sync {
    /// Decides.
    async fn approve(&self, request: &ApprovalRequest) -> Approval;

    /// Who decides, as events and executions name it.
    fn name(&self) -> &str {
        "approver"
    }
}

/// Leaves every call open that would be asked about, for a program that asks somebody later: the run
/// stops with [`AwaitingApproval`](crate::StopReason::AwaitingApproval), and is resumed with the
/// answers.
///
/// Where that is the run of an agent that is a [tool](crate::agent::SubAgent), the run around it stops as well, and the
/// answers are for the one [within](crate::agent::Paused#runs-within-runs).
///
/// Any other call that a tool makes can't be left open, for its tool waits for it: that one is told that the
/// call awaits approval, and may go on without it.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskLater;

#[async_trait]
impl Approver for AskLater {
    async fn approve(&self, _: &ApprovalRequest) -> Approval {
        Approval::Defer
    }
}

/// What is to be approved. Printed for debugging, it hides what is secret, as [`shown`](Self::shown) does.
#[derive(Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The call as it came.
    pub call: ToolCall,
    /// The arguments that the tool will be given, to decide by. With what is secret: a person is
    /// [`shown`](Self::shown) them without.
    pub arguments: Value,
    /// The tool.
    pub tool: Arc<ToolDefinition>,
    /// Under whom it is registered.
    pub provider: Option<String>,
    pub(super) redactor: Option<Redactor>,
}

impl ApprovalRequest {
    /// The arguments as a person may see them: what is marked as secret in them, and what the program
    /// [named](crate::Policy::secrets), is `[redacted]`, as in events.
    ///
    /// ```
    /// use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
    /// use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, async_trait, tool, tools};
    ///
    /// struct Shows;
    ///
    /// #[async_trait]
    /// impl Approver for Shows {
    ///     async fn approve(&self, request: &ApprovalRequest) -> Approval {
    ///         Approval::Deny(format!("who is asked saw {}", request.shown()))
    ///     }
    /// }
    ///
    /// /// Pays by card.
    /// #[tool(permission = "ask")]
    /// async fn pay(amount: u32, #[arg(secret)] card: String) -> String {
    ///     format!("{amount} are paid by {card}")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![pay])?).policy(Policy::new().approver(Shows));
    /// let call = ToolCall::new("1", "pay", r#"{"amount": 5, "card": "4111 1111"}"#);
    /// let done = dispatcher.dispatch(vec![call]).await;
    /// let told = r#"`pay` was not approved: who is asked saw {"amount":5,"card":"[redacted]"}"#;
    /// assert_eq!(done[0].result.text, told);
    /// # Ok(())
    /// # }
    /// ```
    pub fn shown(&self) -> Value {
        let mut shown = self.arguments.clone();
        if let Some(redactor) = &self.redactor {
            redactor.hide_in_arguments(&self.call.name, &mut shown);
        }
        shown
    }
}

impl fmt::Debug for ApprovalRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalRequest")
            .field("call", &self.call.id)
            .field("tool", &self.tool.name)
            .field("arguments", &self.shown())
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

/// How many levels the arguments of a call may have that is left open. JSON is read 127 levels deep, and a run that waits
/// takes some: so many that agents may lie as deep as they can, and a program may put it into something of its own.
const DEEPEST: usize = 96;

/// Whether a value has at most so many levels.
fn lies_within(value: &Value, levels: usize) -> bool {
    let fits = |inner: &Value| lies_within(inner, levels.saturating_sub(1));
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(fits),
        Value::Object(members) => levels > 0 && members.values().all(fits),
        _ => true,
    }
}

/// The full names of the tools that may run from now on, and who said so.
type Approved = BTreeMap<String, String>;

/// Who is asked, and what was decided for good.
#[derive(Clone, Default)]
pub(super) struct Approvals {
    approver: Option<Arc<dyn Approver>>,
    /// For the rest of each run: several may have their calls run here.
    for_run: Arc<Mutex<BTreeMap<RunId, Approved>>>,
}

impl Approvals {
    pub(super) fn by(approver: Arc<dyn Approver>) -> Self {
        Self { approver: Some(approver), for_run: Arc::default() }
    }

    /// The same for a run of its own, in which these tools may run already.
    pub(super) fn for_run(&self, run: RunId, approved: Approved) -> Self {
        Self { for_run: Arc::new(Mutex::new([(run, approved)].into())), ..self.clone() }
    }

    /// The tools that may run for the rest of this run, and who said so.
    pub(super) fn approved(&self, run: RunId) -> Approved {
        self.lock().get(&run).cloned().unwrap_or_default()
    }

    pub(super) fn can_ask(&self, decisions: &[Decision]) -> bool {
        self.approver.is_some() || !decisions.is_empty()
    }

    /// Who decided, where anybody did, and why it doesn't run, where it doesn't.
    pub(super) async fn ask(
        &self,
        request: &ApprovalRequest,
        run: RunId,
        decisions: &[Decision],
        asked: impl FnOnce(),
    ) -> (Option<String>, Result<(), (Gate, ToolError)>) {
        let (name, full_name) = (&request.tool.name, request.tool.full_name());
        // An answer holds for what was asked, and for nothing else.
        let decided = decisions.iter().find(|decision| {
            decision.call == request.call.id
                && decision.tool == full_name
                && decision.arguments == request.arguments
        });
        // What was said of this very call goes before what was said of all of its tool.
        if decided.is_none()
            && let Some(by) = self.lock().get(&run).and_then(|approved| approved.get(full_name))
        {
            return (Some(by.clone()), Ok(()));
        }
        let (approval, by) = match (decided, &self.approver) {
            (Some(decided), _) => (decided.approval.clone(), decided.by.clone()),
            (None, None) => {
                let text = format!("`{name}` needs approval, and there is nobody to ask.");
                let denied = ToolError::new(ToolErrorKind::Denied, text);
                return (None, Err((Gate::Approver, denied)));
            }
            (None, Some(approver)) => {
                asked();
                let failed = |Panic(_)| Approval::Deny("whoever was asked could not answer".into());
                let approval = Guarded::new(|| approver.approve(request), failed).await;
                let by = guarded(|| approver.name().to_owned());
                (approval, by.unwrap_or_else(|Panic(_)| "approver".to_owned()))
            }
        };
        match approval {
            Approval::Once => (Some(by), Ok(())),
            Approval::ForRun => {
                self.lock().entry(run).or_default().insert(full_name.to_owned(), by.clone());
                (Some(by), Ok(()))
            }
            Approval::Deny(why) => {
                let text = format!("`{name}` was not approved: {why}");
                (Some(by), Err((Gate::Approver, ToolError::new(ToolErrorKind::Denied, text))))
            }
            Approval::Defer if !lies_within(&request.arguments, DEEPEST) => {
                let text = format!(
                    "`{name}` was not run: somebody has to decide on it later, and its arguments lie too deep to be \
                     kept until then. Send them with fewer levels: at most {DEEPEST}."
                );
                (Some(by), Err((Gate::Approver, ToolError::new(ToolErrorKind::Denied, text))))
            }
            Approval::Defer => {
                let text = format!("`{name}` was not run: it awaits approval.");
                (None, Err((Gate::Pending, ToolError::new(ToolErrorKind::Pending, text))))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, Approved>> {
        self.for_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approvals")
            .field("can_ask", &self.approver.is_some())
            .finish_non_exhaustive()
    }
}
