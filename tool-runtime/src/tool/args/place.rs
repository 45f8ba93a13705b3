use std::fmt::Write as _;

/// A list or object that is open, and where in it the reader is.
enum Open<'t> {
    List(usize),
    Object(Option<&'t str>),
}

/// The path, such as `stops[1].city`, of the value that ends at a line and column (both counted
/// from 1, the column in bytes, as serde_json counts) of a JSON text.
pub(super) fn path_at(json: &str, line: usize, column: usize) -> String {
    let before: usize = json.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let end = before + column;
    let mut open = Vec::new();
    let mut start_of_text = None;
    let mut escaped = false;
    for (at, byte) in json.bytes().enumerate().take(end.saturating_sub(1)) {
        if let Some(start) = start_of_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    if let Some(Open::Object(key @ None)) = open.last_mut() {
                        *key = json.get(start..at);
                    }
                    start_of_text = None;
                }
                _ => {}
            }
            continue;
        }
        match (byte, open.last_mut()) {
            (b'"', _) => start_of_text = Some(at + 1),
            (b'[', _) => open.push(Open::List(0)),
            (b'{', _) => open.push(Open::Object(None)),
            (b']' | b'}', _) => drop(open.pop()),
            (b',', Some(Open::List(index))) => *index += 1,
            (b',', Some(Open::Object(key))) => *key = None,
            _ => {}
        }
    }
    let mut path = String::new();
    for place in open {
        let _ = match place {
            Open::List(index) => write!(path, "[{index}]"),
            Open::Object(Some(key)) if path.is_empty() => write!(path, "{key}"),
            Open::Object(Some(key)) => write!(path, ".{key}"),
            Open::Object(None) => Ok(()),
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::path_at;

    /// Refuses the text "bad".
    #[derive(Debug)]
    struct Picky;

    impl<'de> Deserialize<'de> for Picky {
        fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
            match String::deserialize(input)?.as_str() {
                "bad" => Err(serde::de::Error::custom("no")),
                _ => Ok(Self),
            }
        }
    }

    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "only decoded")]
    struct Shape {
        one: Option<Picky>,
        list: Option<Vec<Picky>>,
        inner: Option<Box<Self>>,
    }

    #[test]
    fn points_at_what_serde_refused() {
        for (text, path) in [
            (r#"{"one": "bad"}"#, "one"),
            (r#"{"list": ["a,[{", "\"bad", "bad", "x"]}"#, "list[2]"),
            ("{\n  \"inner\": {\n    \"list\": [\"ü\", \"bad\"]\n  }\n}", "inner.list[1]"),
            (r#"{"inner": {"one": "}"}, "one": "bad"}"#, "one"),
            (r#"{"list": [[]]}"#, "list[0]"),
        ] {
            let error = serde_json::from_str::<Shape>(text).unwrap_err();
            assert_eq!(path_at(text, error.line(), error.column()), path, "{text}: {error}");
        }
    }
}
