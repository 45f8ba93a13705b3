//! One run of a script in a fresh context, without IO: the caller executes the calls of tools.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Exception, Function, Module, Persistent, Promise, Runtime, Value};

use super::console::Console;
use super::error::ScriptError;
use super::exception::script_error;
#[cfg(feature = "fetch")]
use super::host_call::FetchRequest;
use super::host_call::{HostCall, HostRequest, HostResult};
use super::limits::{
    MAX_CALL_BYTES, MAX_CALLS, MAX_CONSOLE_BYTES, MAX_MEMORY_BYTES, MAX_OUTPUT_BYTES,
    MAX_STACK_BYTES,
};
use super::watch::Watch;

const GUARDS: &str = include_str!("guards.js");
const BOOTSTRAP: &str = include_str!("bootstrap.js");

/// The output of a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Output {
    Nothing,
    Text(String),
    Json(String),
}

/// The state of a script that can't continue by itself.
pub(super) enum Progress {
    Returned(Output),
    Waits(Vec<HostCall>),
}

/// The calls that a script has made.
#[derive(Default)]
struct Requests {
    count: u32,
    waiting: Vec<HostCall>,
}

impl Requests {
    /// Adds a request, and returns its id.
    fn add(&mut self, ctx: &Ctx<'_>, request: HostRequest) -> rquickjs::Result<u32> {
        if self.count == MAX_CALLS {
            let text = format!("a script makes at most {MAX_CALLS} calls");
            return Err(Exception::throw_range(ctx, &text));
        }
        self.count += 1;
        self.waiting.push(HostCall { id: self.count, request });
        Ok(self.count)
    }
}

/// The functions that a body has beside the language.
pub(super) struct Reach<'a> {
    /// The tools that it can call.
    pub(super) tools: &'a [String],
    /// Whether it can send requests over the network.
    #[cfg(feature = "fetch")]
    pub(super) fetches: bool,
}

/// The context of one run.
pub(super) struct Engine {
    // Values of the context are dropped before it, and the context before its runtime.
    function: Persistent<Function<'static>>,
    settle: Persistent<Function<'static>>,
    /// Converts a value to JSON, and can be interrupted at each item.
    stringify: Persistent<Function<'static>>,
    promise: Option<Persistent<Promise<'static>>>,
    context: Context,
    runtime: Runtime,
    requests: Rc<RefCell<Requests>>,
    console: Rc<RefCell<Console>>,
    watch: Rc<Watch>,
    line_count: usize,
}

impl Engine {
    /// Parses a body. Nothing of it runs.
    pub(super) fn new(body: &str, reach: &Reach<'_>, watch: Watch) -> Result<Self, ScriptError> {
        let runtime = Runtime::new().map_err(|_| ScriptError::OutOfMemory)?;
        runtime.set_memory_limit(MAX_MEMORY_BYTES);
        runtime.set_max_stack_size(MAX_STACK_BYTES);
        let watch = Rc::new(watch);
        let interrupt = Rc::clone(&watch);
        runtime.set_interrupt_handler(Some(Box::new(move || interrupt.stop().is_some())));
        let context = Context::full(&runtime).map_err(|_| ScriptError::OutOfMemory)?;
        let requests = Rc::<RefCell<Requests>>::default();
        let console = Rc::<RefCell<Console>>::default();
        let line_count = body.lines().count();
        let (function, settle, stringify) = context.with(|ctx| {
            let tools = reach.tools;
            let request = request_function(&ctx, Rc::clone(&requests), tools.to_vec());
            #[cfg(feature = "fetch")]
            let fetch = reach.fetches.then(|| fetch_function(&ctx, Rc::clone(&requests)));
            #[cfg(not(feature = "fetch"))]
            let fetch = None::<rquickjs::Result<Function<'_>>>;
            let log = log_function(&ctx, Rc::clone(&console));
            let parse = || -> rquickjs::Result<_> {
                ctx.eval::<(), _>(GUARDS)?;
                let bootstrap: Function<'_> = ctx.eval(BOOTSTRAP)?;
                // With strict rules, an undeclared variable is an error.
                let body = format!("'use strict';{body}");
                parse_as_unit(&ctx, &body)?;
                let parts = bootstrap.call::<_, Vec<Function<'_>>>((
                    request?,
                    fetch.transpose()?,
                    log?,
                    !tools.is_empty(),
                    body,
                ))?;
                let [function, settle, stringify] =
                    <[_; 3]>::try_from(parts).map_err(|_| rquickjs::Error::Unknown)?;
                let save = |function| Persistent::save(&ctx, function);
                Ok((save(function), save(settle), save(stringify)))
            };
            parse().map_err(|error| failure(&ctx, &watch, error, line_count))
        })?;
        Ok(Self {
            function,
            settle,
            stringify,
            promise: None,
            context,
            runtime,
            requests,
            console,
            watch,
            line_count,
        })
    }

    /// Calls the body with arguments, which are JSON.
    pub(super) fn start(&mut self, arguments: &str) -> Result<(), ScriptError> {
        let promise = self.context.with(|ctx| {
            let call = || -> rquickjs::Result<_> {
                let arguments = ctx.json_parse(arguments)?;
                let promise =
                    self.function.clone().restore(&ctx)?.call::<_, Promise<'_>>((arguments,))?;
                Ok(Persistent::save(&ctx, promise))
            };
            call().map_err(|error| failure(&ctx, &self.watch, error, self.line_count))
        })?;
        self.promise = Some(promise);
        Ok(())
    }

    /// Runs the script until it returns or waits for calls.
    pub(super) fn advance(&mut self) -> Result<Progress, ScriptError> {
        loop {
            if let Some(stop) = self.watch.stop() {
                return Err(ScriptError::Stopped(stop));
            }
            match self.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => break,
                // The promise of the body reports what matters of it.
                Err(error) => _ = error.0.with(|ctx| ctx.catch().is_null()),
            }
        }
        let Some(promise) = self.promise.clone() else { return Err(ScriptError::NeverResolves) };
        let settled = self.context.with(|ctx| {
            let promise = promise.restore(&ctx).ok()?;
            if promise.state() == PromiseState::Pending {
                return None;
            }
            let value = promise.result::<Value<'_>>()?;
            let stringify = self.stringify.clone().restore(&ctx);
            let output = value.and_then(|value| output(value, &stringify?));
            Some(output.map_err(|error| failure(&ctx, &self.watch, error, self.line_count)))
        });
        match settled {
            Some(output) => {
                let output = output??;
                match self.watch.stop() {
                    Some(stop) => Err(ScriptError::Stopped(stop)),
                    None => Ok(Progress::Returned(output)),
                }
            }
            None => match std::mem::take(&mut self.requests.borrow_mut().waiting) {
                calls if calls.is_empty() => Err(ScriptError::NeverResolves),
                calls => Ok(Progress::Waits(calls)),
            },
        }
    }

    /// Resolves or rejects the promise of a call.
    pub(super) fn settle(&mut self, id: u32, result: HostResult) -> Result<(), ScriptError> {
        self.context.with(|ctx| {
            let settle = || -> rquickjs::Result<()> {
                let settle = self.settle.clone().restore(&ctx)?;
                match result {
                    HostResult::Json(json) => settle.call((id, true, ctx.json_parse(json)?)),
                    HostResult::Text(text) => settle.call((id, true, text)),
                    HostResult::Error(text) => settle.call((id, false, text)),
                }
            };
            settle().map_err(|error| failure(&ctx, &self.watch, error, self.line_count))
        })
    }

    /// Returns the text that the body wrote to the console.
    pub(super) fn console(&self) -> String {
        self.console.borrow().text().to_owned()
    }

    pub(super) fn watch(&self) -> &Watch {
        &self.watch
    }
}

/// The reason of a stop takes precedence, because the exception of an interrupt lacks it.
fn failure(ctx: &Ctx<'_>, watch: &Watch, error: rquickjs::Error, line_count: usize) -> ScriptError {
    let error = script_error(ctx, error, line_count);
    watch.stop().map_or(error, ScriptError::Stopped)
}

/// Checks that a body does not end its function.
///
/// The constructor of functions accepts a body that closes its function, continues with other code,
/// and opens another function. After a function in a list, only a comma or the end can follow;
/// after one that is a statement, neither can. So no such body is valid in both. A declared module
/// is parsed and does not run.
fn parse_as_unit(ctx: &Ctx<'_>, body: &str) -> rquickjs::Result<()> {
    for (start, end) in [("[async (args) =>", "]"), ("async function body(args)", "")] {
        let unit = format!("{start}\n{{\n{body}\n}}{end}");
        Module::declare(ctx.clone(), "<input>", unit)?;
    }
    Ok(())
}

/// Returns the function by which the script makes a call. It returns the id of the call.
fn request_function<'js>(
    ctx: &Ctx<'js>,
    requests: Rc<RefCell<Requests>>,
    tools: Vec<String>,
) -> rquickjs::Result<Function<'js>> {
    let request = move |ctx: Ctx<'js>, name: String, arguments: Option<String>| {
        if !tools.contains(&name) {
            let text = format!(
                "`{name}` can't be called: it is not among the `tools` of this tool, which are \
                 `{}`",
                tools.join("`, `")
            );
            return Err(Exception::throw_type(&ctx, &text));
        }
        let arguments = arguments.unwrap_or_else(|| "{}".to_owned());
        if arguments.len() > MAX_CALL_BYTES {
            let text = format!("the arguments of `{name}` have more than {MAX_CALL_BYTES} bytes");
            return Err(Exception::throw_range(&ctx, &text));
        }
        requests.borrow_mut().add(&ctx, HostRequest::Tool { name, arguments })
    };
    Function::new(ctx.clone(), request)
}

/// Returns the function by which the script sends a request over the network.
#[cfg(feature = "fetch")]
fn fetch_function<'js>(
    ctx: &Ctx<'js>,
    requests: Rc<RefCell<Requests>>,
) -> rquickjs::Result<Function<'js>> {
    let request = move |ctx: Ctx<'js>, json: String| {
        if json.len() > MAX_CALL_BYTES {
            let text = format!("a request has at most {MAX_CALL_BYTES} bytes");
            return Err(Exception::throw_range(&ctx, &text));
        }
        let request: FetchRequest = serde_json::from_str(&json).map_err(|error| {
            // The position is one in the JSON of the request, which the body does not write.
            let text = error.to_string();
            let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
            Exception::throw_type(&ctx, &format!("the options of `fetch` are invalid: {text}"))
        })?;
        requests.borrow_mut().add(&ctx, HostRequest::Fetch(request))
    };
    Function::new(ctx.clone(), request)
}

/// Returns the function that writes texts to the console. A value that has no text is `undefined`.
fn log_function<'js>(
    ctx: &Ctx<'js>,
    console: Rc<RefCell<Console>>,
) -> rquickjs::Result<Function<'js>> {
    let log = move |values: Vec<Value<'js>>| -> rquickjs::Result<()> {
        let mut line = String::new();
        for value in values {
            if !line.is_empty() {
                line.push(' ');
            }
            match value.as_string() {
                Some(text) => line.push_str(&text.to_string()?),
                None => line.push_str("undefined"),
            }
            // The values can share one text, which has to fit into memory but once.
            if line.len() > MAX_CONSOLE_BYTES {
                break;
            }
        }
        console.borrow_mut().add(&line);
        Ok(())
    };
    Function::new(ctx.clone(), log)
}

/// Converts the value that the body returned: a string as it is, and every other value to JSON.
/// Getters and `toJSON` of the body run within its limits.
fn output<'js>(
    value: Value<'js>,
    stringify: &Function<'js>,
) -> rquickjs::Result<Result<Output, ScriptError>> {
    let output = match value.as_string() {
        Some(text) => Output::Text(text.to_string()?),
        None => match stringify.call::<_, Option<String>>((value,))? {
            Some(json) => Output::Json(json),
            None => Output::Nothing,
        },
    };
    let (Output::Text(text) | Output::Json(text)) = &output else { return Ok(Ok(output)) };
    if text.len() > MAX_OUTPUT_BYTES {
        return Ok(Err(ScriptError::LargeOutput(text.len())));
    }
    Ok(Ok(output))
}
