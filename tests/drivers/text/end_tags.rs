//! Tests of end tags of arguments that are missing or have another name, in each format with tags.

use super::extract;
use serde_json::json;
use tool_runtime::json::{check, parse_as};

use super::{lookup, tools};

/// How a format writes the start of an argument, its end, and what is around both arguments.
struct Family {
    name: &'static str,
    start: fn(&str) -> String,
    end: &'static str,
    before: &'static str,
    after: &'static str,
}

const FAMILIES: [Family; 12] = [
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
    Family {
        name: "gigachat35",
        start: |key| format!("<｜GCML｜parameter name=\"{key}\" string=\"true\">"),
        end: "</｜GCML｜parameter>",
        before: "<｜GCML｜tool_calls><｜GCML｜invoke name=\"write_file\">",
        after: "</｜GCML｜invoke></｜GCML｜tool_calls>",
    },
    Family {
        name: "step3",
        start: |key| format!("<steptml:parameter name=\"{key}\">"),
        end: "</steptml:parameter>",
        before: "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"write_file\">",
        after: "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
    },
    Family {
        name: "nemotron",
        start: |key| format!("<parameter={key}>"),
        end: "</parameter>",
        before: "<function=write_file>",
        after: "</function>",
    },
    Family {
        name: "kimi_k3",
        start: |key| format!("<|open|>argument key=\"{key}\" type=\"string\"<|sep|>"),
        end: "<|close|>argument<|sep|>",
        before: "<|open|>tools<|sep|><|open|>call tool=\"write_file\" index=\"1\"<|sep|>",
        after: "<|close|>call<|sep|><|close|>tools<|sep|>",
    },
    Family {
        name: "minimax_m3",
        start: |key| format!("]<]minimax[>[<{key}>"),
        // The end tag of an argument has its name, which `call` fills in.
        end: "]<]minimax[>[</KEY>",
        before: "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"write_file\">",
        after: "]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
    },
];

impl Family {
    /// Returns an end tag of another name, in the syntax of the format.
    fn end_of(&self, name: &str) -> String {
        match self.name {
            "kimi_k3" => format!("<|close|>{name}<|sep|>"),
            "minimax_m3" => format!("]<]minimax[>[</{name}>"),
            _ => format!("</{name}>"),
        }
    }
}

/// Builds a call of `write_file` whose arguments end with these tags.
fn call(family: &Family, ends: [&str; 2], content: &str) -> String {
    let Family { start, before, after, .. } = family;
    let [first, second] = ends;
    let (path, body) = (start("path"), start("content"));
    let (first, second) = (first.replace("KEY", "path"), second.replace("KEY", "content"));
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
fn value_without_end_tag_does_not_keep_the_line_break_before_the_next_tag() {
    let expected = r#"{"path": "a.md", "content": "All well."}"#;
    for family in &FAMILIES {
        let end = family.end;
        for (first, second) in
            [("\n", end), ("\r\n", end), ("\n  ", end), ("\n\t", end), (end, "\n"), ("\n", "\n")]
        {
            let text = call(family, [first, second], "All well.");
            assert_eq!(arguments(&text), expected, "{}: {text:?}", family.name);
        }
        // Only one line break is markup.
        let text = call(family, ["\n\n", end], "All well.");
        let path = arguments(&text);
        assert!(path.starts_with(r#"{"path": "a.md\n", "#), "{}: {path}", family.name);
    }
}

#[test]
fn value_ends_at_next_opening_tag() {
    let expected = r#"{"path": "a.md", "content": "All well."}"#;
    for family in &FAMILIES {
        let end = family.end;
        let other = |name: &str| family.end_of(name);
        for (first, second) in [
            (end.to_owned(), end.to_owned()),
            (String::new(), end.to_owned()),
            (other("path"), end.to_owned()),
            (other("value"), end.to_owned()),
            (other("arg_key"), end.to_owned()),
            (format!("\n{}", other("path")), end.to_owned()),
            (end.to_owned(), other("content")),
            (end.to_owned(), other("body")),
            (other("path"), other("content")),
        ] {
            let text = call(family, [&first, &second], "All well.");
            assert_eq!(arguments(&text).replace("\\n", ""), expected, "{}: {text}", family.name);
        }
    }
}

/// An argument that the tool does not take begins after a value without an end tag, or is a part of
/// the value: only a value with an end tag for both is certain.
#[test]
fn unknown_argument_in_a_value_is_never_kept_silently() {
    for family in &FAMILIES {
        let Family { start, before, after, name, .. } = family;
        let end = |key: &str| family.end.replace("KEY", key);
        let (path, body, mode) = (start("path"), start("content"), start("mode"));
        for text in [
            format!(
                "{before}{path}a.md{}{body}All well.{mode}x{}{after}",
                end("path"),
                end("mode")
            ),
            format!(
                "{before}{body}All well.{mode}x{}{path}a.md{}{after}",
                end("mode"),
                end("path")
            ),
        ] {
            let arguments = arguments(&text);
            assert!(!arguments.ends_with('}'), "{name}: {text}: {arguments}");
            assert!(!arguments.contains("mode\\\""), "{name}: {text}: {arguments}");
        }
        if *name == "minimax_m3" {
            // Nested tags of this format are members of an object.
            continue;
        }
        let inner = format!("{mode}x{}", end("mode"));
        let text = format!(
            "{before}{path}a.md{}{body}See {inner} there.{}{after}",
            end("path"),
            end("content")
        );
        let arguments = arguments(&text);
        assert!(arguments.ends_with(" there.\"}"), "{name}: {text}: {arguments}");
    }
}

/// End tags that were not opened in the value, with names of arguments, tools and tags of calls.
const STRAY_ENDS: [&str; 20] = [
    "</content>",
    "</Content>",
    "</content >",
    "</ content>",
    "</content",
    "</content></content>",
    "</path>",
    "</parameter>",
    "</parameters>",
    "</parameter=content>",
    "</parameter name=\"content\">",
    "</param>",
    "</argument>",
    "</arg>",
    "</arg_value>",
    "</function>",
    "</invoke>",
    "</tool_call>",
    "</write_file>",
    "<|im_end|>",
];

/// An end tag before the right one may be a part of the value, or a leftover of the markup.
#[test]
fn stray_end_tag_is_never_kept_silently() {
    for family in &FAMILIES {
        let repeated = ["path", "content"].map(|key| family.end.replace("KEY", key));
        let own_end = family.end_of("content");
        for end in STRAY_ENDS.into_iter().chain([own_end.as_str(), repeated[1].as_str()]) {
            for text in [
                call(family, [family.end, family.end], &format!("All well.{end}")),
                call(family, [&format!("{end}{}", family.end), family.end], "All well."),
            ] {
                let offered = tools::all();
                for call in extract(&text, &lookup(&offered)).calls {
                    let arguments = call.arguments.to_text();
                    assert!(!arguments.ends_with('}'), "{}: {text}: {arguments}", family.name);
                }
            }
        }
    }
}

/// A value whose end tag is damaged, or followed by other text, is never kept silently.
#[test]
fn damaged_end_tag_is_never_kept_silently() {
    for family in &FAMILIES {
        let (path, body) = ((family.start)("path"), (family.start)("content"));
        let end = |key: &str| family.end.replace("KEY", key);
        let (first, second) = (end("path"), end("content"));
        let half = |end: &str| end.chars().take(end.chars().count() / 2).collect::<String>();
        let Family { before, after, .. } = family;
        for text in [
            format!("{before}{path}a.md{first} so {body}All well.{second}{after}"),
            format!("{before}{path}a.md{first}{body}All well.{second} so {after}"),
            format!("{before}{path}a.md{}>{body}All well.{second}{after}", half(&first)),
            format!("{before}{path}a.md{first}{body}All well.{}>{after}", half(&second)),
            format!("{before}{path}a.md{}x>{body}All well.{second}{after}", half(&first)),
            format!("{before}{}{first}{body}All well.{second}{after}", half(&path)),
            format!("{before}{path}a.md{first}{}{second}{after}", half(&body)),
        ] {
            let offered = tools::all();
            for call in extract(&text, &lookup(&offered)).calls {
                let arguments = call.arguments.to_text();
                let schema = offered[2].parameters.as_value();
                let parsed = parse_as(&arguments, schema);
                let is_whole = parsed.is_ok_and(|parsed| {
                    !parsed.truncated
                        && check(&parsed.value, schema).is_empty()
                        // An end tag of another name stands for the right one.
                        && parsed.value != json!({"path": "a.md", "content": "All well."})
                });
                assert!(!is_whole, "{}: {text}: {arguments}", family.name);
            }
        }
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
