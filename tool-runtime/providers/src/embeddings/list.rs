use serde::Deserialize;
use serde_json::Value;

use super::WireVector;
use crate::codec::DecodeError;
use crate::shared::Counts;
use tool_core::Usage;
use tool_core::models::Embeddings;

/// The body of a response: items with the indices of their texts, in any order.
#[derive(Deserialize)]
struct WireList {
    data: Option<Vec<WireItem>>,
    #[serde(default)]
    usage: Counts,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct WireItem {
    index: Option<usize>,
    embedding: WireVector,
}

/// Decodes a response in the format of OpenAI's reference, "Create embeddings".
pub(crate) fn decode_list(body: &str) -> Result<Embeddings, DecodeError> {
    let list: WireList =
        serde_json::from_str(body).map_err(|error| DecodeError::malformed(error.to_string()))?;
    if let Some(error) = list.error {
        return Err(DecodeError::Reported(error));
    }
    let data = list.data.ok_or_else(|| DecodeError::malformed("missing `data`"))?;
    let mut embeddings = Embeddings::new(in_order(data)?);
    embeddings.usage = list.usage.usage(|counts| {
        let input = counts.get("/prompt_tokens").or_else(|| counts.get("/total_tokens"));
        Usage::new(input.unwrap_or(0), 0)
    });
    Ok(embeddings)
}

/// Sorts the vectors by the indices, each of which must occur once.
fn in_order(items: Vec<WireItem>) -> Result<Vec<Vec<f32>>, DecodeError> {
    let count = items.len();
    let mut vectors: Vec<Option<Vec<f32>>> = (0..count).map(|_| None).collect();
    for item in items {
        let index = item.index.ok_or_else(|| DecodeError::malformed("missing `index`"))?;
        match vectors.get_mut(index) {
            Some(vector @ None) => *vector = Some(item.embedding.0),
            Some(Some(_)) => {
                return Err(DecodeError::malformed(format!("index {index} occurs twice")));
            }
            None => {
                let reason = format!("index {index} of {count} vectors is out of range");
                return Err(DecodeError::malformed(reason));
            }
        }
    }
    // No index occurs twice, so none is left out.
    Ok(vectors.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::decode_list;
    use crate::codec::DecodeError;
    use tool_core::Usage;
    use tool_core::models::Embeddings;

    #[test]
    fn vectors_are_sorted_by_their_indices() {
        let body = r#"{"object": "list", "model": "m", "data": [
            {"object": "embedding", "index": 1, "embedding": [3, 4]},
            {"object": "embedding", "index": 0, "embedding": "AACAPwAAAEA="}
        ], "usage": {"prompt_tokens": 7, "total_tokens": 7}}"#;
        let expected = Embeddings::new(vec![vec![1.0, 2.0], vec![3.0, 4.0]]);
        assert_eq!(decode_list(body), Ok(expected.usage(Usage::new(7, 0))));
    }

    #[test]
    fn usage_is_optional() {
        for (usage, expected) in [
            ("null", None),
            ("{}", None),
            (r#"{"prompt_tokens": 3}"#, Some(3)),
            (r#"{"total_tokens": 4}"#, Some(4)),
        ] {
            let body = format!(r#"{{"data": [], "usage": {usage}}}"#);
            let usage = decode_list(&body).unwrap().usage;
            assert_eq!(usage, expected.map(|input| Usage::new(input, 0)), "{body}");
        }
        assert_eq!(decode_list(r#"{"data": []}"#).unwrap().usage, None);
    }

    #[test]
    fn wrong_indices_are_refused() {
        let item = |index: &str| format!(r#"{{"index": {index}, "embedding": [1]}}"#);
        for (items, reason) in [
            (vec![item("1")], "index 1 of 1 vectors is out of range"),
            (vec![item("0"), item("2")], "index 2 of 2 vectors is out of range"),
            (vec![item("0"), item("0")], "index 0 occurs twice"),
            (vec![item("0"), item("null")], "missing `index`"),
            (vec![item("-1")], "invalid value"),
            (vec![item("0.5")], "invalid type"),
            (vec![r#"{"embedding": [1]}"#.into()], "missing `index`"),
            (vec![r#"{"index": 0}"#.into()], "missing field `embedding`"),
        ] {
            let body = format!(r#"{{"data": [{}]}}"#, items.join(","));
            let Err(DecodeError::Malformed(error)) = decode_list(&body) else {
                panic!("{body} is accepted");
            };
            assert!(error.contains(reason), "{body}: {error}");
        }
    }
}
