//! Whether a request is sent again, and when.

use std::time::Duration;

use crate::models::ModelError;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// How long to wait before the next attempt; none where there is to be no other.
///
/// `attempts` were made of `most`, and the last one failed so. The pause doubles each time; of it,
/// `chance`, from 0 to 1, takes away up to a half. Whoever said when to come back is not asked before;
/// where that is longer than any pause, not at all.
pub(super) fn pause_before_next(
    error: &ModelError,
    attempts: u32,
    most: u32,
    chance: f64,
) -> Option<Duration> {
    let asked = match error {
        // It was given its time.
        ModelError::Timeout { .. } => return None,
        ModelError::Refused(refusal) => refusal.retry_after,
        _ => None,
    };
    if !error.may_pass() || attempts >= most {
        return None;
    }
    let whole = FIRST.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(LONGEST);
    let pause = whole.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 2.0);
    let asked = asked.unwrap_or_default();
    (asked <= LONGEST).then(|| pause.max(asked))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::pause_before_next;
    use crate::models::{ModelError, Refusal, RefusalKind};

    fn refused(kind: RefusalKind, retry_after: Option<u64>) -> ModelError {
        let mut refusal = Refusal::new(kind, "u", 429, "");
        refusal.retry_after = retry_after.map(Duration::from_millis);
        Box::new(refusal).into()
    }

    #[test]
    fn what_may_pass_is_tried_again() {
        for (kind, again) in [
            (RefusalKind::RateLimited, true),
            (RefusalKind::Overloaded, true),
            (RefusalKind::OutOfQuota, false),
            (RefusalKind::Auth, false),
            (RefusalKind::ContextTooLong, false),
            (RefusalKind::Filtered, false),
            (RefusalKind::Invalid, false),
            (RefusalKind::Other, false),
        ] {
            let pause = pause_before_next(&refused(kind, None), 1, 3, 0.0);
            assert_eq!(pause.is_some(), again, "{kind:?}");
        }
        let lost = ModelError::Unreachable { url: "u".into(), source: "gone".into() };
        assert!(pause_before_next(&lost, 1, 3, 0.0).is_some());
        let late = ModelError::Timeout { url: "u".into(), limit: Duration::ZERO };
        assert_eq!(pause_before_next(&late, 1, 3, 0.0), None);
    }

    #[test]
    fn pauses_grow_and_wait_as_long_as_they_are_told() {
        let busy = |wait| refused(RefusalKind::RateLimited, wait);
        for (attempts, wait, chance, pause) in [
            (1, None, 0.0, Some(500)),
            (1, None, 1.0, Some(250)),
            (2, None, 0.0, Some(1_000)),
            (9, None, 0.0, Some(30_000)),
            (10, None, 0.0, None),
            (1, Some(100), 0.0, Some(500)),
            (1, Some(7_000), 0.0, Some(7_000)),
            (1, Some(30_001), 0.0, None),
        ] {
            let next = pause_before_next(&busy(wait), attempts, 10, chance);
            assert_eq!(next, pause.map(Duration::from_millis), "{attempts} {wait:?}");
        }
    }
}
