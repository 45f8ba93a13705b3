//! Tools whose bodies are scripts in JavaScript.
//!
//! # The path of a call
//! 1. `script_tool.rs` moves the call to a separate thread (`threads.rs`).
//! 2. `engine.rs` creates a fresh context, and parses the body separately, so that the body can't
//!    end its function. `guards.js` replaces built-in functions that can't be interrupted.
//!    `bootstrap.js` adds the console, `call_tool` and `fetch`.
//! 3. The body runs until it returns or waits for calls (`host_call.rs`). `host.rs` dispatches
//!    those of tools as one batch of nested calls, under the policy of the run, and `fetch.rs`
//!    sends requests through the guarded client of the program. Then the body continues.
//! 4. The output becomes text or JSON. An exception becomes a text with the line of the body
//!    (`exception.rs`, `error.rs`), and advice if a name does not exist (`advice.rs`).
//!
//! # Invariants
//! - A script reaches nothing but its arguments, the console, the tools that its spec names, and
//!   the network if it declares that and the program has a client for it.
//! - Every call ends: `watch.rs` stops running code, and a script that waits for nothing fails. A
//!   thread that can't be stopped is left behind and counts as running.
//! - Memory, stack, output, console, and the number and size of calls are limited (`limits.rs`).

mod advice;
mod console;
mod engine;
mod error;
mod exception;
#[cfg(feature = "fetch")]
mod fetch;
mod host;
mod host_call;
mod limits;
mod script_tool;
mod threads;
mod watch;

use std::sync::Arc;

use tool_core::{Tool, ToolError, async_trait};

use crate::backend::ToolBackend;
use crate::spec::{BodyLanguage, CheckedSpec};
use host::Host;
use threads::Threads;

/// The capability to send requests over the network.
#[cfg(feature = "fetch")]
const NETWORK: &str = "network";

/// The default of [`JavaScript::max_concurrent`].
const MAX_RUNNING: usize = 64;

/// Makes tools whose bodies are scripts in JavaScript.
///
/// A body is the body of an async function with the parameter `args`. It can use the language with
/// its built-in objects, `console`, and `call_tool(name, args)` if its spec names tools. It has no
/// access to files, processes or timers, and to the network only through a client that the program
/// gives it (feature `fetch`). Each call runs in a fresh context of
/// [QuickJS](https://github.com/quickjs-ng/quickjs) with limits of time and memory, on a separate
/// thread. Clones share the [limit of running scripts](Self::max_concurrent).
///
/// ```
/// use tool_runtime::dynamic::{
///     ArgumentField, ArgumentType, BodyLanguage, JavaScript, ToolBackend, ToolSpec,
/// };
/// use tool_runtime::{Effect, ToolContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let body = "return args.text.split(' ').length;";
/// let spec = ToolSpec::new(BodyLanguage::JavaScript, "count_words", "Counts words.", body)
///     .effect(Effect::None)
///     .field(ArgumentField::new("text", ArgumentType::String))
///     .check()?;
/// let tool = JavaScript::new().build(&spec).await.map_err(|error| error.to_string())?;
/// let output = tool.call(r#"{"text": "a b c"}"#.into(), &ToolContext::default()).await;
/// assert_eq!(output.unwrap().as_text(), "3");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct JavaScript {
    threads: Arc<Threads>,
    #[cfg(feature = "fetch")]
    web: Option<tool_web::Web>,
}

impl JavaScript {
    /// Creates a backend whose scripts can compute and call tools.
    pub fn new() -> Self {
        Self {
            threads: Arc::new(Threads::new(MAX_RUNNING)),
            #[cfg(feature = "fetch")]
            web: None,
        }
    }

    /// Limits how many scripts run at the same time, including those that wait for calls. A further
    /// call fails at once, with a transient error. Default: 64.
    ///
    /// ```
    /// use tool_runtime::dynamic::JavaScript;
    ///
    /// let scripts = JavaScript::new().max_concurrent(8);
    /// # drop(scripts);
    /// ```
    #[must_use]
    pub fn max_concurrent(mut self, limit: usize) -> Self {
        self.threads = Arc::new(Threads::new(limit));
        self
    }

    /// Gives `fetch` to bodies whose specs declare the capability `network`, under the rules of
    /// this client: by default, only public addresses are contacted.
    ///
    /// `DynamicTools::grant` lets models declare the capability, and a call runs only if the policy
    /// grants it. A tool with the effect `read` sends GET and HEAD requests only.
    ///
    /// ```
    /// use tool_runtime::dynamic::{JavaScript, ToolBackend};
    /// use tool_runtime::web::Web;
    ///
    /// let scripts = JavaScript::new().web(Web::new());
    /// assert_eq!(scripts.capabilities(), ["network"]);
    /// ```
    #[cfg(feature = "fetch")]
    #[must_use]
    pub fn web(mut self, web: tool_web::Web) -> Self {
        self.web = Some(web);
        self
    }

    /// Returns what the tool of this spec can reach.
    #[cfg(feature = "fetch")]
    fn host(&self, spec: &CheckedSpec) -> Host {
        let web = self.web.clone().filter(|_| spec.has_capability(NETWORK));
        let effect = spec.spec().effect;
        Host { client: web.map(|web| fetch::Client { web, effect }) }
    }
}

impl Default for JavaScript {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl ToolBackend for JavaScript {
    fn language(&self) -> BodyLanguage {
        BodyLanguage::JavaScript
    }

    #[cfg(feature = "fetch")]
    fn capabilities(&self) -> Vec<String> {
        self.web.iter().map(|_| NETWORK.to_owned()).collect()
    }

    async fn build(&self, spec: &CheckedSpec) -> Result<Arc<dyn Tool>, ToolError> {
        #[cfg(feature = "fetch")]
        let host = self.host(spec);
        #[cfg(not(feature = "fetch"))]
        let host = Host::default();
        script_tool::script_tool(spec, &self.threads, host).await
    }
}
