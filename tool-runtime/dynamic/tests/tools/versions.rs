//! Versions of a tool, and the return to an earlier one.

use serde_json::{Value, json};

use super::fixture::Fixture;

async fn source(fixture: &Fixture, version: u64) -> Value {
    let arguments = json!({ "name": "n", "version": version });
    serde_json::from_str(&fixture.text("tool_source", arguments).await).unwrap()
}

#[tokio::test]
async fn earlier_version_returns() {
    let fixture = Fixture::new().await;
    for (body, expected) in [("return 1;", "1"), ("return 2;", "2")] {
        assert!(fixture.make("n", body).await.is_success());
        assert_eq!(fixture.text("n", json!({})).await, expected);
    }
    let first = source(&fixture, 1).await;
    assert_eq!(
        (&first["versions"], &first["pieces"]["body"]),
        (&json!([1, 2]), &json!("return 1;"))
    );
    let second = source(&fixture, 2).await;
    for (version, fingerprint) in [(1, &second["fingerprint"]), (3, &first["fingerprint"])] {
        let arguments = json!({ "name": "n", "version": version, "fingerprint": fingerprint });
        let execution = fixture.call("tool_rollback", arguments).await;
        assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"));
    }
    assert_eq!(fixture.text("n", json!({})).await, "2");
    let arguments = json!({ "name": "n", "version": 1, "fingerprint": first["fingerprint"] });
    fixture.text("tool_rollback", arguments).await;
    assert_eq!(fixture.text("n", json!({})).await, "1");
    let listed = fixture.text("tool_list", json!({})).await;
    assert!(listed.contains(r#""version":3"#), "{listed}");
}

#[tokio::test]
async fn failed_new_version_keeps_the_tool() {
    let fixture = Fixture::new().await;
    fixture.make("n", "return 1;").await;
    assert!(fixture.make("n", "return 1 +;").await.is_failure());
    assert_eq!(fixture.text("n", json!({})).await, "1");
}
