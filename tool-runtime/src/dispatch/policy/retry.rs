use std::time::Duration;

use crate::tool::{ToolDefinition, ToolErrorKind};

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);

/// How long to wait before the next attempt; none where there is to be no other.
///
/// `attempts` were made and the last one failed so. The pause doubles each time; of it, `chance`, from
/// 0 to 1, takes away up to a half, so that many who failed together don't come back together. Only what may pass is tried again, and only a
/// tool that may run twice; one that can't be stopped may still be at it when its time is over, and
/// twice at once is more than twice.
pub(in crate::dispatch) fn pause_before_next(
    tool: &ToolDefinition,
    failure: ToolErrorKind,
    attempts: u32,
    chance: f64,
) -> Option<Duration> {
    let may_pass = matches!(failure, ToolErrorKind::Transient | ToolErrorKind::Timeout);
    let still_runs = tool.blocking && failure == ToolErrorKind::Timeout;
    let again = tool.idempotent && may_pass && !still_runs && attempts <= tool.retries;
    let whole = FIRST.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(LONGEST);
    again.then(|| whole.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 2.0))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::pause_before_next;
    use crate::tool::{ToolDefinition, ToolErrorKind};

    #[test]
    fn waits_twice_as_long_each_time() {
        let mut tool = ToolDefinition::new("t", "T.", serde_json::json!({ "type": "object" }));
        tool.retries = 9;
        assert_eq!(pause_before_next(&tool, ToolErrorKind::Transient, 1, 0.0), None);
        tool.idempotent = true;
        let pause = |attempts| pause_before_next(&tool, ToolErrorKind::Timeout, attempts, 0.0);
        assert_eq!(pause(1), Some(Duration::from_millis(100)));
        assert_eq!(pause(2), Some(Duration::from_millis(200)));
        assert_eq!(pause(9), Some(Duration::from_secs(10)));
        assert_eq!(pause(10), None);
        let halved = pause_before_next(&tool, ToolErrorKind::Timeout, 1, 1.0);
        assert_eq!(halved, Some(Duration::from_millis(50)));
        assert_eq!(pause_before_next(&tool, ToolErrorKind::Failed, 1, 0.0), None);
        tool.blocking = true;
        assert_eq!(pause_before_next(&tool, ToolErrorKind::Timeout, 1, 0.0), None);
        assert!(pause_before_next(&tool, ToolErrorKind::Transient, 1, 0.0).is_some());
    }
}
