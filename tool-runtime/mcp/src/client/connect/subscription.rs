//! The state of the subscription by which a server of 2026-07-28 sends notifications.

use crate::client::events::McpEvent;

/// Whether the subscription is open, and what was reported of it.
#[derive(Debug, Default)]
pub(crate) struct Subscription {
    is_open: bool,
    /// Whether an earlier attempt has ended, so that notifications may have been missed.
    has_gap: bool,
    /// Whether the server ended or refused the last one.
    is_lost: bool,
    is_reported: bool,
}

impl Subscription {
    /// Records that an attempt has ended: because the server refused or ended it for this reason,
    /// or because the client subscribes to something else. Returns what is reported.
    ///
    /// A subscription that was open is requested again first. Several refusals in a row are
    /// reported once.
    pub(crate) fn ended(&mut self, lost: Option<String>) -> Option<McpEvent> {
        let was_open = std::mem::take(&mut self.is_open);
        self.has_gap = true;
        let reason = lost?;
        self.is_lost = true;
        if was_open || std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        Some(McpEvent::NotificationsInterrupted { reason })
    }

    /// Records that the server has accepted the subscription. Returns whether notifications may
    /// have been missed, and what is reported.
    pub(crate) fn accepted(&mut self) -> (bool, Option<McpEvent>) {
        let was_lost = std::mem::take(&mut self.is_lost);
        (self.is_open, self.is_reported) = (true, false);
        (self.has_gap, was_lost.then_some(McpEvent::NotificationsResumed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interruption_is_reported_once_and_then_its_end() {
        let mut subscription = Subscription::default();
        let kind = |event: Option<McpEvent>| match event {
            Some(McpEvent::NotificationsInterrupted { reason }) => Some(reason),
            Some(McpEvent::NotificationsResumed) => Some("resumed".to_owned()),
            _ => None,
        };
        let (has_gap, event) = subscription.accepted();
        assert_eq!((has_gap, kind(event)), (false, None));
        // Subscribing to another resource interrupts nothing.
        assert_eq!(kind(subscription.ended(None)), None);
        let (has_gap, event) = subscription.accepted();
        assert_eq!((has_gap, kind(event)), (true, None));
        // The end of an open subscription is no failure yet.
        assert_eq!(kind(subscription.ended(Some("ended".to_owned()))), None);
        assert_eq!(kind(subscription.ended(Some("busy".to_owned()))), Some("busy".to_owned()));
        assert_eq!(kind(subscription.ended(Some("busy".to_owned()))), None);
        for _ in 0..2 {
            let (has_gap, event) = subscription.accepted();
            assert_eq!((has_gap, kind(event)), (true, Some("resumed".to_owned())));
            subscription.ended(Some("ended".to_owned()));
        }
        assert_eq!(kind(subscription.ended(Some("gone".to_owned()))), Some("gone".to_owned()));
    }
}
