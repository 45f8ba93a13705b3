//! Establishes a connection: discovery first, then `initialize` on a fresh transport.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitationCapability, FormElicitationCapability,
    Implementation, JsonObject, ProtocolVersion, RootsCapabilities, SamplingCapability,
    TASKS_EXTENSION_ID, UrlElicitationCapability,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, serve_client_with_lifecycle_and_ct,
};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::client::calls::deadline;
use crate::client::calls::request_error::{HttpFailure, http_failure};
use crate::client::challenge::MAX_CHALLENGES;
use crate::client::connect::failure_reason::failure_reason;
use crate::client::connect::link::Link;
use crate::client::connect::open_transport::Failure;
use crate::client::connect::session::{Session, SessionInfo};
use crate::client::error::McpError;
use crate::client::options::Options;
use crate::client::questions::handler::Handler;
use crate::client::tools::text::{clean, clean_line};
use crate::client::wire::guard::Guard;
use crate::client::wire::traffic::Traffic;

/// The number of characters of texts of the handshake that are kept.
const MAX_CHARS: usize = 1_000;

/// The number of characters of the instructions of a server that are kept.
const MAX_INSTRUCTIONS_CHARS: usize = 8_000;

/// How long the stream on which a server sends notifications and requests may take to open.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a program that closed its pipes may take to end.
const EXIT_LIMIT: Duration = Duration::from_secs(2);

/// Connects within the time limit of the options.
pub(crate) async fn connect(link: &Link) -> Result<Session, McpError> {
    let started = Instant::now();
    let limit = link.options.connect_timeout;
    let discover = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    // A server that does not answer must leave time for the second attempt, but most of the time
    // is that of a server that starts slowly: the second attempt would start it again.
    // The time that an authorization takes does not count.
    let mut waited = Duration::ZERO;
    let most = deadline::later(started, limit - limit / 4);
    let first = match authorized(link, &discover, most, &mut waited).await {
        Ok(session) => return Ok(session),
        Err(Failure::Final(error)) => return Err(error),
        Err(Failure::Attempt(reason)) => reason,
    };
    let initialize = ClientLifecycleMode::Initialize;
    match authorized(link, &initialize, deadline::later(started, limit), &mut waited).await {
        Ok(session) => Ok(session),
        Err(Failure::Final(error)) => Err(error),
        Err(Failure::Attempt(second)) => {
            let reason = if first == second {
                first
            } else {
                format!("discovery: {first}; initialize: {second}")
            };
            Err(McpError::Connect { server: link.name.clone(), reason })
        }
    }
}

/// Makes one attempt, again after each challenge that is answered. Adds the time that the answers
/// took to `waited` and to the deadline.
async fn authorized(
    link: &Link,
    lifecycle: &ClientLifecycleMode,
    deadline: Instant,
    waited: &mut Duration,
) -> Result<Session, Failure> {
    for number in 0.. {
        let generation = link.challenges.generation();
        let result = attempt(link, lifecycle.clone(), deadline::later(deadline, *waited)).await;
        let Err(Failure::Final(McpError::AuthorizationRequired { challenge, server })) = result
        else {
            return result;
        };
        let challenged_at = Instant::now();
        let answered = if number < MAX_CHALLENGES {
            link.challenges.answer(challenge.as_deref(), generation).await
        } else {
            Ok(false)
        };
        *waited += challenged_at.elapsed();
        match answered {
            Ok(true) => {}
            Ok(false) => {
                let error = McpError::AuthorizationRequired { challenge, server };
                return Err(Failure::Final(error));
            }
            Err(failure) => {
                return Err(Failure::Final(McpError::authorization_failed(server, failure)));
            }
        }
    }
    Err(Failure::Attempt("authorization required".to_owned()))
}

async fn attempt(
    link: &Link,
    lifecycle: ClientLifecycleMode,
    deadline: Instant,
) -> Result<Session, Failure> {
    let (traffic, ended) = (Arc::<Traffic>::default(), CancellationToken::new());
    let (wire, program) = link.open(deadline, &traffic).await?;
    let ready = wire.ready();
    let guard = Guard::new(wire, link.target.clone(), Arc::clone(&traffic), ended.clone());
    let config = ClientConfig::new(capabilities(&link.options), implementation())
        .with_protocol_version(ProtocolVersion::V_2025_11_25);
    let handler = Handler {
        options: Arc::clone(&link.options),
        roots: link.roots.clone(),
        config,
        traffic: Arc::downgrade(&traffic),
    };
    let serving =
        serve_client_with_lifecycle_and_ct(handler, guard, lifecycle, CancellationToken::new());
    // The largest future of the connection: it must not be part of others.
    let service = match timeout_at(deadline, Box::pin(serving)).await {
        Ok(Ok(service)) => service,
        Ok(Err(error)) => {
            let (failure, has_ended) = (failure(link, &error), is_end(&error));
            return Err(match (failure, &program) {
                (Failure::Attempt(reason), Some(program)) if has_ended => {
                    Failure::Attempt(program.why_ended(&reason, EXIT_LIMIT).await)
                }
                (failure, _) => failure,
            });
        }
        Err(_) => {
            return Err(Failure::Attempt(match &program {
                Some(program) => program.with_stderr("timed out"),
                None => "timed out".to_owned(),
            }));
        }
    };
    let Some(info) = service.peer().peer_info() else {
        return Err(Failure::Attempt("the server sent no information about itself".to_owned()));
    };
    let version = info.protocol_version.clone();
    if !ProtocolVersion::KNOWN_VERSIONS.contains(&version) {
        let version = clean_line(version.as_str(), 40);
        return Err(Failure::Attempt(format!("unknown protocol revision `{version}`")));
    }
    // Otherwise, a server might lose what it sends during the first call.
    let _ = timeout(READY_TIMEOUT, ready).await;
    let text = |text: &String, max| clean(text, max);
    let name = info.server_info.as_ref().map(|server| text(&server.name, MAX_CHARS));
    let info = SessionInfo {
        revision: version.as_str().to_owned(),
        has_initialize: version.has_initialize(),
        capabilities: info.capabilities.clone(),
        server_name: name.filter(|name| !name.is_empty()),
        instructions: info.instructions.as_ref().map(|it| text(it, MAX_INSTRUCTIONS_CHARS)),
    };
    let log_level = link.options.log_level;
    let session =
        Session::new(link.challenges.clone(), service, program, traffic, ended, info, log_level);
    session.request_log_level(deadline).await;
    Ok(session)
}

fn failure(link: &Link, error: &ClientInitializeError) -> Failure {
    let server = link.name.clone();
    let transport = match error {
        ClientInitializeError::TransportError { error, .. } => Some(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => match fallback.as_ref() {
            ClientInitializeError::TransportError { error, .. } => Some(error),
            _ => None,
        },
        _ => None,
    };
    if let Some(transport) = transport {
        if let HttpFailure::Unauthorized(challenge) = http_failure(&*transport.error) {
            return Failure::Final(McpError::AuthorizationRequired { server, challenge });
        }
        return Failure::Attempt(failure_reason(&*transport.error));
    }
    let reason = link.target.secrets().redact(&error.to_string());
    Failure::Attempt(clean_line(&reason, MAX_CHARS))
}

/// Returns true for an error of a connection that ended, instead of an answer of the server.
fn is_end(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::TransportError { .. }
        | ClientInitializeError::ConnectionClosed(_) => true,
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_end(fallback),
        _ => false,
    }
}

fn capabilities(options: &Options) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    let extensions = capabilities.extensions.get_or_insert_default();
    extensions.insert(TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
    if options.elicitation.is_some() {
        capabilities.elicitation = Some(
            ElicitationCapability::new()
                .with_form(FormElicitationCapability::default())
                .with_url(UrlElicitationCapability::default()),
        );
    }
    if options.sampling.is_some() {
        capabilities.sampling = Some(SamplingCapability::default());
    }
    if options.roots.is_some() {
        let mut roots = RootsCapabilities::default();
        roots.list_changed = Some(true);
        capabilities.roots = Some(roots);
    }
    capabilities
}

fn implementation() -> Implementation {
    Implementation::new("tool-mcp", env!("CARGO_PKG_VERSION"))
}
