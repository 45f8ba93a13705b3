use std::ops::RangeInclusive;
use std::time::Duration;

use crate::tool::{ToolDefinition, ToolError, ToolErrorKind};

/// The delay before the first retry.
const BASE_DELAY: Duration = Duration::from_millis(100);

/// The longest delay before a retry.
const MAX_DELAY: Duration = Duration::from_secs(10);

/// Returns the delay before the next attempt, or `None` if the call is not retried.
///
/// `attempts` is the number of attempts so far, of which the last one failed with `failure`, and
/// `max_retries` is the number of retries that are allowed. A call is retried if its tool is
/// idempotent and the failure is transient or a timeout. A `blocking` tool is not retried after a
/// timeout: its thread can't be stopped, so two attempts could run at the same time.
///
/// `jitter` and the `retry_after` hint of the failure change the delay as in [`backoff`].
pub(in crate::dispatch) fn retry_delay(
    tool: &ToolDefinition,
    failure: &ToolError,
    attempts: u32,
    max_retries: u32,
    jitter: f64,
) -> Option<Duration> {
    let is_transient =
        matches!(failure.kind(), ToolErrorKind::TransientFailure | ToolErrorKind::Timeout);
    let still_runs = tool.blocking && failure.kind() == ToolErrorKind::Timeout;
    if !tool.idempotent || !is_transient || still_runs || attempts > max_retries {
        return None;
    }
    let hint = failure.retry_delay().unwrap_or_default();
    backoff(BASE_DELAY..=MAX_DELAY, attempts, jitter, hint)
}

/// Returns the delay after so many attempts: from the first of `delays`, it doubles with each
/// attempt up to the longest.
///
/// `jitter`, from 0 to 1, shortens the delay by up to a half, so that calls which failed together
/// do not retry together. The delay is at least `hint`, for which the failure asked; if that is
/// longer than the longest delay, there is none.
pub fn backoff(
    delays: RangeInclusive<Duration>,
    attempts: u32,
    jitter: f64,
    hint: Duration,
) -> Option<Duration> {
    let (first, longest) = delays.into_inner();
    let full = first.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(longest);
    let delay = full.mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0);
    (hint <= longest).then(|| delay.max(hint))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::retry_delay;
    use crate::tool::{ToolDefinition, ToolError, ToolErrorKind};

    fn idempotent_tool() -> ToolDefinition {
        let mut tool = ToolDefinition::new("t", "T.", serde_json::json!({ "type": "object" }));
        tool.idempotent = true;
        tool
    }

    fn failure(kind: ToolErrorKind) -> ToolError {
        ToolError::new(kind, "no")
    }

    #[test]
    fn retry_delay_doubles_up_to_its_maximum() {
        let tool = idempotent_tool();
        let timeout = failure(ToolErrorKind::Timeout);
        let delay = |attempts| retry_delay(&tool, &timeout, attempts, 9, 0.0);
        assert_eq!(delay(1), Some(Duration::from_millis(100)));
        assert_eq!(delay(2), Some(Duration::from_millis(200)));
        assert_eq!(delay(9), Some(Duration::from_secs(10)));
        assert_eq!(delay(10), None);
        let halved = retry_delay(&tool, &timeout, 1, 9, 1.0);
        assert_eq!(halved, Some(Duration::from_millis(50)));
    }

    #[test]
    fn only_transient_failures_of_idempotent_tools_are_retried() {
        let mut tool = idempotent_tool();
        let (timeout, transient) =
            (failure(ToolErrorKind::Timeout), failure(ToolErrorKind::TransientFailure));
        assert_eq!(retry_delay(&tool, &failure(ToolErrorKind::ExecutionFailed), 1, 9, 0.0), None);
        tool.blocking = true;
        assert_eq!(retry_delay(&tool, &timeout, 1, 9, 0.0), None);
        assert!(retry_delay(&tool, &transient, 1, 9, 0.0).is_some());
        tool.idempotent = false;
        assert_eq!(retry_delay(&tool, &transient, 1, 9, 0.0), None);
    }

    #[test]
    fn retry_after_hint_extends_the_delay() {
        for (hint, delay) in [(0, Some(100)), (50, Some(100)), (2_500, Some(2_500)), (10_001, None)]
        {
            let busy = ToolError::transient("busy").retry_after(Duration::from_millis(hint));
            let next = retry_delay(&idempotent_tool(), &busy, 1, 1, 0.0);
            assert_eq!(next, delay.map(Duration::from_millis), "{hint}");
        }
    }
}
