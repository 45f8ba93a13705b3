//! The texts of changed files, for screens.

use serde_json::json;
use tool_runtime::event::{FileTexts, Recorder, ToolEvent};
use tool_runtime::{Policy, ToolCall};

use super::fixture::{Fixture, dispatcher};

/// Returns what was emitted about files.
fn texts(recorder: &Recorder) -> Vec<FileTexts> {
    let emitted = recorder.events().into_iter().filter_map(|event| match event.tool_event() {
        Some(ToolEvent::DataEmitted { name, data, .. }) => {
            assert_eq!(name, FileTexts::NAME);
            Some(serde_json::from_value(data.clone()).unwrap())
        }
        _ => None,
    });
    emitted.collect()
}

#[tokio::test]
async fn texts_before_and_after_a_change_are_emitted_on_request() {
    let call =
        |name: &str, arguments: serde_json::Value| ToolCall::new(name, name, arguments.to_string());
    for is_requested in [false, true] {
        let fixture = Fixture::new();
        fixture.write("binary", [0, 159, 146, 150]);
        fixture.write("large", "a line of text\n".repeat(700_000));
        let files = fixture.files.clone();
        let files = if is_requested { files.emit_texts() } else { files };
        let recorder = Recorder::new(1_000);
        let policy = Policy::new().secrets(["hunter22"]);
        let dispatcher = dispatcher(&files, policy).observer(recorder.clone());
        for call in [
            call("file_write", json!({"path": "a.txt", "content": "one\nhunter22\n"})),
            call("file_edit", json!({"path": "a.txt", "edits": [{"old": "one", "new": "two"}]})),
            call("file_move", json!({"path": "a.txt", "to": "b.txt"})),
            call("file_delete", json!({"path": "b.txt"})),
            call("file_delete", json!({"path": "binary"})),
            call("file_delete", json!({"path": "large"})),
        ] {
            let executions = dispatcher.dispatch(vec![call]).await;
            assert!(executions[0].is_success(), "{}", executions[0].result.text);
        }
        let text = |first: &str| Some(format!("{first}\n[redacted]\n"));
        let expected = [
            FileTexts::new("a.txt", None, text("one")),
            FileTexts::new("a.txt", text("one"), text("two")),
            FileTexts::new("b.txt", text("two"), None),
        ];
        assert_eq!(texts(&recorder), if is_requested { &expected[..] } else { &[] });
    }
}
