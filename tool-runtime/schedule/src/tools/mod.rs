//! The tools, as a model sees them.

mod arguments;
mod create;
mod rows;
mod update;

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use tool_core::records::{Expected, Position, StoreError};
use tool_core::{OutputFormat, RunContext, ToolContext, ToolError, ToolErrorKind, tool};

use crate::list::ScheduleQuery;
use crate::record::ScheduleRecord;
use crate::scheduler::attempt::PRINCIPAL;
use crate::schedules::{Schedules, key};
use arguments::Sessions;
use create::CreateArguments;
use rows::ScheduleRow;
use tool_core::__workspace::Rows;
use update::UpdateArguments;

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

    /// Passes the sessions that the run may schedule prompts and messages for.
    fn with_sessions<T>(
        &self,
        principal: &str,
        ctx: &ToolContext,
        read: impl FnOnce(&Sessions<'_>) -> T,
    ) -> T {
        let run = ctx.run_context();
        let is_allowed = |session: &str| (self.may_use)(principal, session);
        read(&Sessions { of_run: run.session(), is_allowed: &is_allowed })
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
    #[tool(effect = "write", permission = "ask", timeout = "30s", check = Self::check_create)]
    async fn schedule_create(
        &self,
        args: CreateArguments,
        ctx: &ToolContext,
    ) -> Result<Rows<ScheduleRow>, ToolError> {
        self.create(args, ctx).await
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
    #[tool(effect = "write", permission = "ask", timeout = "30s", check = Self::check_update)]
    async fn schedule_update(
        &self,
        args: UpdateArguments,
        ctx: &ToolContext,
    ) -> Result<Rows<ScheduleRow>, ToolError> {
        self.update(args, ctx).await
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

fn unavailable(error: StoreError) -> ToolError {
    let text = "The schedules are not available at the moment.";
    ToolError::new(ToolErrorKind::Unavailable, text).with_source(error)
}

fn invalid(error: &crate::TimingError) -> ToolError {
    ToolError::invalid_arguments(format!("{error}."))
}
