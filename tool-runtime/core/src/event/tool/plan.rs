use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The steps that an agent intends to take, for screens.
///
/// A tool emits its whole plan whenever it changes. Each plan of a run replaces the one before.
///
/// ```
/// use tool_runtime::event::{Plan, PlanStep, StepStatus};
/// use tool_runtime::{ToolContext, tool};
///
/// /// Updates the plan.
/// #[tool(effect = "none")]
/// async fn update_plan(steps: Vec<String>, done: usize, ctx: &ToolContext) {
///     let steps = steps.into_iter().enumerate().map(|(index, text)| match index < done {
///         true => PlanStep::new(text, StepStatus::Completed),
///         false => PlanStep::new(text, StepStatus::Pending),
///     });
///     ctx.emit(Plan::NAME, Plan::new(steps));
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plan {
    /// The steps in the order in which they are to be taken.
    pub steps: Vec<PlanStep>,
}

/// A step of a [`Plan`].
///
/// ```
/// use tool_runtime::event::{PlanStep, StepStatus};
///
/// let step = PlanStep::new("Pack", StepStatus::InProgress);
/// assert_eq!(serde_json::to_string(&step)?, r#"{"text":"Pack","status":"in_progress"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlanStep {
    /// The work of the step, in words.
    pub text: String,
    /// The progress of the step.
    pub status: StepStatus,
}

/// The progress of a [`PlanStep`].
///
/// ```
/// use tool_runtime::event::StepStatus;
///
/// assert_eq!(serde_json::to_string(&StepStatus::InProgress)?, r#""in_progress""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepStatus {
    /// The step has not begun.
    #[default]
    Pending,
    /// The step is in progress.
    InProgress,
    /// The step is completed.
    Completed,
}

impl Plan {
    /// The name under which a plan is [emitted](crate::ToolContext::emit).
    pub const NAME: &'static str = "plan";

    /// Creates a plan of these steps.
    pub fn new(steps: impl IntoIterator<Item = PlanStep>) -> Self {
        Self { steps: steps.into_iter().collect() }
    }
}

impl PlanStep {
    /// Creates a step of this text and status.
    ///
    /// ```
    /// use tool_runtime::event::{PlanStep, StepStatus};
    ///
    /// assert_eq!(PlanStep::new("Pack", StepStatus::Pending).text, "Pack");
    /// ```
    pub fn new(text: impl Into<String>, status: StepStatus) -> Self {
        Self { text: text.into(), status }
    }
}

impl From<Plan> for Value {
    fn from(plan: Plan) -> Self {
        // A plan has no map with keys other than text, so that it always has a JSON form.
        serde_json::to_value(plan).unwrap_or_default()
    }
}
