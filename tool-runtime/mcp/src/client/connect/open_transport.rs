//! Opens the transport of a connection: starts a program, or connects to streams or over HTTP.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};
use tool_core::process::ChildProcess;

#[cfg(feature = "client")]
use crate::client::connect::failure_reason::failure_reason;
use crate::client::connect::link::Link;
use crate::client::connect::server_program::{STDERR_TAIL_BYTES, ServerProgram};
use crate::client::connect::target::{ProcessTarget, Target};
use crate::client::error::McpError;
use crate::client::events::McpEvent;
use crate::client::options::Options;
use crate::client::tools::text::clean_line;
use crate::client::wire::Wire;
#[cfg(feature = "client")]
use crate::client::wire::http::HttpTarget;
use crate::client::wire::stdio::{BoxReader, BoxWriter, SharedChild, Stdio};
use crate::client::wire::traffic::Traffic;

/// The number of characters of a line of the standard error, or of an error, that are kept.
const MAX_CHARS: usize = 1_000;

/// The environment variables that a server receives without being asked for, as official clients
/// do. Others may hold keys.
const SAFE_VARIABLES: [&str; 16] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "USER",
    "APPDATA",
    "LOCALAPPDATA",
    "PATHEXT",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERPROFILE",
];

/// The failure of an attempt to connect.
pub(crate) enum Failure {
    /// Another attempt would fail alike.
    Final(McpError),
    Attempt(String),
}

impl Link {
    /// Opens a fresh transport, of a program if the target is one.
    pub(crate) async fn open(
        &self,
        deadline: Instant,
        #[cfg_attr(
            not(feature = "client"),
            expect(unused_variables, reason = "only HTTP decodes")
        )]
        traffic: &Arc<Traffic>,
    ) -> Result<(Box<dyn Wire>, Option<ServerProgram>), Failure> {
        match &self.target {
            Target::Process(target) => {
                self.spawn(target).map(|(wire, program)| (wire, Some(program)))
            }
            Target::Streams(open) => match timeout_at(deadline, open()).await {
                Ok(Ok(streams)) => Ok((Box::new(self.stdio(streams, None)), None)),
                Ok(Err(error)) => Err(Failure::Attempt(clean_line(&error.to_string(), MAX_CHARS))),
                Err(_) => Err(Failure::Attempt("opening the streams timed out".to_owned())),
            },
            #[cfg(feature = "client")]
            Target::Http { target, connector } => {
                let target = HttpTarget { traffic: Arc::clone(traffic), ..target.clone() };
                match timeout_at(deadline, connector.connect(&target)).await {
                    Ok(Ok(wire)) => Ok((wire, None)),
                    Ok(Err(error)) => Err(Failure::Attempt(failure_reason(&error))),
                    Err(_) => Err(Failure::Attempt("authorization timed out".to_owned())),
                }
            }
        }
    }

    fn spawn(&self, target: &ProcessTarget) -> Result<(Box<dyn Wire>, ServerProgram), Failure> {
        let mut builder = ChildProcess::builder(&target.program)
            .args(&target.arguments)
            .max_stderr_bytes(STDERR_TAIL_BYTES);
        if !target.inherits_environment {
            builder = builder.env_clear();
            for name in SAFE_VARIABLES {
                if let Some(value) = std::env::var_os(name) {
                    builder = builder.env(name, value);
                }
            }
        }
        for (name, value) in &target.environment {
            builder = builder.env(name, value);
        }
        if let Some(folder) = &target.folder {
            builder = builder.current_dir(folder);
        }
        let (events, name) = (self.options.events.clone(), self.name.clone());
        let secrets = target.secrets();
        let of_lines = secrets.clone();
        let builder = builder.on_stderr_line(move |line| {
            let line = clean_line(&of_lines.redact(line), MAX_CHARS);
            events.emit(&name, &McpEvent::Stderr { line });
        });
        let failed = |error| {
            let program = target.program.to_string_lossy().into_owned();
            Failure::Final(McpError::Spawn { server: self.name.clone(), program, error })
        };
        let mut child = builder.spawn().map_err(failed)?;
        let streams = (child.take_stdout(), child.take_stdin());
        let (Some(stdout), Some(stdin)) = streams else {
            return Err(failed(std::io::Error::other("the pipes are missing")));
        };
        let program = ServerProgram::new(child, secrets);
        let streams: (BoxReader, BoxWriter) = (Box::new(stdout), Box::new(stdin));
        let wire = self.stdio(streams, Some(Arc::clone(&program.child)));
        Ok((Box::new(wire), program))
    }

    fn stdio(&self, streams: (BoxReader, BoxWriter), child: Option<SharedChild>) -> Stdio {
        let Options { max_message_bytes, send_timeout, .. } = *self.options;
        Stdio::new(streams, child, max_message_bytes, send_timeout)
    }
}
