//! Retry policy of requests.

use std::ops::RangeInclusive;
use std::time::Duration;

use tool_core::__workspace::backoff;
use tool_core::ModelError;

/// The first pause, and the longest.
const PAUSES: RangeInclusive<Duration> = Duration::from_millis(500)..=Duration::from_secs(30);

/// Returns the pause before the next attempt, or `None` if there is none.
///
/// `attempts` of `max_attempts` were made, and the last one failed with `error`. `jitter` and the
/// delay that the provider asked for change the pause as in [`backoff`].
pub(crate) fn pause_before_next(
    error: &ModelError,
    attempts: u32,
    max_attempts: u32,
    jitter: f64,
) -> Option<Duration> {
    let requested = match error {
        // The request used its whole time limit.
        ModelError::Timeout { .. } => return None,
        ModelError::Api(refusal) => refusal.retry_after,
        _ => None,
    };
    if !error.is_transient() || attempts >= max_attempts {
        return None;
    }
    backoff(PAUSES, attempts, jitter, requested.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::pause_before_next;
    use tool_core::ModelError;
    use tool_core::models::{ApiError, ApiErrorKind};

    fn refused(kind: ApiErrorKind, retry_after: Option<u64>) -> ModelError {
        let mut refusal = ApiError::new(kind, "u", 429, "");
        refusal.retry_after = retry_after.map(Duration::from_millis);
        Box::new(refusal).into()
    }

    #[test]
    fn only_transient_errors_are_retried() {
        for (kind, is_retried) in [
            (ApiErrorKind::RateLimited, true),
            (ApiErrorKind::Overloaded, true),
            (ApiErrorKind::OutOfQuota, false),
            (ApiErrorKind::Auth, false),
            (ApiErrorKind::ContextTooLong, false),
            (ApiErrorKind::Filtered, false),
            (ApiErrorKind::InvalidRequest, false),
            (ApiErrorKind::Failed, false),
        ] {
            let pause = pause_before_next(&refused(kind, None), 1, 3, 0.0);
            assert_eq!(pause.is_some(), is_retried, "{kind:?}");
        }
        for (kind, should_retry, is_retried) in [
            (ApiErrorKind::RateLimited, false, false),
            (ApiErrorKind::Overloaded, false, false),
            (ApiErrorKind::InvalidRequest, true, true),
            (ApiErrorKind::Failed, true, true),
            (ApiErrorKind::OutOfQuota, true, false),
        ] {
            let mut refusal = ApiError::new(kind, "u", 429, "");
            refusal.should_retry = Some(should_retry);
            let pause = pause_before_next(&Box::new(refusal).into(), 1, 3, 0.0);
            assert_eq!(pause.is_some(), is_retried, "{kind:?} {should_retry}");
        }
        let lost = ModelError::Unreachable { url: "u".into(), source: "gone".into() };
        assert!(pause_before_next(&lost, 1, 3, 0.0).is_some());
        let timed_out = ModelError::Timeout { url: "u".into(), limit: Duration::ZERO };
        assert_eq!(pause_before_next(&timed_out, 1, 3, 0.0), None);
    }

    #[test]
    fn pauses_grow_and_respect_retry_after() {
        let busy = |wait| refused(ApiErrorKind::RateLimited, wait);
        for (attempts, wait, jitter, pause) in [
            (1, None, 0.0, Some(500)),
            (1, None, 1.0, Some(250)),
            (2, None, 0.0, Some(1_000)),
            (9, None, 0.0, Some(30_000)),
            (10, None, 0.0, None),
            (1, Some(100), 0.0, Some(500)),
            (1, Some(7_000), 0.0, Some(7_000)),
            (1, Some(30_001), 0.0, None),
        ] {
            let next = pause_before_next(&busy(wait), attempts, 10, jitter);
            assert_eq!(next, pause.map(Duration::from_millis), "{attempts} {wait:?}");
        }
    }
}
