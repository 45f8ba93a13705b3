//! Two servers on one port: one that may be reached, and one inside that must not be.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tool_runtime::web::{Resolver, Web};
use tool_runtime::{
    Dispatcher, Policy, Registry, ToolCall, ToolExecution, Toolbox, async_trait, tools,
};

use super::server::{Reply, Server};

/// The address of the server that stands for a public one.
pub(crate) const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// The address of the server inside.
pub(crate) const INSIDE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The content of the server inside.
pub(crate) const SECRET: &str = "k3y-0f-th3-h0us3";

/// Knows some names, each with one answer for each question in turn.
#[derive(Clone, Default)]
pub(crate) struct Names(Arc<Mutex<HashMap<String, Answers>>>);

#[derive(Default)]
struct Answers {
    answers: Vec<Vec<IpAddr>>,
    questions: usize,
}

impl Names {
    /// Adds a name with the answers to its questions, which are repeated.
    pub(crate) fn with(self, name: &str, answers: impl IntoIterator<Item = Vec<IpAddr>>) -> Self {
        let answers = Answers { answers: answers.into_iter().collect(), questions: 0 };
        self.0.lock().unwrap().insert(name.to_owned(), answers);
        self
    }

    pub(crate) fn question_count(&self, name: &str) -> usize {
        self.0.lock().unwrap()[name].questions
    }
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut names = self.0.lock().unwrap();
        let answers = names.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        answers.questions += 1;
        Ok(answers.answers[(answers.questions - 1) % answers.answers.len()].clone())
    }
}

/// A server that may be reached as `public.test`, and one inside.
pub(crate) struct Fixture {
    pub(crate) public: Server,
    pub(crate) inside: Server,
    pub(crate) names: Names,
    pub(crate) dispatcher: Dispatcher,
}

impl Fixture {
    /// Starts the servers. The function answers the requests for the public one.
    pub(crate) async fn new(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Self::with_web(reply, |web| web).await
    }

    /// Starts the servers, and changes the settings of the tools.
    pub(crate) async fn with_web(
        reply: impl Fn(&str) -> Reply + Send + Sync + 'static,
        change: impl FnOnce(Web) -> Web,
    ) -> Self {
        let (public, inside) = loop {
            let inside = TcpListener::bind((INSIDE, 0)).await.unwrap();
            let port = inside.local_addr().unwrap().port();
            // Another program may have the port on the other address.
            if let Ok(public) = TcpListener::bind((PUBLIC, port)).await {
                break (public, inside);
            }
        };
        let public = Server::start(public, reply);
        let inside = Server::start(inside, |_| Reply::ok("text/plain", SECRET));
        let names = Names::default()
            .with("public.test", [vec![PUBLIC]])
            .with("inside.test", [vec![INSIDE]])
            .with("localhost", [vec![INSIDE]]);
        let web = Web::new().resolver(names.clone()).allow_net(PUBLIC.to_string()).unwrap();
        let dispatcher = dispatcher(change(web));
        Self { public, inside, names, dispatcher }
    }

    /// Replaces `{port}` by the port of the servers.
    pub(crate) fn url(&self, url: &str) -> String {
        url.replace("{port}", &self.public.port().to_string())
    }

    pub(crate) async fn fetch(&self, url: &str) -> ToolExecution {
        self.call("http_fetch", json!({ "url": self.url(url) })).await
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolExecution {
        call(&self.dispatcher, tool, arguments).await
    }

    /// Returns the text of a page of the public server.
    pub(crate) async fn text(&self, path: &str) -> String {
        let execution = self.fetch(&format!("http://public.test:{{port}}{path}")).await;
        assert!(execution.is_success(), "{path}: {}", execution.result.text);
        execution.result.text
    }

    /// Returns the text of a request that fails.
    pub(crate) async fn error(&self, path: &str) -> String {
        let execution = self.fetch(&format!("http://public.test:{{port}}{path}")).await;
        assert!(execution.is_failure(), "{path}: {}", execution.result.text);
        execution.result.text
    }

    /// Fails if anything has reached the server inside.
    pub(crate) fn assert_nothing_inside(&self) {
        assert_eq!(self.inside.connection_count(), 0, "{:?}", self.inside.requests());
    }
}

pub(crate) fn dispatcher(web: impl Toolbox + Send + Sync + 'static) -> Dispatcher {
    Dispatcher::new(Registry::try_from(tools![..web]).unwrap()).policy(Policy::new())
}

pub(crate) async fn call(dispatcher: &Dispatcher, tool: &str, arguments: Value) -> ToolExecution {
    let call = ToolCall::new("call", tool, arguments.to_string());
    dispatcher.dispatch(vec![call]).await.remove(0)
}

/// Runs an ignored test of this program in a child process with these variables.
pub(crate) async fn run_in_child(test: &'static str, variables: Vec<(&'static str, OsString)>) {
    let child = tokio::task::spawn_blocking(move || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture"])
            .envs(variables)
            .output()
            .unwrap()
    });
    let output = child.await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{error}");
}
