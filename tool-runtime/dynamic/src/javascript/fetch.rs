//! Sends the requests of scripts through the guarded client of the program.

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tool_core::event::NetworkRequest;
use tool_core::{Effect, ToolContext, ToolErrorKind};
use tool_http::{HttpMethod, HttpRequest};
use tool_web::{Web, WebResponse};

use super::host_call::{FetchRequest, HostResult};
use super::limits::MAX_RESPONSE_BYTES;

/// The methods that a script can use.
const METHODS: [HttpMethod; 6] = [
    HttpMethod::Get,
    HttpMethod::Head,
    HttpMethod::Post,
    HttpMethod::Put,
    HttpMethod::Patch,
    HttpMethod::Delete,
];

/// The client of the tool of a script.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) web: Web,
    /// A tool that only reads sends no others than GET and HEAD.
    pub(super) effect: Effect,
}

/// Requests that have been started. They end if this is dropped.
#[derive(Default)]
pub(super) struct Requests {
    running: JoinSet<(u32, HostResult)>,
}

impl Requests {
    /// Starts a request.
    pub(super) fn start(
        &mut self,
        id: u32,
        client: &Client,
        request: FetchRequest,
        ctx: &ToolContext,
    ) {
        let (web, ctx) = (client.web.clone(), ctx.clone());
        let request = http_request(request, client.effect);
        self.running.spawn(async move {
            let result = match request {
                Ok(request) => send(&web, request, &ctx).await,
                Err(text) => Err(text),
            };
            (id, result.map_or_else(HostResult::Error, HostResult::Json))
        });
    }

    /// Waits for all requests, and adds their results to others in the order of the ids.
    pub(super) async fn join(mut self, others: Vec<(u32, HostResult)>) -> Vec<(u32, HostResult)> {
        let mut results = others;
        while let Some(result) = self.running.join_next().await {
            // A request that panics has no result: its promise is never resolved.
            results.extend(result);
        }
        results.sort_by_key(|(id, _)| *id);
        results
    }
}

/// Checks the method of a request.
fn http_request(request: FetchRequest, effect: Effect) -> Result<HttpRequest, String> {
    let FetchRequest { url, method, headers, body } = request;
    let method = METHODS.into_iter().find(|it| it.as_str().eq_ignore_ascii_case(&method));
    let method = method.ok_or("`method` has to be GET, HEAD, POST, PUT, PATCH or DELETE")?;
    let is_read = matches!(method, HttpMethod::Get | HttpMethod::Head);
    if !is_read && !matches!(effect, Effect::Write | Effect::External) {
        return Err(format!(
            "{method} needs a tool with the effect `external`; this one has the effect `read`"
        ));
    }
    if is_read && body.is_some() {
        return Err(format!("remove `body`: a {method} request has none"));
    }
    let request = HttpRequest::new(method, url).body(body.unwrap_or_default());
    Ok(headers.into_iter().fold(request, |request, (name, value)| request.header(name, value)))
}

/// Returns the response as JSON, or the text of the error.
async fn send(web: &Web, request: HttpRequest, ctx: &ToolContext) -> Result<String, String> {
    let record = NetworkRequest::new(request.method.as_str(), &request.url);
    let response = match web.send(request).await {
        Ok(response) => response,
        Err(error) => {
            if error.kind() == ToolErrorKind::Indeterminate {
                ctx.record(record);
            }
            return Err(error.text().to_owned());
        }
    };
    ctx.record(record.status(response.status));
    let WebResponse { url, status, headers, body, is_truncated, .. } = response;
    if is_truncated || body.len() > MAX_RESPONSE_BYTES {
        return Err(format!("the response has more than {MAX_RESPONSE_BYTES} bytes"));
    }
    let headers: Map<String, Value> =
        headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.into())).collect();
    let body = String::from_utf8_lossy(&body);
    Ok(json!({ "status": status, "url": url, "headers": headers, "body": body }).to_string())
}
