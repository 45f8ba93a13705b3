//! Creates a schedule.

use jiff::Timestamp;
use serde_json::{Map, Value};
use tool_core::__workspace::Rows;
use tool_core::{OutputFormat, ToolContext, ToolError, args};

use super::arguments::{ActionArguments, Missed, Problems, TimingArguments};
use super::rows::ScheduleRow;
use super::{ScheduleTools, invalid, row, unavailable};
use crate::definition::Schedule;
use crate::list::ScheduleQuery;
use crate::record::ScheduleRecord;

#[args]
pub(crate) struct CreateArguments {
    /// Unique name of the schedule.
    name: String,
    /// Once at this time: `2027-03-28T09:00` in the zone, or with an offset.
    at: Option<String>,
    /// Again after each interval, such as `15m` or `1d`. With `at`: the first time.
    every: Option<String>,
    /// Cron pattern of five fields, such as `0 9 * * 1-5`.
    cron: Option<String>,
    /// Time zone such as `Europe/Oslo`.
    zone: Option<String>,
    /// Prompt that the agent runs.
    prompt: Option<String>,
    /// Session of the prompt or the message. Default: this one.
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
    #[arg(default = 0, range(max = 10))]
    retries: u32,
    #[arg(default)]
    output: OutputFormat,
}

impl ScheduleTools {
    /// Checks what needs no store, so that no person decides on a call that would fail.
    pub(super) fn check_create(
        &self,
        args: CreateArguments,
        ctx: &ToolContext,
    ) -> Result<(), ToolError> {
        self.read(args, (self.clock)(), ctx).map(drop)
    }

    /// Reads the arguments, or returns everything that is wrong with them.
    fn read(
        &self,
        args: CreateArguments,
        now: Timestamp,
        ctx: &ToolContext,
    ) -> Result<Schedule, ToolError> {
        let CreateArguments { name, at, every, cron, zone, missed, retries, .. } = args;
        let CreateArguments { prompt, session, tool, arguments, message, .. } = args;
        let principal = self.principal(ctx)?;
        let mut problems = Problems::default();
        problems.check_name(&name);
        let timing = TimingArguments { at, every, cron, zone };
        let timing = timing.timing(&self.zone, now, &mut problems);
        let action = ActionArguments { prompt, session, tool, arguments, message };
        let action = self.with_sessions(&principal, ctx, |sessions| {
            action.action(sessions, &self.callable, &mut problems)
        });
        problems.check()?;
        let (Some(timing), Some(action)) = (timing, action) else {
            return Err(ToolError::invalid_arguments("the arguments are incomplete"));
        };
        let mut schedule = Schedule::new(name, timing, action, principal).max_retries(retries);
        schedule.missed = missed.map(Into::into).unwrap_or_default();
        Ok(schedule)
    }

    pub(super) async fn create(
        &self,
        args: CreateArguments,
        ctx: &ToolContext,
    ) -> Result<Rows<ScheduleRow>, ToolError> {
        let (now, output) = ((self.clock)(), args.output);
        let schedule = self.read(args, now, ctx)?;
        let Schedule { name, principal, .. } = &schedule;
        let mut problems = Problems::default();
        if self.exists(name, principal).await? {
            problems.push(name_exists(name));
        }
        let query = ScheduleQuery::all().principal(principal).limit(self.max_schedules);
        let list = self.schedules.list(query).await.map_err(unavailable)?;
        let count = list.records.len() + list.corrupt.len();
        if count >= self.max_schedules {
            problems.push(format!("There are {count} schedules already: delete one first."));
        }
        problems.check()?;
        let record = ScheduleRecord::new(schedule, now).map_err(|error| invalid(&error))?;
        match self.schedules.save(&record).await {
            Ok(_) => row(&record, output),
            // Another run has created it meanwhile.
            Err(error) if error.is_conflict() => {
                Err(ToolError::invalid_arguments(name_exists(&record.schedule.name)))
            }
            Err(error) => Err(unavailable(error)),
        }
    }
}

fn name_exists(name: &str) -> String {
    format!("`name`: `{name}` exists already; use another name.")
}
