use std::any::TypeId;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::blocking::Thread;
use super::dispatch::{Batch, Host, Scope};
use super::work::{EndsWork, Live};
use super::{Bill, Extensions, RequiredExtension, Spent, ToolError, ToolErrorKind};
use crate::event::{
    EffectRecord, Event, Observer, Origin, Progress, RunId, ToolEvent, ToolExecution,
};
use crate::json::Fix;
use crate::message::{CallId, Message, ToolCall, ToolResult};
use crate::secret::Redactor;

/// What a tool may know of the call that it serves, and what it may do beside its own work.
///
/// A function takes it as a parameter `ctx: &ToolContext`, at any position; it is no argument
/// and the model never hears of it. `ToolContext::default()` serves a unit test.
///
/// What a tool starts by it ends with the call: [`spawn`](Self::spawn)ed tasks are stopped when the
/// tool returns, fails, is past its time or is cancelled.
pub struct ToolContext {
    call: ToolCall,
    host: Option<Arc<dyn Host>>,
    extensions: Extensions,
    attempts: AtomicU32,
    decoded: OnceLock<Box<Decoded>>,
    /// Made when it is first needed: most tools have nothing going.
    live: OnceLock<Arc<Live>>,
}

/// What came of reading the arguments, where that is more than the text of the call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) fixes: Vec<Fix>,
    /// None where the tool didn't take them.
    pub(crate) json: Option<String>,
}

/// What is left of a context when its call is over.
pub(crate) struct Leftover {
    pub(crate) call: ToolCall,
    pub(crate) decoded: Option<Box<Decoded>>,
    pub(crate) attempts: u32,
    pub(crate) effects: Vec<EffectRecord>,
}

impl ToolContext {
    /// The context of one call.
    #[inline]
    pub fn new(call: ToolCall) -> Self {
        Self {
            call,
            host: None,
            extensions: Extensions::default(),
            attempts: AtomicU32::new(0),
            decoded: OnceLock::new(),
            live: OnceLock::new(),
        }
    }

    /// The context of a call that runs in `host`.
    #[inline]
    pub(crate) fn within(host: Arc<dyn Host>, call: ToolCall) -> Self {
        Self { host: Some(host), ..Self::new(call) }
    }

    /// Gives the tool these values to use.
    #[must_use]
    pub fn with_extensions(mut self, extensions: Extensions) -> Self {
        self.extensions = extensions;
        self
    }

    /// Returns the extension of the type `T` or an error that names the type.
    ///
    /// The program provides extensions with [`Agent::extension`](crate::Agent::extension). Declare
    /// what a tool requires with `#[tool(extensions(T))]`, so that `Agent::check` reports a missing
    /// one at startup.
    ///
    /// # Errors
    /// [`ToolErrorKind::Unavailable`] if there is no extension of this type. The
    /// [source](ToolError::source) names the type for operators. The model only reads that the tool
    /// can't run.
    ///
    /// ```
    /// use tool_runtime::{Extensions, ToolContext, ToolError, tool};
    ///
    /// struct Stock(u32);
    ///
    /// /// Tells how many items are in stock.
    /// #[tool(effect = "read", extensions(Stock))]
    /// async fn in_stock(ctx: &ToolContext) -> Result<u32, ToolError> {
    ///     let Stock(count) = ctx.require()?;
    ///     Ok(*count)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let ctx = ToolContext::default().with_extensions(Extensions::default().with(Stock(7)));
    /// assert_eq!(in_stock(&ctx).await.unwrap(), 7);
    ///
    /// let error = in_stock(&ToolContext::default()).await.unwrap_err();
    /// assert!(error.source().unwrap().to_string().contains("Stock"));
    /// # }
    /// ```
    pub fn require<T: Send + Sync + 'static>(&self) -> Result<&T, ToolError> {
        self.get().ok_or_else(|| self.missing_extension(RequiredExtension::of::<T>()))
    }

    #[cold]
    fn missing_extension(&self, required: RequiredExtension) -> ToolError {
        let name = self.tool_name();
        let text = format!("`{name}` can't run now. Go on without it.");
        let cause = format!(
            "tool `{name}` requires the extension `{}`, which is not set: add it with \
             `Agent::extension` or `Dispatcher::extension`",
            required.type_name()
        );
        ToolError::new(ToolErrorKind::Unavailable, text).with_source(cause)
    }

    /// Returns the extension of the type `T`, if there is one.
    ///
    /// Use [`require`](Self::require) for an extension that the tool can't do without.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.extensions.get().or_else(|| {
            let host = self.host.as_ref()?;
            host.extensions().get().or_else(|| host.get(TypeId::of::<T>())?.downcast_ref())
        })
    }

    /// The call as it came.
    pub(crate) fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The id of the call.
    pub fn call_id(&self) -> &CallId {
        &self.call.id
    }

    /// The name under which the tool was called.
    pub fn tool_name(&self) -> &str {
        &self.call.name
    }

    /// What was repaired on the way from the model's text to the arguments, or would have been.
    pub fn fixes(&self) -> &[Fix] {
        self.decoded.get().map_or(&[], |decoded| decoded.fixes.as_slice())
    }

    /// The run that the call belongs to; 0 outside of runs.
    pub fn run_id(&self) -> RunId {
        self.scope().map_or_else(RunId::default, |scope| scope.origin.run)
    }

    /// How often the model has been asked in this run.
    pub fn turn(&self) -> u32 {
        self.scope().map_or(0, |scope| scope.origin.turn)
    }

    /// The call whose tool made this one.
    pub fn parent(&self) -> Option<&CallId> {
        self.scope()?.origin.parent.as_ref()
    }

    /// All that was said before this call; empty outside of runs.
    pub fn conversation(&self) -> &[Message] {
        let conversation = self.scope().and_then(|scope| scope.conversation.as_ref());
        conversation.map_or(&[], |conversation| conversation.as_slice())
    }

    /// Which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed).max(1)
    }

    /// The same text on each attempt of this call and on no other call's: what a service takes as an
    /// idempotency key, so that it does the work once however often it is asked.
    pub fn idempotency_key(&self) -> String {
        let (turn, id) = (self.turn(), self.call_id());
        // A model may give a call the very id that a call within another one has.
        let depth = match self.scope().map_or(0, |scope| scope.origin.depth) {
            0 => String::new(),
            depth => format!(".{depth}"),
        };
        // Outside of runs ids repeat.
        let run = match self.run_id() {
            none if none == RunId::default() => self.live().stand_in(),
            run => run,
        };
        format!("{run}-{turn}{depth}-{id}")
    }

    /// When this attempt is stopped; none where nothing limits it.
    pub fn deadline(&self) -> Option<Instant> {
        let of_batch = self.scope().and_then(|scope| scope.deadline);
        let of_attempt = self.live.get().and_then(|live| live.deadline());
        [of_batch, of_attempt].into_iter().flatten().min()
    }

    /// Is cancelled when this attempt is over, however it ends: what a thread or a library looks at
    /// that can't be stopped from outside.
    ///
    /// ```
    /// use tool_runtime::{ToolContext, tool};
    ///
    /// /// Looks for a large prime.
    /// #[tool(effect = "none", blocking, timeout = "5s")]
    /// fn prime(above: u64, ctx: &ToolContext) -> Option<u64> {
    ///     let stop = ctx.cancellation();
    ///     let is_prime = |n: &u64| (2..).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    ///     (above + 1..).take_while(|_| !stop.is_cancelled()).find(is_prime)
    /// }
    /// ```
    pub fn cancellation(&self) -> CancellationToken {
        self.live().stop(self.outer_stop())
    }

    /// Runs this beside the tool, until the attempt is over: then it is stopped where it waits, and
    /// the handle gives none.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    ///
    /// ```
    /// use tool_runtime::{ToolContext, ToolError, tool};
    ///
    /// /// Asks both at once.
    /// #[tool(effect = "read")]
    /// async fn both(ctx: &ToolContext) -> Result<u32, ToolError> {
    ///     let (left, right) = (ctx.spawn(async { 1 }), ctx.spawn(async { 2 }));
    ///     Ok(left.await?.unwrap_or(0) + right.await?.unwrap_or(0))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// assert_eq!(both(&ToolContext::default()).await.unwrap(), 3);
    /// # }
    /// ```
    pub fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        self.live().spawn(self.outer_stop(), task)
    }

    /// Tells those who watch how far the work is.
    pub fn progress(&self, progress: Progress) {
        if let Some(scope) = self.scope() {
            scope.tell(|| ToolEvent::Progress { call: self.call.id.clone(), progress });
        }
    }

    /// Notes that something was done to the world: kept also where the call then fails, unlike what
    /// is on its output.
    pub fn record(&self, effect: EffectRecord) {
        if let Some(spent) = self.scope().and_then(|scope| scope.spent.as_ref()) {
            spent.add(Bill::of_effects([&effect]));
        }
        self.live().record(effect);
    }

    /// So much was taken.
    pub(crate) fn record_bill(&self, took: Bill) {
        took.into_effects().for_each(|effect| self.record(effect));
    }

    /// Calls other tools of the same registry, as a model would: with the same permissions, and
    /// events of their own that name this call. One execution for each call, in their order.
    ///
    /// Ids are given out anew. Calls within calls within calls are refused from the eighth on.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn dispatch(&self, mut calls: Vec<ToolCall>) -> Vec<ToolExecution> {
        for (call, number) in calls.iter_mut().zip(self.live().numbers()) {
            call.id = CallId::from(format!("{}/{number}", self.call.id));
        }
        let Some(host) = &self.host else {
            let text = "There are no tools to call here.";
            let code = ToolErrorKind::NotFound.code();
            let none = |call: ToolCall| {
                let result = ToolResult::failure(&call, code, text);
                ToolExecution::new(call, result)
            };
            return calls.into_iter().map(none).collect();
        };
        let (scope, spent) = (host.scope(), Spent::default());
        let batch = Batch {
            calls,
            origin: scope.origin.nested(&self.call.id),
            conversation: scope.conversation.clone(),
            deadline: self.deadline().map(|at| at.saturating_duration_since(Instant::now())),
            ends_run: scope.ends_run && self.deadline() == scope.deadline,
            stop: Some(self.cancellation()),
            spent: Some(spent.clone()),
            ..Batch::default()
        };
        let unheard = Unheard { spent, ctx: self };
        let done = host.dispatch_within(&self.call, batch).await;
        // All that they took stands in what became of them.
        unheard.spent.take();
        let said = done.iter().flat_map(|execution| &execution.effects);
        unheard.spent.add(Bill::of_effects(said));
        done
    }

    /// What the tool goes on from, where the call was [suspended](ToolError::suspended) before.
    pub(crate) fn resumed(&self) -> Option<&Value> {
        self.host.as_ref()?.resumed(&self.call)
    }

    /// Where the call comes from, and who watches, for runs within it.
    pub(crate) fn around(&self) -> Option<(Origin, impl Observer + use<>)> {
        let host = Arc::clone(self.host.as_ref()?);
        let origin = host.scope().origin.clone();
        let pass = move |event: &Event| {
            let scope = host.scope();
            let redactor = scope.redactor.as_ref().map(Redactor::for_nested_agent);
            scope.observers.emit(redactor.as_ref(), || event.clone());
        };
        Some((origin, pass))
    }

    /// The attempt is about to run on a thread of its own.
    pub(super) fn begin_thread(&self) -> Arc<Thread> {
        let left = self.host.as_ref().map(|host| host.left_running().clone());
        let thread = Arc::new(Thread::new(left.unwrap_or_default()));
        self.live().begin_thread(&thread);
        thread
    }

    /// Runs beside the tool what ends by itself when the attempt is over.
    #[cfg(feature = "process")]
    pub(super) fn run_to_its_end<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.live().run_to_its_end(self.outer_stop(), task)
    }

    /// Has the end of the attempt wait a moment for whoever holds this.
    pub(super) fn tracked(&self) -> TaskTrackerToken {
        self.live().tracked(self.outer_stop())
    }

    /// Whether no thread was free for the attempt in its time.
    pub(crate) fn never_began(&self) -> bool {
        self.live.get().is_some_and(|live| live.never_began())
    }

    /// Counts an attempt that begins.
    #[inline]
    pub(crate) fn begin_attempt(&self, deadline: Option<Instant>) {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        if deadline.is_some() || self.live.get().is_some() {
            self.live().begin(deadline);
        }
    }

    pub(crate) fn attempts(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Whether the tool may have something going.
    pub(crate) fn has_work(&self) -> bool {
        self.live.get().is_some()
    }

    /// Ends what the attempt has going; whether it has ended.
    pub(crate) async fn end_attempt(&self) -> bool {
        match self.live.get() {
            None => true,
            Some(live) => live.end().await,
        }
    }

    /// Ends what the call has going when this is dropped.
    #[inline]
    pub(crate) fn ends_work(&self) -> EndsWork<'_> {
        EndsWork(&self.live)
    }

    /// What is left when the call is over.
    #[inline]
    pub(crate) fn into_leftover(mut self) -> Leftover {
        Leftover {
            attempts: self.attempts(),
            effects: self.live.get().map_or_else(Vec::new, |live| live.take_effects()),
            decoded: self.decoded.take(),
            call: self.call,
        }
    }

    /// Notes what decoding made of the arguments. A call is decoded once; a retry repairs the same
    /// text alike.
    pub(crate) fn record_decoded(&self, decoded: impl FnOnce() -> Decoded) {
        self.decoded.get_or_init(|| Box::new(decoded()));
    }

    /// Notes what the tool is given, where somebody looks at it first.
    pub(crate) fn record_decoded_json(&self, json: &str) {
        self.record_decoded(|| Decoded { fixes: Vec::new(), json: Some(json.to_owned()) });
    }

    /// Where in a text secrets stand.
    #[cfg(feature = "process")]
    pub(super) fn secrets_in(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        let redactor = self.scope().and_then(|scope| scope.redactor.as_ref());
        redactor.map(|redactor| redactor.secret_ranges(text)).unwrap_or_default()
    }

    /// Whether a text holds what nobody is to read who watches.
    pub(super) fn holds_secret(&self, text: &str) -> bool {
        let redactor = self.scope().and_then(|scope| scope.redactor.as_ref());
        redactor.is_some_and(|redactor| redactor.contains_secret(text))
    }

    fn scope(&self) -> Option<&Scope> {
        self.host.as_ref().map(|host| host.scope())
    }

    fn outer_stop(&self) -> Option<&CancellationToken> {
        self.scope()?.stop.as_ref()
    }

    fn live(&self) -> &Arc<Live> {
        self.live.get_or_init(Arc::default)
    }
}

/// What calls of a tool took counts as its own, also where the tool doesn't see their end.
struct Unheard<'c> {
    spent: Spent,
    ctx: &'c ToolContext,
}

impl Drop for Unheard<'_> {
    fn drop(&mut self) {
        self.ctx.record_bill(self.spent.take());
    }
}

/// A clone shares what the call has going: it is for a thread that serves the same call.
impl Clone for ToolContext {
    fn clone(&self) -> Self {
        Self {
            call: self.call.clone(),
            host: self.host.clone(),
            extensions: self.extensions.clone(),
            attempts: AtomicU32::new(self.attempts()),
            decoded: self.decoded.clone(),
            live: OnceLock::from(Arc::clone(self.live())),
        }
    }
}

/// Without the arguments, some of which may be secret.
impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("call", &self.call.id)
            .field("tool", &self.call.name)
            .finish_non_exhaustive()
    }
}

impl Default for ToolContext {
    fn default() -> Self {
        Self::new(ToolCall::new("call", "tool", ""))
    }
}
