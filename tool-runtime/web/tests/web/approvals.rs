//! Approvals of requests, with the URL as it would be requested.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver, Permissions};
use tool_runtime::web::Web;
use tool_runtime::{Dispatcher, Permission, Policy, Registry, RunContext, async_trait, tools};

use super::fixture::{Names, call};

/// Denies every call, and keeps the previews.
#[derive(Clone, Default)]
struct Denies(Arc<Mutex<Vec<Option<String>>>>);

#[async_trait]
impl Approver for Denies {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        self.0.lock().unwrap().push(request.preview.clone());
        Approval::Deny("not now".into())
    }
}

#[tokio::test]
async fn approver_receives_the_url_that_would_be_requested() {
    let names = Names::default().with("docs.test", [vec![]]);
    let web = Web::new().resolver(names.clone());
    let denies = Denies::default();
    let policy = Policy::new()
        .approver(denies.clone())
        .previewer(web.clone())
        .permissions(Permissions::default().tool("http_fetch", Permission::Ask));
    let registry = Registry::try_from(tools![..web]).unwrap();
    let dispatcher = Dispatcher::new(registry).policy(policy);
    for (url, expected) in [
        ("http://docs.test:80/a/../b?c=d#e", "GET http://docs.test/b?c=d"),
        ("https:docs.test\\a b", "GET https://docs.test/a%20b"),
        ("http://раураl.com/", "GET http://xn--l-7sba6dbr.com/"),
        ("http://docs.test\u{202e}/", "`url` is not a valid URL"),
        ("http://134744072/", "GET http://8.8.8.8/"),
        ("http://2130706433/", "`url` leads to a loopback address, which may not be contacted."),
        ("http://a@docs.test/", "`url` contains a user name or a password, which are refused."),
        ("file:///etc/passwd", "`url` must begin with http:// or https://."),
    ] {
        let execution = call(&dispatcher, "http_fetch", json!({ "url": url })).await;
        assert!(execution.is_blocked(), "{url}");
        let preview = denies.0.lock().unwrap().pop().unwrap().unwrap();
        assert!(preview.starts_with(expected), "{url}: {preview}");
    }
    // A look-up would tell the owner of a name before the request is approved.
    assert_eq!(names.question_count("docs.test"), 0);
}
