//! Shows where a request would go, before it is approved.

use serde_json::Value;
use tool_core::async_trait;
use tool_core::dispatch::{ApprovalRequest, Previewer};
use tool_core::message::visible;

use crate::Web;
use crate::target;

impl Web {
    /// Returns the request of a call that has not run, with the URL as it would be requested and
    /// the body; `None` for another tool.
    ///
    /// If the URL is refused, the text is the error. The name of the host is not looked up: a
    /// look-up already sends the name to its owner, before the request is approved. Characters that
    /// could deceive a person are made [visible].
    ///
    /// The text is not redacted. To show a call to a person, add `Web` to the policy as a
    /// [`Previewer`]: in the preview that the approver and
    /// [`PendingCall::preview`](tool_core::agent::PendingCall::preview) receive, the secrets of the
    /// policy and secret arguments are redacted.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::web::Web;
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
        self.preview_text(tool, arguments).map(|text| visible(&text).into_owned())
    }

    /// Returns the preview with the characters as they are, so that secrets can be found in it.
    fn preview_text(&self, tool: &str, arguments: &Value) -> Option<String> {
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str);
        let method = match tool {
            "http_fetch" => "GET",
            "http_request" => argument("method")?,
            _ => return None,
        };
        let mut text = match target::parse(argument("url")?, &self.settings.allowed) {
            Ok(url) => format!("{method} {url}"),
            Err(error) => return Some(error.text().to_owned()),
        };
        for part in [argument("content_type"), argument("body")].into_iter().flatten() {
            text.push('\n');
            text.push_str(part);
        }
        Some(text)
    }
}

#[async_trait]
impl Previewer for Web {
    async fn preview(&self, request: &ApprovalRequest) -> Option<String> {
        self.preview_text(&request.tool.name, &request.arguments)
    }
}
