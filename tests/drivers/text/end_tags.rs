//! Tests of end tags of arguments that are missing or have another name, in each format with tags.

use tool_runtime::drivers::text::extract;

use super::{lookup, tools};

/// How a format writes the start of an argument, its end, and what is around both arguments.
struct Family {
    name: &'static str,
    start: fn(&str) -> String,
    end: &'static str,
    before: &'static str,
    after: &'static str,
}

const FAMILIES: [Family; 7] = [
    Family {
        name: "qwen_xml",
        start: |key| format!("<parameter={key}>"),
        end: "</parameter>",
        before: "<tool_call><function=write_file>",
        after: "</function></tool_call>",
    },
    Family {
        name: "seed_oss",
        start: |key| format!("<parameter={key}>"),
        end: "</parameter>",
        before: "<seed:tool_call><function=write_file>",
        after: "</function></seed:tool_call>",
    },
    Family {
        name: "anthropic",
        start: |key| format!("<parameter name=\"{key}\">"),
        end: "</parameter>",
        before: "<function_calls><invoke name=\"write_file\">",
        after: "</invoke></function_calls>",
    },
    Family {
        name: "minimax_m2",
        start: |key| format!("<parameter name=\"{key}\">"),
        end: "</parameter>",
        before: "<minimax:tool_call><invoke name=\"write_file\">",
        after: "</invoke></minimax:tool_call>",
    },
    Family {
        name: "dsml",
        start: |key| format!("<｜DSML｜parameter name=\"{key}\" string=\"true\">"),
        end: "</｜DSML｜parameter>",
        before: "<｜DSML｜function_calls><｜DSML｜invoke name=\"write_file\">",
        after: "</｜DSML｜invoke></｜DSML｜function_calls>",
    },
    Family {
        name: "dsml with doubled bars",
        start: |key| format!("<｜｜DSML｜｜parameter name=\"{key}\" string=\"true\">"),
        end: "</｜｜DSML｜｜parameter>",
        before: "<｜｜DSML｜｜function_calls><｜｜DSML｜｜invoke name=\"write_file\">",
        after: "</｜｜DSML｜｜invoke></｜｜DSML｜｜function_calls>",
    },
    Family {
        name: "glm",
        start: |key| format!("<arg_key>{key}</arg_key><arg_value>"),
        end: "</arg_value>",
        before: "<tool_call>write_file",
        after: "</tool_call>",
    },
];

/// Builds a call of `write_file` whose arguments end with these tags.
fn call(family: &Family, ends: [&str; 2], content: &str) -> String {
    let Family { start, before, after, .. } = family;
    let [first, second] = ends;
    let (path, body) = (start("path"), start("content"));
    format!("{before}{path}a.md{first}{body}{content}{second}{after}")
}

fn arguments(text: &str) -> String {
    let offered = tools::all();
    let parsed = extract(text, &lookup(&offered));
    assert_eq!(parsed.text, "", "{text}");
    let [call] = parsed.calls.as_slice() else { panic!("{text}: {parsed:?}") };
    call.arguments.to_text().into_owned()
}

#[test]
fn value_ends_at_next_opening_tag() {
    let expected = r#"{"path": "a.md", "content": "All well."}"#;
    for family in &FAMILIES {
        let end = family.end;
        for (first, second) in [
            (end, end),
            ("", end),
            ("</path>", end),
            ("</value>", end),
            ("</arg_key>", end),
            ("\n</path>", end),
            (end, "</content>"),
            (end, "</body>"),
            ("</path>", "</content>"),
        ] {
            let text = call(family, [first, second], "All well.");
            assert_eq!(arguments(&text).replace("\\n", ""), expected, "{}: {text}", family.name);
        }
    }
}

/// An end tag of the argument's own name may be a part of the value.
#[test]
fn end_tag_of_own_name_is_never_kept_silently() {
    for family in &FAMILIES {
        let text = call(family, [family.end, family.end], "All well.</content>");
        let arguments = arguments(&text);
        assert!(!arguments.ends_with('}'), "{}: {arguments}", family.name);
    }
}

#[test]
fn markup_of_other_languages_is_kept() {
    for family in &FAMILIES {
        for content in ["</div>", "<content>x</content>", "<b>x</b></p>", "a</b> c"] {
            let text = call(family, [family.end, family.end], content);
            let expected = format!(r#"{{"path": "a.md", "content": "{content}"}}"#);
            assert_eq!(arguments(&text), expected, "{}", family.name);
        }
    }
}
