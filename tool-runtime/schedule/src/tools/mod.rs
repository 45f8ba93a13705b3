//! The tools, as a model sees them.

mod arguments;
mod rows;

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tool_core::records::{Expected, Position, StoreError};
use tool_core::{OutputFormat, RunContext, ToolContext, ToolError, ToolErrorKind, tool};

use crate::definition::Schedule;
use crate::list::ScheduleQuery;
use crate::record::{ScheduleRecord, ScheduleState};
use crate::scheduler::executor::PRINCIPAL;
use crate::schedules::{Schedules, key};
use arguments::{ActionArguments, Missed, Problems, Sessions, TimingArguments};
use rows::ScheduleRow;
use tool_core::__workspace::Rows;

/// The most attempts to save a record that others change at the same time.
const MAX_SAVES: u32 = 20;

/// The most schedules of a page.
const PAGE: usize = 100;

type PrincipalOf = dyn Fn(&RunContext<'_>) -> Option<String> + Send + Sync;

/// Returns whether a principal may use a session, by their names.
type MayUse = dyn Fn(&str, &str) -> bool + Send + Sync;

/// Tools with which a model schedules prompts, messages and tool calls.
///
/// | tool | what it does |
/// |---|---|
/// | `schedule_create` | creates a schedule, and returns its next occurrences |
/// | `schedule_list` | lists the schedules with their states |
/// | `schedule_update` | changes, pauses or resumes a schedule |
/// | `schedule_delete` | deletes a schedule |
///
/// `schedule_list` only reads. The others ask for an approval, unless the policy
/// [allows](tool_core::dispatch::Permissions::tool) them: the text of a scheduled prompt or
/// message later has the authority of a user message.
///
/// A schedule belongs to the principal of the run that creates it, fires with the rights of this
/// principal, and is invisible to runs of others. A model can't name a principal. Prompts and
/// messages go to the session of the run, unless the program [allows](Self::sessions) others. Calls
/// of tools can't be scheduled, except for those that are [named](Self::callable).
///
/// ```
/// use tool_runtime::dispatch::Permissions;
/// use tool_runtime::records::MemoryRecords;
/// use tool_runtime::schedule::ScheduleTools;
/// use tool_runtime::{Dispatcher, Permission, Policy, Registry, ToolCall, tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let now = "2027-03-26T12:00:00Z".parse()?;
/// let tools = ScheduleTools::new(MemoryRecords::new(), "ada")
///     .zone("Europe/Oslo")
///     .sessions(|principal, session| session == principal)
///     .clock(move || now);
/// let allowed = Permissions::default().tool("schedule_create", Permission::Allow);
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![..tools])?)
///     .policy(Policy::new().permissions(allowed));
/// let arguments = r#"{"name": "mail", "cron": "0 9 * * *", "prompt": "Summarize my mail.",
///     "session": "ada"}"#;
/// let executions =
///     dispatcher.dispatch(vec![ToolCall::new("1", "schedule_create", arguments)]).await;
/// assert_eq!(
///     executions[0].result.text,
///     "name: mail | state: active | times: cron 0 9 * * * in Europe/Oslo | \
///      action: prompt \"Summarize my mail.\" in session ada | \
///      next: 2027-03-27 Sat 09:00:00 +01:00, 2027-03-28 Sun 09:00:00 +02:00, \
///      2027-03-29 Mon 09:00:00 +02:00 | fired: 0 | failed: 0 | missed: 0",
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ScheduleTools {
    schedules: Schedules,
    principal: Arc<PrincipalOf>,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    zone: String,
    callable: Vec<String>,
    may_use: Arc<MayUse>,
    max_schedules: usize,
}

impl ScheduleTools {
    /// Creates the tools for a program with one principal.
    pub fn new(store: impl Into<Schedules>, principal: impl Into<String>) -> Self {
        let principal = principal.into();
        Self::for_principals(store, move |_| Some(principal.clone()))
    }

    /// Creates the tools for a program with many principals: the metadata
    /// [`principal`](PRINCIPAL) of a run names its principal. A run without it can't use the
    /// tools.
    ///
    /// ```
    /// use tool_runtime::agent::Prompt;
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::schedule::{PRINCIPAL, ScheduleTools};
    ///
    /// let tools = ScheduleTools::from_metadata(MemoryRecords::new());
    /// let prompt = Prompt::from("Remind me at nine.").metadata(PRINCIPAL, "ada");
    /// ```
    pub fn from_metadata(store: impl Into<Schedules>) -> Self {
        Self::for_principals(store, |run| {
            let principal = run.metadata().get(PRINCIPAL)?.as_str()?;
            (!principal.is_empty()).then(|| principal.to_owned())
        })
    }

    fn for_principals(
        store: impl Into<Schedules>,
        principal: impl Fn(&RunContext<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            schedules: store.into(),
            principal: Arc::new(principal),
            clock: Arc::new(Timestamp::now),
            zone: "UTC".into(),
            callable: Vec::new(),
            may_use: Arc::new(|_, _| false),
            max_schedules: 100,
        }
    }

    /// Sets the time zone of local times, such as `Europe/Oslo`. Default: UTC.
    #[must_use]
    pub fn zone(self, name: impl Into<String>) -> Self {
        Self { zone: name.into(), ..self }
    }

    /// Sets the tools whose calls can be scheduled. Default: none.
    ///
    /// A scheduled call runs with the rights of the principal. Name a tool only if every run that
    /// is offered `schedule_create` may also call that tool directly.
    #[must_use]
    pub fn callable(self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { callable: tools.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets the function that decides whether a principal may use a session, by their names.
    /// Default: only the session of the run that creates the schedule.
    ///
    /// A scheduled prompt continues the conversation of its session, and its answer may quote it.
    /// If several principals share a store of sessions, allow only those of the principal.
    ///
    /// ```
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::schedule::ScheduleTools;
    ///
    /// let tools = ScheduleTools::from_metadata(MemoryRecords::new());
    /// let tools = tools.sessions(|principal, session| {
    ///     session.split_once('/').is_some_and(|(owner, _)| owner == principal)
    /// });
    /// ```
    #[must_use]
    pub fn sessions(self, may_use: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Self {
        Self { may_use: Arc::new(may_use), ..self }
    }

    /// Sets the maximum number of schedules of a principal that the tools create. Default: 100.
    #[must_use]
    pub fn max_schedules(self, schedules: usize) -> Self {
        Self { max_schedules: schedules, ..self }
    }

    /// Sets the function that returns the current time. Default: the clock of the system.
    #[must_use]
    pub fn clock(self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    fn principal(&self, ctx: &ToolContext) -> Result<String, ToolError> {
        (self.principal)(&ctx.run_context()).ok_or_else(|| {
            let text = "Schedules are not available here: the run has no principal.";
            ToolError::new(ToolErrorKind::Denied, text)
        })
    }

    /// Returns whether the principal has a schedule of this name, which may be one that can't be
    /// decoded.
    async fn exists(&self, name: &str, principal: &str) -> Result<bool, ToolError> {
        match self.schedules.load(principal, name).await {
            Ok(record) => Ok(record.is_some()),
            Err(StoreError::Corrupt { .. }) => Ok(true),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Loads a schedule of the principal.
    async fn load(&self, name: &str, principal: &str) -> Result<ScheduleRecord, ToolError> {
        match self.schedules.load(principal, name).await {
            Ok(Some(record)) => Ok(record),
            Ok(None) => Err(self.missing(name, principal).await),
            Err(StoreError::Corrupt { .. }) => {
                let text = format!(
                    "The schedule `{name}` can't be read: it is damaged, or a newer version of the \
                     program wrote it. Ask before you delete it."
                );
                Err(ToolError::new(ToolErrorKind::ExecutionFailed, text))
            }
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Returns the error for a name that the principal has no schedule of.
    async fn missing(&self, name: &str, principal: &str) -> ToolError {
        let query = ScheduleQuery::all().principal(principal).limit(PAGE);
        let list = match self.schedules.list(query).await {
            Ok(list) => list,
            Err(error) => return unavailable(error),
        };
        let names: Vec<_> = list.records.iter().map(|it| it.schedule.name.as_str()).collect();
        let advice = match names.as_slice() {
            [] => "there are no schedules".to_owned(),
            names => format!("the schedules are `{}`", names.join("`, `")),
        };
        let text = format!("There is no schedule `{name}`: {advice}.");
        ToolError::new(ToolErrorKind::ExecutionFailed, text)
    }
}

impl fmt::Debug for ScheduleTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduleTools").field("schedules", &self.schedules).finish_non_exhaustive()
    }
}

#[tool]
impl ScheduleTools {
    /// Schedules a prompt, a message or a tool call, and returns its next times. Send a time (`at`,
    /// `every` or `cron`) and an action (`prompt`, `message` or `tool`).
    #[expect(clippy::too_many_arguments, reason = "arguments of the model")]
    #[tool(effect = "write", permission = "ask", timeout = "30s")]
    async fn schedule_create(
        &self,
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
        #[arg(default)] output: OutputFormat,
        ctx: &ToolContext,
    ) -> Result<Rows<ScheduleRow>, ToolError> {
        let principal = self.principal(ctx)?;
        let now = (self.clock)();
        let mut problems = Problems::default();
        problems.check_name(&name);
        let timing = TimingArguments { at, every, cron, zone };
        let timing = timing.timing(&self.zone, now, &mut problems);
        let action = ActionArguments { prompt, session, tool, arguments, message };
        let run = ctx.run_context();
        let is_allowed = |session: &str| (self.may_use)(&principal, session);
        let sessions = Sessions { of_run: run.session(), is_allowed: &is_allowed };
        let action = action.action(&sessions, &self.callable, &mut problems);
        if self.exists(&name, &principal).await? {
            problems.push(name_exists(&name));
        }
        let query = ScheduleQuery::all().principal(&principal).limit(self.max_schedules);
        let list = self.schedules.list(query).await.map_err(unavailable)?;
        let count = list.records.len() + list.corrupt.len();
        if count >= self.max_schedules {
            problems.push(format!("There are {count} schedules already: delete one first."));
        }
        problems.check()?;
        let (Some(timing), Some(action)) = (timing, action) else {
            return Err(ToolError::validation("the arguments are incomplete"));
        };
        let mut schedule = Schedule::new(name, timing, action, principal).max_retries(retries);
        schedule.missed = missed.map(Into::into).unwrap_or_default();
        let record = ScheduleRecord::new(schedule, now).map_err(|error| invalid(&error))?;
        match self.schedules.save(&record).await {
            Ok(_) => row(&record, output),
            // Another run has created it meanwhile.
            Err(error) if error.is_conflict() => {
                Err(ToolError::validation(name_exists(&record.schedule.name)))
            }
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Lists the schedules with their state, their next times and their last outcome.
    #[tool(effect = "read", timeout = "30s")]
    async fn schedule_list(
        &self,
        /// Name after which to continue the list.
        after: Option<String>,
        #[arg(default)] output: OutputFormat,
        ctx: &ToolContext,
    ) -> Result<Rows<ScheduleRow>, ToolError> {
        let principal = self.principal(ctx)?;
        let after = after.map(|name| Position::new(key(&principal, &name), None));
        let query = ScheduleQuery::all().principal(&principal).after(after).limit(PAGE + 1);
        let list = self.schedules.list(query).await.map_err(unavailable)?;
        let beginning = key(&principal, "");
        let corrupt = list.corrupt.iter().map(|it| {
            let name = it.key.strip_prefix(&beginning).unwrap_or(&it.key);
            ScheduleRow::corrupt(name, &it.reason)
        });
        let mut rows: Vec<_> = list.records.iter().map(ScheduleRow::new).chain(corrupt).collect();
        rows.sort_by(|left, right| left.name().cmp(right.name()));
        let count = rows.len() as u64;
        rows.truncate(PAGE);
        let advice = rows.last().map(|it| format!("send `after`: `{}`", it.name()));
        Rows::new(output, rows, count, &advice.unwrap_or_default())
    }

    /// Changes, pauses or resumes a schedule. What is left out stays; a new time replaces the time,
    /// and a new action the action. Both resume a failed schedule.
    #[expect(clippy::too_many_arguments, reason = "arguments of the model")]
    #[tool(effect = "write", permission = "ask", timeout = "30s")]
    async fn schedule_update(
        &self,
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
        #[arg(default)] output: OutputFormat,
        ctx: &ToolContext,
    ) -> Result<Rows<ScheduleRow>, ToolError> {
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
        let run = ctx.run_context();
        let is_allowed = |session: &str| (self.may_use)(&principal, session);
        let sessions = Sessions { of_run: run.session(), is_allowed: &is_allowed };
        let (sessions, callable) = (&sessions, &self.callable);
        let action = (!action.is_empty())
            .then(|| action.replacement(&current.action, sessions, callable, &mut problems))
            .flatten();
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

    /// Deletes a schedule. What it is doing at the moment continues.
    #[tool(effect = "write", permission = "ask", timeout = "30s")]
    async fn schedule_delete(
        &self,
        /// Name of the schedule.
        name: String,
        ctx: &ToolContext,
    ) -> Result<String, ToolError> {
        let principal = self.principal(ctx)?;
        if !self.exists(&name, &principal).await? {
            return Err(self.missing(&name, &principal).await);
        }
        let deleted = self.schedules.delete(&principal, &name, Expected::Any).await;
        deleted.map_err(unavailable)?;
        Ok(format!("Deleted the schedule `{name}`."))
    }
}

fn row(record: &ScheduleRecord, format: OutputFormat) -> Result<Rows<ScheduleRow>, ToolError> {
    Rows::new(format, vec![ScheduleRow::new(record)], 1, "")
}

fn name_exists(name: &str) -> String {
    format!("`name`: `{name}` exists already; use another name.")
}

fn unavailable(error: StoreError) -> ToolError {
    let text = "The schedules are not available at the moment.";
    ToolError::new(ToolErrorKind::Unavailable, text).with_source(error)
}

fn invalid(error: &crate::TimingError) -> ToolError {
    ToolError::validation(format!("{error}."))
}

fn busy(name: &str) -> ToolError {
    ToolError::transient(format!("The schedule `{name}` is being changed: try again."))
}
