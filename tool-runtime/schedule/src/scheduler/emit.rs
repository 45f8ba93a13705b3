//! Emits events: to the functions of the program, and to `tracing`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::event::ScheduleEvent;

type Observer = dyn Fn(&ScheduleEvent) + Send + Sync;

/// The functions of the program that receive events.
#[derive(Clone, Default)]
pub(crate) struct Observers(Vec<Arc<Observer>>);

impl Observers {
    pub(crate) fn add(&mut self, observer: impl Fn(&ScheduleEvent) + Send + Sync + 'static) {
        self.0.push(Arc::new(observer));
    }

    pub(crate) fn emit(&self, event: &ScheduleEvent) {
        #[cfg(feature = "tracing")]
        trace(event);
        for observer in &self.0 {
            // The panic hook has reported the panic of an observer.
            _ = catch_unwind(AssertUnwindSafe(|| observer(event)));
        }
    }
}

#[cfg(feature = "tracing")]
fn trace(event: &ScheduleEvent) {
    // The target of the spans of runs, for filters.
    const TARGET: &str = "tool_runtime";
    let (principal, schedule) = match event {
        ScheduleEvent::Recorded { principal, schedule, .. }
        | ScheduleEvent::RetryPlanned { principal, schedule, .. }
        | ScheduleEvent::Stopped { principal, schedule, .. } => {
            (Some(principal.as_str()), Some(schedule.as_str()))
        }
        ScheduleEvent::Corrupt { .. } | ScheduleEvent::StoreFailed { .. } => (None, None),
    };
    // The level of an event is a constant.
    if event.is_warning() {
        tracing::warn!(target: TARGET, principal, schedule, "{event}");
    } else {
        tracing::info!(target: TARGET, principal, schedule, "{event}");
    }
}
