//! A stream without a finish reason is not a reply; `conformance` tests the rest.

use std::fs;
use std::path::Path;

use tool_runtime::{ChatModel, ChatRequest, ModelError};

use super::{NEW, client};
use support::canned::{Canned, Reply};

/// Files of this name, with the names of their cases.
pub fn fixtures(name: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/gemini");
    let cases = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let read = |case: std::path::PathBuf| {
        let text = fs::read_to_string(case.join(name)).ok()?;
        Some((case.file_name()?.to_string_lossy().into_owned(), text))
    };
    let found: Vec<_> = cases.filter_map(read).collect();
    assert!(!found.is_empty(), "no {name}");
    found
}

fn fixture(case: &str, name: &str) -> String {
    let found = fixtures(name).into_iter().find(|(known, _)| known == case);
    found.unwrap_or_else(|| panic!("{case} has no {name}")).1
}

#[tokio::test]
async fn truncated_stream_is_an_error() {
    for case in ["text", "thoughts", "parallel_calls", "safety"] {
        let text = fixture(case, "stream.sse");
        let end = text.find("finishReason").unwrap();
        for at in (0..=end).filter(|at| text.is_char_boundary(*at)) {
            let canned = Canned::new([Reply::text(200, &text[..at])]);
            let model = client(NEW, &canned);
            let error = model.stream(ChatRequest::new(&[]), &mut |_| {}).await.unwrap_err();
            let is_cut =
                matches!(error, ModelError::Malformed { .. } | ModelError::Unreachable { .. });
            assert!(is_cut, "{case} at {at}: {error:?}");
        }
    }
}
