//! Approvals of changes, with the diff of the change.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::{Dispatcher, Policy, Registry, RunContext, ToolCall, async_trait, tools};

use super::fixture::Fixture;

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
async fn approver_receives_the_diff_of_each_change() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\nk3y-0f-th3-h0us3\n");
    fixture.write("d.txt", "");
    let denies = Denies::default();
    let policy = Policy::new()
        .approver(denies.clone())
        .previewer(fixture.files.clone())
        .secrets(["k3y-0f-th3-h0us3", "pass\u{200b}word-of-ada"]);
    let registry = Registry::try_from(tools![..fixture.files.clone()]).unwrap();
    let dispatcher = Dispatcher::new(registry).policy(policy);
    for (tool, arguments, expected) in [
        (
            "file_edit",
            json!({ "path": "a.txt", "edits": [{ "old": "one", "new": "t\u{202e}wo" }] }),
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+t<U+202E>wo\n [redacted]\n",
        ),
        (
            "file_write",
            json!({ "path": "b.txt", "content": "new" }),
            "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n",
        ),
        (
            "file_write",
            json!({ "path": "b.txt", "content": "pass\u{200b}word-of-ada\n" }),
            "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+[redacted]\n",
        ),
        (
            "file_delete",
            json!({ "path": "a.txt" }),
            "--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-[redacted]\n",
        ),
        (
            "file_move",
            json!({ "path": "a.txt", "to": "c.txt" }),
            "--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+[redacted]\n",
        ),
        (
            "file_write",
            json!({ "path": "../b.txt", "content": "" }),
            "`path` contains `..`: send a path relative to the workspace.",
        ),
        (
            "file_move",
            json!({ "path": "a.txt", "to": "/b.txt" }),
            "`to` is absolute: send a path relative to the workspace.",
        ),
        (
            "file_move",
            json!({ "path": "a.txt", "to": "d.txt" }),
            "`d.txt` exists already: delete it first, or choose another path.",
        ),
        (
            "file_move",
            json!({ "path": "a.txt", "to": "./a.txt" }),
            "`a.txt` is the path of the file already: choose another one.",
        ),
        ("file_move", json!({ "path": "b.txt", "to": "c.txt" }), "`b.txt` does not exist."),
        ("file_delete", json!({ "path": "b.txt" }), "`b.txt` does not exist."),
        (
            "file_edit",
            json!({ "path": "a.txt", "edits": [{ "old": "x", "new": "y" }] }),
            "Nothing similar was found: read the file again.",
        ),
    ] {
        let call = ToolCall::new("1", tool, arguments.to_string());
        let execution = dispatcher.dispatch(vec![call]).await.remove(0);
        assert!(execution.is_blocked(), "{tool}");
        let preview = denies.0.lock().unwrap().pop().unwrap().unwrap();
        assert!(preview.ends_with(expected), "{tool}: {preview}");
    }
    assert_eq!(fixture.read("a.txt"), "one\nk3y-0f-th3-h0us3\n");
}

#[test]
fn preview_shows_what_the_tool_does_whatever_the_arguments_are() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    let arguments = json!({ "path": "a.txt", "content": "one\n", "to": "b.txt" });
    let preview = |tool| fixture.files.preview_of(tool, &arguments);
    let deletion = preview("file_delete").unwrap();
    assert!(deletion.ends_with("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"), "{deletion}");
    assert!(preview("file_move").unwrap().contains("+++ b/b.txt\n"));
    assert_eq!(preview("file_write").unwrap(), "The call changes nothing.");
    assert_eq!(preview("file_edit"), None);
    // For a call that was deferred, no policy has made them visible.
    let arguments = json!({ "path": "a.txt", "content": "one\u{1b}[2K\u{202e}\n" });
    let preview = fixture.files.preview_of("file_write", &arguments).unwrap();
    assert!(preview.ends_with("\n+one<U+001B>[2K<U+202E>\n"), "{preview}");
}

#[tokio::test]
async fn changes_need_an_approval_and_reading_does_not() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    let registry = Registry::try_from(tools![..fixture.files.clone()]).unwrap();
    let dispatcher = Dispatcher::new(registry);
    for (tool, arguments, may_run) in [
        ("file_read", json!({ "path": "a.txt" }), true),
        ("file_list", json!({}), true),
        ("glob", json!({ "pattern": "*" }), true),
        ("grep", json!({ "pattern": "one" }), true),
        ("file_write", json!({ "path": "a.txt", "content": "" }), false),
        ("file_edit", json!({ "path": "a.txt", "edits": [{ "old": "one", "new": "" }] }), false),
        ("file_move", json!({ "path": "a.txt", "to": "b.txt" }), false),
        ("file_delete", json!({ "path": "a.txt" }), false),
    ] {
        let call = ToolCall::new("1", tool, arguments.to_string());
        let execution = dispatcher.dispatch(vec![call]).await.remove(0);
        assert_eq!(execution.is_success(), may_run, "{tool}: {}", execution.result.text);
    }
    assert_eq!(fixture.read("a.txt"), "one\n");
}
