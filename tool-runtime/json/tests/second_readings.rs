//! Texts that look alike to a lookahead.

use serde_json::{Value, json};
use tool_json::parse_as;

fn schema() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {
            "query": text,
            "note": text,
            "list": {"type": "array", "items": text},
            "limit": {"type": "integer"},
            "more": {"type": "object", "properties": {"query": text}},
        },
    })
}

/// A lookahead that examined the next item in turn would exhaust the stack, and end the program.
#[test]
fn long_lists_need_little_stack() {
    let units = [
        "b'x' ",
        "r'x' ",
        "u\"x\" ",
        "'x' ",
        "\"x\" ",
        "x ",
        "1 ",
        "{} ",
        "b'x', ",
        "f'x' ",
        "(1) ",
        "b'x'",
        "`x` ",
        "“x” ",
        "{a: b'x'} ",
        "// x\n",
        "/* */ ",
        "{\"a\": u'x' ",
        "'x': b'y' ",
    ];
    let read = move || {
        for unit in units {
            for (before, after) in
                [("", ""), ("{\"list\": [", "]}"), ("[", "]"), ("{\"a\": ", "}"), ("{", "}")]
            {
                let text = format!("{before}{}{after}", unit.repeat(20_000));
                let parsed = parse_as(&text, &schema());
                assert!(parsed.is_err() || parsed.is_ok_and(|parsed| !parsed.json().is_empty()));
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(read).unwrap();
    thread.join().unwrap();
}
