//! Texts with a second reading, which no tool that changes something may receive, and texts that
//! look alike and have one.

use serde_json::{Value, json};
use tool_json::{Options, Risk, check, parse_as, parse_as_with};

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

#[test]
fn text_with_a_second_reading_is_refused() {
    let options = Options::default().max_risk(Risk::Inferred);
    for text in [
        // A curly quote may close the string.
        r#"{"query": "Oslo“, "limit": 1}"#,
        r#"{"query": "a, b„, "limit": 1}"#,
        r#"{"query": "", "note": "x″, "limit": 1}"#,
        // Semicolons between the items of a list.
        r#"{"list": ["a)"; "b"]}"#,
        r#"{"list": ["{x}"; "'y'"]}"#,
        r#"{"list": ["x!";"<y>"], "limit": 1}"#,
        "{\"list\": [\"#a.\";\n \"b\"]}",
        // A comment that holds the end of a string.
        "{\"query\": true // so\", \"limit\": 1}",
        "{\"query\": true // so\",\n\"limit\": 1}",
        "{\"limit\": 1 # \"x\n}",
        // Strings that code joins.
        r#"{"query": "a" "b", "limit": 1}"#,
        "{\"query\": \"a\"\n  \"b\", \"limit\": 1}",
        r#"{"query": "a" . "b"}"#,
        r#"{"query": "a" || "b", "limit": 1}"#,
        r#"{"query": 'a' 'b'}"#,
        "{\"query\": \"a\"\n  \"b\"\n  \"c\", \"limit\": 1}",
        r#"{"query": "a" - "b", "limit": 1}"#,
        // A quotation without its second quote, or a string without its last.
        r#"{"query": "say "hi", "limit": 1}"#,
        r#"{"query": ""Tom" and "Jerry", "limit": 1}"#,
        // Text whose own quotes are at both ends.
        r#"{"query": "Tom" and "Jerry", "limit": 1}"#,
        // Strings that code joins, with a template among them.
        r#"{"query": "a" f"{b}", "limit": 1}"#,
        r#"{"query": "a" + f"{b}"}"#,
        r#"{"list": ["a" f"{b}", "c"]}"#,
        r#"{"query": f"{b}" "a"}"#,
        // Code, and words for a value that was left out.
        r#"{"query": datetime.now()}"#,
        r#"{"query": datetime.date(2024,1,1)}"#,
        r#"{"query": int(5), "limit": 1}"#,
        r#"{"query": names[0]}"#,
        r#"{"query": await f()}"#,
        r#"{"query": new Date(), "limit": 1}"#,
        r#"{"query": REPLACE_ME, "limit": 1}"#,
        r#"{"query": CHANGEME}"#,
        r#"{"query": str, "limit": 1}"#,
        r#"{"query": FILL_IN}"#,
        r#"{"query": ENTER TEXT}"#,
        r#"{"query": same as above, "limit": 1}"#,
        r#"{"query": omitted}"#,
        r#"{"query": ＜text＞}"#,
        r#"{"query": ‹text›}"#,
        r#"{"query": process.env.QUERY}"#,
    ] {
        let read = parse_as_with(text, &schema(), &options);
        assert!(read.is_err(), "{text}: {}", read.unwrap().value);
    }
}

#[test]
fn text_with_one_reading_is_read() {
    for (text, expected) in [
        // Escapes in a string without its first quote.
        (r#"{"query": a\nb", "limit": 1}"#, json!({"query": "a\nb", "limit": 1})),
        (r#"{"query": a\\b"}"#, json!({"query": "a\\b"})),
        (r#"{"list": [\\d+", "x"]}"#, json!({"list": ["\\d+", "x"]})),
        // A key with two quotes at its end, behind a string.
        (r#"{"note": "x", "limit"": 1}"#, json!({"note": "x", "limit": 1})),
        (
            r#"{"note": "x", "more"": {"query": "y"}, "limit": 1}"#,
            json!({"note": "x", "more": {"query": "y"}, "limit": 1}),
        ),
        (r#"{"note": "x", "list"": ["y"]}"#, json!({"note": "x", "list": ["y"]})),
        (r#"{"note": "x", "query"": "y"}"#, json!({"note": "x", "query": "y"})),
        // Text in a text in an envelope.
        (
            &json!({"arguments": json!(json!({"query": "x"}).to_string()).to_string()}).to_string(),
            json!({"query": "x"}),
        ),
        (
            &json!({
                "name": "find",
                "arguments": json!(json!(json!({"query": "x"}).to_string()).to_string()).to_string(),
            })
            .to_string(),
            json!({"query": "x"}),
        ),
        // Code where the key says that the text is an expression.
        (r#"{"expr": foo(1,2)}"#, json!({"expr": "foo(1,2)"})),
        (r#"{"filterExpression": names[0], "limit": 1}"#, json!({"filterExpression": "names[0]", "limit": 1})),
        // Words with brackets, and quotes in comments.
        (r#"{"query": Oslo (NO)}"#, json!({"query": "Oslo (NO)"})),
        (r#"{"query": enter the room}"#, json!({"query": "enter the room"})),
        ("{\"limit\": 1 // \"one\"\n}", json!({"limit": 1})),
        (r#"{"query": "say "x"; then", "limit": 1}"#, json!({"query": "say \"x\"; then", "limit": 1})),
    ] {
        let parsed = parse_as(text, &schema()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(parsed.value, expected, "{text}");
        assert_eq!(check(&parsed.value, &schema()), [], "{text}");
    }
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
