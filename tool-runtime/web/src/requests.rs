//! The tool `http_request`: requests that change something, which a program opts in to.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use tool_core::event::NetworkRequest;
use tool_core::{ToolContext, ToolError, ToolErrorKind, tool};
use tool_http::{HttpMethod, HttpRequest};

use crate::Web;
use crate::fetch::received;
use crate::section::SectionOutput;
use crate::target;

/// Methods of requests that change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub(crate) enum Method {
    Post,
    Put,
    Patch,
    Delete,
}

impl From<Method> for HttpMethod {
    fn from(method: Method) -> Self {
        match method {
            Method::Post => Self::Post,
            Method::Put => Self::Put,
            Method::Patch => Self::Patch,
            Method::Delete => Self::Delete,
        }
    }
}

/// The tool `http_request`, which sends requests that change something.
///
/// [`Web::requests`] creates it. The tool asks for an approval, unless the policy
/// [allows](tool_core::dispatch::Permissions::tool) it, and it never follows a redirect: the
/// approved URL is the one that receives the request. The same hosts may be contacted as with
/// `http_fetch`. Each request that may have arrived is recorded as an
/// [effect](tool_core::EffectRecord::RequestSent).
///
/// ```
/// use tool_runtime::Policy;
/// use tool_runtime::http::HttpMethod;
/// use tool_runtime::tools;
/// use tool_runtime::web::Web;
///
/// let web = Web::new();
/// let tools = tools![..web.requests([HttpMethod::Post]), ..web.clone()];
/// // The approver, which is omitted here, sees the method, the URL and the body.
/// let policy = Policy::new().previewer(web);
/// # drop((tools, policy));
/// ```
#[derive(Clone)]
pub struct WebRequests {
    web: Web,
    methods: Vec<HttpMethod>,
}

impl Web {
    /// Returns a tool that sends requests with these methods. It knows POST, PUT, PATCH and DELETE;
    /// others in the list have no effect.
    ///
    /// ```
    /// use tool_runtime::http::HttpMethod;
    /// use tool_runtime::tools;
    /// use tool_runtime::web::Web;
    ///
    /// let web = Web::new();
    /// let tools = tools![..web.requests([HttpMethod::Post, HttpMethod::Patch]), ..web];
    /// assert_eq!(tools.into_iter().count(), 2);
    /// ```
    pub fn requests(&self, methods: impl IntoIterator<Item = HttpMethod>) -> WebRequests {
        WebRequests { web: self.clone(), methods: methods.into_iter().collect() }
    }
}

#[tool]
impl WebRequests {
    /// Sends an HTTP request that changes something, and returns the response. Redirects are not
    /// followed.
    #[tool(effect = "external", permission = "ask")]
    async fn http_request(
        &self,
        #[arg(named)] method: Method,
        /// Absolute URL.
        url: &str,
        body: Option<String>,
        /// Type of the body; default: `application/json` if it is JSON, else `text/plain`.
        content_type: Option<String>,
        ctx: &ToolContext,
    ) -> Result<SectionOutput, ToolError> {
        let method = HttpMethod::from(method);
        if !self.methods.contains(&method) {
            let allowed: Vec<_> = self.methods.iter().map(|method| method.as_str()).collect();
            let text = format!("`method` may not be {method}: send one of {}.", allowed.join(", "));
            return Err(ToolError::new(ToolErrorKind::Denied, text));
        }
        let client = self.web.client();
        let url = target::parse(url, &client.allowed)?;
        let mut request = HttpRequest::new(method, url.as_str());
        if let Some(body) = body {
            let content_type = content_type.unwrap_or_else(|| type_of(&body).to_owned());
            request = request.header("content-type", content_type).body(body);
        }
        let record = NetworkRequest::new(method.as_str(), &url);
        let response = match client.send(url.clone(), request).await {
            Ok(response) => response,
            Err(error) => {
                if error.kind() == ToolErrorKind::Indeterminate {
                    ctx.record(record);
                }
                return Err(error);
            }
        };
        ctx.record(record.status(response.status));
        let redact = |text: &str, part| ctx.redact_part(text, part);
        let fetched = received(&client, response, &redact).await?;
        SectionOutput::first(&fetched.document, &fetched.url, fetched.status, &redact)
    }
}

fn type_of(body: &str) -> &'static str {
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok();
    if is_json { "application/json" } else { "text/plain; charset=utf-8" }
}

impl fmt::Debug for WebRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebRequests")
            .field("methods", &self.methods)
            .field("web", &self.web)
            .finish()
    }
}
