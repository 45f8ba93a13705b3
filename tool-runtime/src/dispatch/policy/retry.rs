use std::time::Duration;

use crate::tool::{ToolDefinition, ToolError, ToolErrorKind};

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);

/// How long to wait before the next attempt; none where there is to be no other.
///
/// `attempts` were made and the last one failed so. The pause doubles each time; of it, `chance`, from
/// 0 to 1, takes away up to a half, so that many who failed together don't come back together. Whoever
/// said when to come back is not asked before; where that is longer than any pause, not at all.
///
/// Only what may pass is tried again, and only a tool that may run twice; one that can't be stopped may
/// still be at it when its time is over, and twice at once is more than twice.
pub(in crate::dispatch) fn pause_before_next(
    tool: &ToolDefinition,
    failure: &ToolError,
    attempts: u32,
    chance: f64,
) -> Option<Duration> {
    let may_pass = matches!(failure.kind(), ToolErrorKind::Transient | ToolErrorKind::Timeout);
    let still_runs = tool.blocking && failure.kind() == ToolErrorKind::Timeout;
    if !tool.idempotent || !may_pass || still_runs || attempts > tool.retries {
        return None;
    }
    let whole = FIRST.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(LONGEST);
    let pause = whole.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 2.0);
    let asked = failure.wait_hint().unwrap_or_default();
    (asked <= LONGEST).then(|| pause.max(asked))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::pause_before_next;
    use crate::tool::{ToolDefinition, ToolError, ToolErrorKind};

    fn tool(retries: u32) -> ToolDefinition {
        let mut tool = ToolDefinition::new("t", "T.", serde_json::json!({ "type": "object" }));
        (tool.retries, tool.idempotent) = (retries, true);
        tool
    }

    fn failure(kind: ToolErrorKind) -> ToolError {
        ToolError::new(kind, "no")
    }

    #[test]
    fn waits_twice_as_long_each_time() {
        let mut tool = tool(9);
        let late = failure(ToolErrorKind::Timeout);
        let pause = |attempts| pause_before_next(&tool, &late, attempts, 0.0);
        assert_eq!(pause(1), Some(Duration::from_millis(100)));
        assert_eq!(pause(2), Some(Duration::from_millis(200)));
        assert_eq!(pause(9), Some(Duration::from_secs(10)));
        assert_eq!(pause(10), None);
        let halved = pause_before_next(&tool, &late, 1, 1.0);
        assert_eq!(halved, Some(Duration::from_millis(50)));
        assert_eq!(pause_before_next(&tool, &failure(ToolErrorKind::Failed), 1, 0.0), None);
        tool.blocking = true;
        assert_eq!(pause_before_next(&tool, &late, 1, 0.0), None);
        let transient = failure(ToolErrorKind::Transient);
        assert!(pause_before_next(&tool, &transient, 1, 0.0).is_some());
        tool.idempotent = false;
        assert_eq!(pause_before_next(&tool, &transient, 1, 0.0), None);
    }

    #[test]
    fn comes_back_when_it_was_told_to() {
        for (hint, pause) in [(0, Some(100)), (50, Some(100)), (2_500, Some(2_500)), (10_001, None)]
        {
            let busy = ToolError::transient("busy").retry_after(Duration::from_millis(hint));
            let next = pause_before_next(&tool(1), &busy, 1, 0.0);
            assert_eq!(next, pause.map(Duration::from_millis), "{hint}");
        }
    }
}
