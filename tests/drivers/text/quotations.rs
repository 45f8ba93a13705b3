//! Tests of quoted calls, in every format and every kind of quotation.

use tool_runtime::drivers::text::extract;

use super::corpus::{Case, files};
use super::{invariants, lookup, tools};

/// Quotes a text.
type Quotation = fn(&str) -> String;

const QUOTATIONS: [(&str, Quotation); 31] = [
    ("double quotes", |call| format!("Write \"{call}\" to do so.")),
    ("single quotes", |call| format!("Write '{call}' to do so.")),
    ("curly quotes", |call| format!("Write “{call}” to do so.")),
    ("guillemets", |call| format!("Man schreibt «{call}» dafür.")),
    ("quotes with blanks", |call| format!("Write \" {} \" to do so.", in_one_line(call))),
    ("inline code", |call| format!("Write `{}` to do so.", in_one_line(call))),
    ("inline code of two backticks", |call| format!("Write ``{}`` to do so.", in_one_line(call))),
    ("block of blanks", |call| format!("The form is:\n\n{}\n\nShall I?", indented(call, "    "))),
    ("block of tabs", |call| format!("The form is:\n\n{}\n\nShall I?", indented(call, "\t"))),
    ("block with a line before", |call| {
        format!("The form is:\n\n    # so\n{}\n\nShall I?", indented(call, "    "))
    }),
    ("list item", |call| format!("- {call}\n- or not")),
    ("list item with words", |call| format!("So:\n* Write {call}\n* or don't")),
    ("numbered item", |call| format!("1. {call}\n2. or not")),
    ("row of a table", |call| format!("| name | form |\n|---|---|\n| x | {call} |\n")),
    ("comment", |call| format!("<!-- {call} -->\nDone.")),
    ("comment of several lines", |call| format!("<!--\n{call}\n-->\nDone.")),
    ("code tag", |call| format!("Write <code>{call}</code> to do so.")),
    ("preformatted text", |call| format!("<pre>\n{call}\n</pre>\nShall I?")),
    ("example tag", |call| format!("<example>\n{call}\n</example>\nShall I?")),
    ("item in HTML", |call| format!("<ul><li>{call}</li></ul>")),
    ("cell in HTML", |call| format!("<table><tr><td class=\"x\">{call}</td></tr></table>")),
    ("quotation in HTML", |call| format!("<blockquote>\n{call}\n</blockquote>\nShall I?")),
    ("keys in HTML", |call| format!("Write <kbd>{call}</kbd> to do so.")),
    ("field in HTML", |call| format!("<textarea rows=2>{call}</textarea>")),
    ("script", |call| format!("<script>{call}</script>")),
    ("line comment", |call| format!("// {}\nfn main() {{}}", in_one_line(call))),
    ("block comment", |call| format!("/* {} */", in_one_line(call))),
    ("comment of a template", |call| format!("{{# {} #}}", in_one_line(call))),
    ("text section", |call| format!("<![CDATA[{}]]>", in_one_line(call))),
    ("backslash", |call| format!("Write \\{} to do so.", in_one_line(call))),
    ("quotation", |call| format!("{}\n\nwas the answer.", indented(call, "> "))),
];

/// The first call of each format, and others. Reasoning of several lines is no part of a quotation.
fn calls() -> Vec<(String, String)> {
    let cases = files().into_iter().filter_map(|file| {
        let case = Case::all(&file).into_iter().find(|case| !case.calls.is_empty())?;
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        (name != "think").then_some((name, case.text))
    });
    cases.chain(HAND_WRITTEN.map(|(name, call)| (name.into(), call.into()))).collect()
}

/// Calls with an inner tag that would be a call without the outer one.
const HAND_WRITTEN: [(&str, &str); 4] = [
    (
        "tags in one line",
        "<tool_call><function=search><parameter=query>x</parameter></function></tool_call>",
    ),
    (
        "invocation in one line",
        "<function_calls><invoke name=\"search\"><parameter name=\"query\">x</parameter></invoke></function_calls>",
    ),
    (
        "wrapped",
        "<tool_calls><tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call></tool_calls>",
    ),
    ("no special tokens", "assistantcommentary to=functions.now json{}"),
];

fn in_one_line(call: &str) -> String {
    call.replace('\n', " ").replace('`', "")
}

fn indented(call: &str, blanks: &str) -> String {
    call.lines().map(|line| format!("{blanks}{line}")).collect::<Vec<_>>().join("\n")
}

#[test]
fn quoted_calls_are_text_in_every_format() {
    let tools = tools::all();
    let lookup = lookup(&tools);
    let mut wrong = Vec::new();
    for (format, call) in calls() {
        for (name, quote) in QUOTATIONS {
            let text = quote(call.trim_end());
            let parsed = extract(&text, &lookup);
            if !parsed.calls.is_empty() {
                wrong.push(format!("{format} in {name}: {text}\ngot {:?}", parsed.calls));
            }
            for length in [1, 7] {
                let chars: Vec<_> = text.chars().collect();
                let pieces: Vec<String> =
                    chars.chunks(length).map(|piece| piece.iter().collect()).collect();
                let pieces = pieces.iter().map(String::as_str);
                let difference = invariants::streamed_difference(&parsed, pieces, &lookup);
                assert_eq!(difference, None, "{format} in {name}");
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Marks that quote nothing, next to a call that is meant.
#[test]
fn calls_beside_quotations_are_calls() {
    let tools = tools::all();
    let lookup = lookup(&tools);
    let call = "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>";
    for text in [
        format!("He said \"wait\". {call}"),
        format!("It's Ann's and the users' turn. {call}"),
        format!("A 5\" pipe, so {call}"),
        format!("'tis time: {call}"),
        format!("- first\n- second\n\n{call}"),
        format!("| a |\n|---|\n| b |\n\n{call}"),
        format!("<!-- so --> {call}"),
        format!("> quoted\n\n{call}"),
        format!("    {call}"),
        format!("Now:\n    {call}"),
        format!("`x` and {call}"),
        format!("<code>x</code> {call}"),
        format!("<li>x</li> {call}"),
        format!("<ul><li>x</li></ul>\n{call}"),
        format!("<answer>{call}</answer>"),
        format!("<list>{call}</list>"),
        format!("See https://x.io // {call}"),
        format!("// so\n{call}"),
    ] {
        assert_eq!(extract(&text, &lookup).calls.len(), 1, "{text}");
    }
}

/// A fence in a visible channel holds no call, although the next message would end the channel.
#[test]
fn fenced_message_in_final_channel_is_text() {
    let tools = tools::all();
    let lookup = lookup(&tools);
    let call = "<|channel|>commentary to=functions.now<|message|>{}<|call|>";
    let quoted = [format!("Use:\n```\n{call}\n```\nShall I?"), format!("Use `{call}`, please.")];
    for content in quoted {
        let text = format!("<|channel|>final<|message|>{content}<|return|>");
        let parsed = extract(&text, &lookup);
        assert_eq!((parsed.calls.as_slice(), parsed.text.as_str()), (&[][..], content.as_str()));
        let pieces: Vec<_> = text.split_inclusive(['|', '\n']).collect();
        let difference = invariants::streamed_difference(&parsed, pieces.into_iter(), &lookup);
        assert_eq!(difference, None, "{text}");
    }
    let text = format!("<|channel|>final<|message|>One moment.{call}");
    assert_eq!(extract(&text, &lookup).calls.len(), 1);
}
