//! The options of a client for programs and streams.

use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::client::builder::McpClient;
use crate::client::connect::target::{ProcessTarget, Target};
use crate::client::wire::BoxFuture;
use crate::client::wire::stdio::{BoxReader, BoxWriter};

impl McpClient {
    /// Prepares to start a stdio server, by the name of its program on `PATH` or by its path.
    ///
    /// The program receives a few common environment variables, such as `PATH` and `HOME`, and
    /// those that you [add](Self::env), because the environment of this program may hold keys. The
    /// program and all processes that it started end when the connection or this program ends.
    pub fn stdio(program: impl Into<OsString>) -> Self {
        let target = ProcessTarget { program: program.into(), ..ProcessTarget::default() };
        Self::new(Ok(Target::Process(target)))
    }

    /// Prepares to connect over the streams that `open` returns, such as those of a container or a
    /// socket. The client calls `open` for each attempt to connect: it must return new streams.
    ///
    /// ```
    /// use tool_runtime::mcp::McpClient;
    ///
    /// let client = McpClient::streams(|| async {
    ///     let (client, server) = tokio::io::duplex(4096);
    ///     // Pass `server` to a server in this process.
    ///     drop(server);
    ///     Ok(tokio::io::split(client))
    /// });
    /// # let _ = client;
    /// ```
    pub fn streams<R, W, F>(open: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        R: AsyncRead + Send + Sync + Unpin + 'static,
        W: AsyncWrite + Send + Sync + Unpin + 'static,
        F: Future<Output = io::Result<(R, W)>> + Send + 'static,
    {
        let open = move || -> BoxFuture<'static, _> {
            let opened = open();
            Box::pin(async move {
                let (reader, writer) = opened.await?;
                Ok((Box::new(reader) as BoxReader, Box::new(writer) as BoxWriter))
            })
        };
        Self::new(Ok(Target::Streams(Arc::new(open))))
    }

    /// Adds an argument to the command line of the program.
    pub fn arg(self, argument: impl Into<OsString>) -> Self {
        self.process("arg", |target| target.arguments.push(argument.into()))
    }

    /// Adds arguments to the command line of the program.
    pub fn args<A: Into<OsString>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        let arguments = arguments.into_iter().map(Into::into);
        self.process("args", |target| target.arguments.extend(arguments))
    }

    /// Sets an environment variable of the program.
    pub fn env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let variable = (name.into(), value.into());
        self.process("env", |target| target.environment.push(variable))
    }

    /// Passes the whole environment of this program to the program.
    pub fn inherit_env(self) -> Self {
        self.process("inherit_env", |target| target.inherits_environment = true)
    }

    /// Sets the working directory of the program. Default: that of this program.
    pub fn current_dir(self, folder: impl Into<PathBuf>) -> Self {
        self.process("current_dir", |target| target.folder = Some(folder.into()))
    }

    fn process(mut self, option: &str, change: impl FnOnce(&mut ProcessTarget)) -> Self {
        match &mut self.target {
            Ok(Target::Process(target)) => change(target),
            Ok(_) => self.target = Err(format!("`{option}` applies to programs only")),
            Err(_) => {}
        }
        self
    }
}
