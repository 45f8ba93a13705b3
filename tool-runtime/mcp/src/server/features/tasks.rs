//! Long calls as tasks, by the extension `io.modelcontextprotocol/tasks`.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, ClientCapabilities, CreateTaskResult, GetTaskResult, InputResponses,
};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use tokio::time::{sleep, timeout};
use tool_core::CancellationToken;

use crate::server::call::Invocation;
use crate::server::connection::outbox::Link;
use crate::server::connection::session::lock;
use crate::server::errors::busy;
use crate::server::limits::TIME_TO_END;

/// The time that a cancelled call has to end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The tools whose calls run as tasks, and the limits of these.
///
/// A client that supports the extension `io.modelcontextprotocol/tasks` receives the id of the task
/// at once and polls its state. A task belongs to the principal that started it, and does not
/// survive the process.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::mcp::McpServer;
/// use tool_runtime::mcp::server::Tasks;
/// use tool_runtime::{tool, tools};
///
/// /// Renders a video.
/// #[tool]
/// async fn render(scene: String) -> String {
///     format!("{scene}.mp4")
/// }
///
/// let tasks = Tasks::new().tools(["render"]).lifetime(Duration::from_secs(3600)).max_tasks(50);
/// let server = McpServer::new(tools![render]).tasks(tasks);
/// # let _ = server;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tasks {
    tools: BTreeSet<String>,
    required: BTreeSet<String>,
    after_input: BTreeSet<String>,
    lifetime: Duration,
    max_tasks: usize,
    max_tasks_per_principal: usize,
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new()
    }
}

impl Tasks {
    /// Creates settings without tools.
    pub fn new() -> Self {
        Self {
            tools: BTreeSet::new(),
            required: BTreeSet::new(),
            after_input: BTreeSet::new(),
            lifetime: Duration::from_secs(300),
            max_tasks: 1000,
            max_tasks_per_principal: 100,
        }
    }

    /// Adds tools whose calls run as tasks if the client supports tasks.
    #[must_use]
    pub fn tools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.tools.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds tools whose calls run as tasks, and are refused if the client does not support tasks.
    #[must_use]
    pub fn required_tools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.required.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds tools that [ask](crate::server::InputRequests) before they start: their calls become
    /// tasks once the client has answered. They are refused if the client does not support tasks.
    #[must_use]
    pub fn tools_after_input<N: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        self.after_input.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the time limit of a call, and the time for which its result is kept. Default: 5
    /// minutes. With `Duration::MAX`, there is no limit, and results are never removed.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Sets the maximum number of tasks, including finished ones whose result is kept. Default:
    /// 1000.
    #[must_use]
    pub fn max_tasks(mut self, count: usize) -> Self {
        self.max_tasks = count;
        self
    }

    /// Sets the maximum number of tasks of one principal, or of one address if there is no
    /// authenticator. Default: 100.
    #[must_use]
    pub fn max_tasks_per_principal(mut self, count: usize) -> Self {
        self.max_tasks_per_principal = count;
        self
    }
}

/// The party that started a task.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owner {
    principal: Option<String>,
    /// The address of a client without a principal, which shares the limit with its other clients.
    address: Option<IpAddr>,
}

type Owners = HashMap<String, Owner>;

/// The tasks of a server.
pub(crate) struct TaskStore {
    settings: Tasks,
    manager: TaskManager,
    /// Stops the server.
    server: CancellationToken,
    /// The owner of each task.
    owners: Arc<Mutex<Owners>>,
}

impl TaskStore {
    pub(crate) fn new(settings: Tasks, server: CancellationToken) -> Self {
        Self { settings, manager: TaskManager::new(), server, owners: Arc::default() }
    }

    /// Whether a call runs as a task.
    ///
    /// # Errors
    /// It must, and the client does not support tasks.
    pub(crate) fn applies_to(&self, call: &Invocation) -> Result<bool, ErrorData> {
        let Tasks { tools, required, after_input, .. } = &self.settings;
        let is_in = |names: &BTreeSet<String>| names.iter().any(|it| call.definition.has_name(it));
        let asks_first = is_in(after_input);
        let must = asks_first || is_in(required);
        if !must && !is_in(tools) {
            return Ok(false);
        }
        match call.request.capabilities().supports_tasks() {
            true => Ok(!asks_first || call.is_resumed()),
            false if must => {
                let required = ClientCapabilities::builder().enable_tasks().build();
                Err(ErrorData::missing_required_client_capability(required))
            }
            false => Ok(false),
        }
    }

    /// Starts a call as a task.
    ///
    /// # Errors
    /// There are too many tasks.
    pub(crate) fn start(&self, call: Invocation) -> Result<CallToolResponse, ErrorData> {
        let Tasks { lifetime, max_tasks, max_tasks_per_principal, .. } = self.settings;
        let principal = call.request.principal().map(str::to_owned);
        let address = call.request.address().filter(|_| principal.is_none());
        let owner = Owner { principal, address };
        let mut owners = lock(&self.owners);
        let count = owners.values().filter(|other| **other == owner).count();
        if owners.len() >= max_tasks || count >= max_tasks_per_principal {
            return Err(busy("too many tasks"));
        }
        // A lifetime that has no number of milliseconds has no end.
        let milliseconds = u64::try_from(lifetime.as_millis()).ok();
        let options = TaskOptions::new().with_ttl_ms(milliseconds);
        let server = self.server.clone();
        let task = self.manager.spawn(options, |context| Box::pin(run(call, context, server)));
        owners.insert(task.task_id.clone(), owner);
        drop(owners);
        let forgotten = forget(Arc::downgrade(&self.owners), task.task_id.clone());
        // The manager keeps a task for its lifetime and the result for another one.
        let manager = self.manager.clone();
        tokio::spawn(async move {
            sleep(lifetime.saturating_mul(2)).await;
            forgotten();
            manager.running_task_count();
        });
        Ok(CreateTaskResult::new(task).into())
    }

    pub(crate) fn get(
        &self,
        id: &str,
        principal: Option<&str>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.manager.get_task(self.known_id(id, principal))?;
        Ok(GetTaskResult::new(task))
    }

    pub(crate) fn update(
        &self,
        id: &str,
        answers: InputResponses,
        principal: Option<&str>,
    ) -> Result<(), ErrorData> {
        self.manager.update_task(self.known_id(id, principal), answers)
    }

    pub(crate) fn cancel(&self, id: &str, principal: Option<&str>) -> Result<(), ErrorData> {
        self.manager.cancel_task(self.known_id(id, principal))
    }

    /// Returns the id if the task belongs to the principal, and otherwise an id that is unknown.
    fn known_id<'i>(&self, id: &'i str, principal: Option<&str>) -> &'i str {
        match lock(&self.owners).get(id) {
            Some(owner) if owner.principal.as_deref() == principal => id,
            _ => "",
        }
    }
}

fn forget(owners: Weak<Mutex<Owners>>, id: String) -> impl FnOnce() {
    move || {
        if let Some(owners) = owners.upgrade() {
            lock(&owners).remove(&id);
        }
    }
}

async fn run(
    mut call: Invocation,
    task: TaskContext,
    server: CancellationToken,
) -> Result<rmcp::model::CallToolResult, TaskExit> {
    let cancellation = CancellationToken::new();
    call.request = call.request.of_task(cancellation.clone());
    let link = Link::Task(task.clone());
    let running = call.complete(&link);
    tokio::pin!(running);
    let stopped = async {
        server.cancelled().await;
        sleep(TIME_TO_END).await;
    };
    tokio::select! {
        result = &mut running => return result.map_err(TaskExit::Error),
        () = task.cancelled() => {}
        () = stopped => {}
    }
    cancellation.cancel();
    // Lets the call record its end.
    let _ = timeout(CANCEL_TIMEOUT, running).await;
    Err(TaskExit::Cancelled)
}

impl Drop for TaskStore {
    fn drop(&mut self) {
        self.manager.shutdown();
    }
}

impl fmt::Debug for TaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskStore").field("settings", &self.settings).finish_non_exhaustive()
    }
}
