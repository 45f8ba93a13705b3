//! Lists in a format that the model chooses.

use proptest::prelude::*;
use tool_runtime::{OutputFormat, Row};

use super::*;

/// Lists files.
#[tool(effect = "read")]
async fn list_files(#[arg(default)] output: OutputFormat) -> ToolOutput {
    output.render([
        Row::new().with("path", "a.rs").with("lines", 3).with("owner", None::<String>),
        Row::new().with("path", "b | c").with("tags", vec!["x", "y"]).with("path", "b"),
    ])
}

#[tokio::test]
async fn model_chooses_the_format() {
    let schema = list_files {}.definition().parameters.as_value().clone();
    assert_eq!(schema["properties"]["output"]["enum"], json!(["labeled", "json"]));
    assert_eq!(schema["properties"]["output"]["default"], json!("labeled"));
    assert!(schema.get("required").is_none());
    let labeled = "path: a.rs | lines: 3\npath: b | tags: [\"x\",\"y\"]";
    assert_eq!(call(&list_files {}, "{}").await.unwrap(), labeled);
    assert_eq!(call(&list_files {}, r#"{"output": "labeled"}"#).await.unwrap(), labeled);
    let json = r#"[{"path":"a.rs","lines":3,"owner":null},{"path":"b","tags":["x","y"]}]"#;
    assert_eq!(call(&list_files {}, r#"{"output": "json"}"#).await.unwrap(), json);
    assert!(refusal(&list_files {}, r#"{"output": "xml"}"#).await.contains("`output`"));
}

#[test]
fn ambiguous_texts_are_quoted() {
    for (text, expected) in [
        ("plain", "a: plain"),
        ("f(a, b): \"c\" || d", "a: f(a, b): \"c\" || d"),
        ("", r#"a: """#),
        (" indented", r#"a: " indented""#),
        ("two\nlines", r#"a: "two\nlines""#),
        ("b | c: d", r#"a: "b | c: d""#),
        ("ends |", r#"a: "ends |""#),
        ("\"quoted\"", r#"a: "\"quoted\"""#),
    ] {
        let output = OutputFormat::Labeled.render([Row::new().with("a", text)]);
        assert_eq!(output.as_text(), expected);
    }
    assert_eq!(OutputFormat::Labeled.render([]).as_text(), "no results");
    assert_eq!(OutputFormat::Labeled.render([Row::new()]).as_text(), "{}");
    let json = OutputFormat::Json.render([]);
    assert_eq!((json.as_text(), json.is_json()), ("[]", true));
}

proptest! {
    /// Each row is one line, and each value can be read back.
    #[test]
    fn labeled_rows_can_be_read_back(rows in prop::collection::vec(("[ -~|\n]{0,8}", any::<i32>()), 1..5)) {
        let row = |(text, number): &(String, i32)| {
            Row::new().with("text", text.as_str()).with("number", *number)
        };
        let output = OutputFormat::Labeled.render(rows.iter().map(row));
        let lines: Vec<_> = output.as_text().split('\n').collect();
        prop_assert_eq!(lines.len(), rows.len());
        for (line, (text, number)) in lines.into_iter().zip(rows) {
            let rest = line.strip_prefix("text: ").unwrap();
            let written = rest.strip_suffix(&format!(" | number: {number}")).unwrap();
            let read = if written.starts_with('"') {
                serde_json::from_str(written).unwrap()
            } else {
                prop_assert!(!written.contains(" | "));
                written.to_owned()
            };
            prop_assert_eq!(read, text);
        }
    }
}
