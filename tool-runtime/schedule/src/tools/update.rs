//! Changes, pauses or resumes a schedule.

use jiff::SignedDuration;
use serde_json::{Map, Value};
use tool_core::__workspace::Rows;
use tool_core::{OutputFormat, ToolContext, ToolError, args};

use super::arguments::{ActionArguments, Missed, Problems, TimingArguments};
use super::rows::ScheduleRow;
use super::{ScheduleTools, invalid, row, unavailable};
use crate::record::ScheduleState;

/// The most attempts to save a record that others change at the same time.
const MAX_SAVES: u32 = 20;

/// No two time zones differ by more.
const MAX_ZONE_DIFFERENCE: SignedDuration = SignedDuration::from_hours(48);

#[args]
pub(crate) struct UpdateArguments {
    /// Name of the schedule.
    name: String,
    /// `true` pauses the schedule; `false` resumes it.
    paused: Option<bool>,
    /// Once at this time: `2027-03-28T09:00` in the zone, or with an offset.
    at: Option<String>,
    /// Again after each interval, such as `15m` or `1d`. With `at`: the first time.
    every: Option<String>,
    /// Cron pattern of five fields, such as `0 9 * * 1-5`.
    cron: Option<String>,
    /// Time zone such as `Europe/Oslo`. Default: that of the schedule.
    zone: Option<String>,
    /// Prompt that the agent runs.
    prompt: Option<String>,
    /// Session of the prompt or the message. Default: that of the schedule.
    session: Option<String>,
    /// Message to the running agent.
    message: Option<String>,
    /// Name of the tool to call.
    tool: Option<String>,
    /// Arguments of the tool.
    arguments: Option<Map<String, Value>>,
    /// Occurrences that are late: `skip` them, fire `once`, or fire `all`.
    missed: Option<Missed>,
    /// Number of retries, if they are safe.
    #[arg(range(max = 10))]
    retries: Option<u32>,
    #[arg(default)]
    output: OutputFormat,
}

impl ScheduleTools {
    /// Checks what needs no store, so that no person decides on a call that would fail.
    pub(super) fn check_update(
        &self,
        args: UpdateArguments,
        ctx: &ToolContext,
    ) -> Result<(), ToolError> {
        let UpdateArguments { at, every, cron, zone, .. } = args;
        let UpdateArguments { prompt, session, tool, arguments, message, .. } = args;
        let principal = self.principal(ctx)?;
        let mut problems = Problems::default();
        // The schedule may have another zone, in which a time that has passed here is to come.
        let earlier = (self.clock)().saturating_sub(MAX_ZONE_DIFFERENCE);
        let timing = TimingArguments { at, every, cron, zone };
        timing.check_replacement(&self.zone, earlier.unwrap_or_default(), &mut problems);
        let action = ActionArguments { prompt, session, tool, arguments, message };
        self.with_sessions(&principal, ctx, |sessions| {
            action.check_replacement(sessions, &self.callable, &mut problems);
        });
        problems.check()
    }

    pub(super) async fn update(
        &self,
        args: UpdateArguments,
        ctx: &ToolContext,
    ) -> Result<Rows<ScheduleRow>, ToolError> {
        let UpdateArguments { name, paused, at, every, cron, zone, missed, retries, .. } = args;
        let UpdateArguments { prompt, session, tool, arguments, message, output, .. } = args;
        let principal = self.principal(ctx)?;
        let now = (self.clock)();
        let mut record = self.load(&name, &principal).await?;
        let mut problems = Problems::default();
        let timing = TimingArguments { at, every, cron, zone };
        let current = &record.schedule;
        let timing = (!timing.is_empty())
            .then(|| timing.replacement(&current.timing, &self.zone, now, &mut problems))
            .flatten();
        let action = ActionArguments { prompt, session, tool, arguments, message };
        let action = self.with_sessions(&principal, ctx, |sessions| {
            let is_changed = !action.is_empty();
            is_changed.then(|| {
                action.replacement(&current.action, sessions, &self.callable, &mut problems)
            })
        });
        let action = action.flatten();
        problems.check()?;
        for _ in 0..MAX_SAVES {
            let mut schedule = record.schedule.clone();
            schedule.missed = missed.map_or(schedule.missed, Into::into);
            schedule.max_retries = retries.unwrap_or(schedule.max_retries);
            schedule.action = action.clone().unwrap_or(schedule.action);
            schedule.timing = timing.clone().unwrap_or(schedule.timing);
            let has_failed = record.state == ScheduleState::Failed;
            if timing.is_some() || (has_failed && action.is_some()) {
                record.set_schedule(schedule, now).map_err(|error| invalid(&error))?;
            } else {
                // A change of the action does not skip what is due.
                record.schedule = schedule;
            }
            if action.is_some() || paused == Some(false) {
                record.forget_failures();
            }
            match paused {
                Some(true) => {
                    record.miss_due(now);
                    record.pause();
                }
                // An active schedule continues, so that due occurrences are not lost.
                Some(false) if record.state != ScheduleState::Active => {
                    record.resume(now).map_err(|error| invalid(&error))?;
                }
                _ => {}
            }
            match self.schedules.save(&record).await {
                Ok(_) => return row(&record, output),
                // A scheduler has claimed it, or has saved a result.
                Err(error) if error.is_conflict() => record = self.load(&name, &principal).await?,
                Err(error) => return Err(unavailable(error)),
            }
        }
        Err(busy(&name))
    }
}

fn busy(name: &str) -> ToolError {
    ToolError::transient(format!("The schedule `{name}` is being changed: try again."))
}
