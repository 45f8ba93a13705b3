//! Shows where a request would go, before it is approved.

use serde_json::Value;
use tool_runtime::async_trait;
use tool_runtime::dispatch::{ApprovalRequest, Previewer};

use super::Web;
use super::target;

impl Web {
    /// Returns the request of a call that has not run, with the URL as it would be requested;
    /// `None` for a tool of another value.
    ///
    /// If the URL is refused, the text is the error. The name of the host is not looked up: a
    /// look-up already sends the name to its owner, before the request is approved. As a
    /// [`Previewer`] of a policy, `Web` shows the text to the approver.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_toolbox::Web;
    ///
    /// let arguments = json!({"url": "http://Bücher.example:80/a/../b"});
    /// let preview = Web::new().preview_of("http_fetch", &arguments);
    /// assert_eq!(preview.as_deref(), Some("GET http://xn--bcher-kva.example/b"));
    ///
    /// let arguments = json!({"url": "http://2130706433/"});
    /// let preview = Web::new().preview_of("http_fetch", &arguments);
    /// let text = "`url` leads to a loopback address, which may not be contacted.";
    /// assert_eq!(preview.as_deref(), Some(text));
    /// ```
    pub fn preview_of(&self, tool: &str, arguments: &Value) -> Option<String> {
        if tool != "http_fetch" {
            return None;
        }
        let url = arguments.get("url").and_then(Value::as_str)?;
        Some(match target::parse(url, &self.client().allowed) {
            Ok(url) => format!("GET {url}"),
            Err(error) => error.text().to_owned(),
        })
    }
}

#[async_trait]
impl Previewer for Web {
    async fn preview(&self, request: &ApprovalRequest) -> Option<String> {
        self.preview_of(&request.tool.name, &request.arguments)
    }
}
