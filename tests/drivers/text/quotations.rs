//! Tests of quoted calls, in every format and every kind of quotation.

use super::extract;

use super::corpus::{Case, files};
use super::{invariants, lookup, pieces_of, tools};

/// Quotes a text.
pub(crate) type Quotation = fn(&str) -> String;

pub(crate) const QUOTATIONS: [(&str, Quotation); 75] = [
    ("double quotes", |call| format!("Write \"{call}\" to do so.")),
    ("single quotes", |call| format!("Write '{call}' to do so.")),
    ("curly quotes", |call| format!("Write “{call}” to do so.")),
    ("guillemets", |call| format!("Man schreibt «{call}» dafür.")),
    ("quotes with blanks", |call| format!("Write \" {} \" to do so.", in_one_line(call))),
    ("inline code", |call| format!("Write `{}` to do so.", in_one_line(call))),
    ("inline code of two backticks", |call| format!("Write ``{}`` to do so.", in_one_line(call))),
    ("block of blanks", |call| format!("The form is:\n\n{}\n\nShall I?", indented(call, "    "))),
    ("block of tabs", |call| format!("The form is:\n\n{}\n\nShall I?", indented(call, "\t"))),
    ("block with words before", |call| {
        format!("The form is:\n\n    x = {}\n\nShall I?", in_one_line(call))
    }),
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
    ("single guillemets", |call| format!("On écrit ‹{call}› pour cela.")),
    ("inverted single guillemets", |call| format!("Man schreibt ›{call}‹ dafür.")),
    ("low quotes", |call| format!("Man schreibt „{call}“ dafür.")),
    ("Polish quotes", |call| format!("Pisze się „ {} ” tak.", in_one_line(call))),
    ("single low quotes", |call| format!("Man schreibt ‚ {} ‘ dafür.", in_one_line(call))),
    ("Swedish quotes", |call| format!("Man skriver ” {} ” så.", in_one_line(call))),
    ("angle brackets", |call| format!("请写《{call}》。")),
    ("wide quotes", |call| format!("请写＂{call}＂。")),
    ("item with a letter", |call| format!("a) {call}\nb) or not")),
    ("item with a letter in brackets", |call| format!("(a) {call}\n(b) or not")),
    ("item with a number in brackets", |call| format!("(1) {call}\n(2) or not")),
    ("item with a Roman number", |call| format!("iv. {call}\nv. or not")),
    ("item with a number and a colon", |call| format!("1: {call}\n2: or not")),
    ("item of an item", |call| format!("1. So:\n1.1. {call}\n")),
    ("item with a circled number", |call| format!("② {call}\n")),
    ("Chinese item", |call| format!("一、{call}\n")),
    ("bullet", |call| format!("• {call}\n")),
    ("dash", |call| format!("– {call}\n")),
    ("arrow", |call| format!("➤ {call}\n")),
    ("task", |call| format!("- [ ] {call}\n")),
    ("second line of an item", |call| format!("- Form:\n{}\n- or not", indented(call, "  "))),
    ("line below an item within an item", |call| {
        format!("- Form:\n  - first\n{}\n- or not", indented(call, "  "))
    }),
    ("line below an empty item", |call| format!("- Form:\n  -\n{}\n", indented(call, "  "))),
    ("second line of a numbered item", |call| {
        format!("1. Form:\n{}\n2. or not", indented(call, "   "))
    }),
    ("second paragraph of an item", |call| {
        format!("- Form:\n\n{}\n\n- or not", indented(call, "  "))
    }),
    ("heading", |call| format!("# {}\nfn main() {{}}", in_one_line(call))),
    ("comment in SQL", |call| format!("-- {}\nselect 1;", in_one_line(call))),
    ("comment in Lisp", |call| format!("; {}\n(f)", in_one_line(call))),
    ("comment in TeX", |call| format!("% {}\nText", in_one_line(call))),
    ("row without bars around it", |call| format!("name | {}\n---|---\n", in_one_line(call))),
    ("string of several lines", |call| format!("x = \"\"\"\n{call}\n\"\"\"\nShall I?")),
    ("string in single quotes", |call| format!("x = '''\n{call}\n'''\nShall I?")),
    ("block comment of several lines", |call| format!("/*\n{call}\n*/\nShall I?")),
    ("template comment of several lines", |call| format!("{{#\n{call}\n#}}\nShall I?")),
    ("text section of several lines", |call| format!("<![CDATA[\n{call}\n]]>\nShall I?")),
    ("comment in Pascal", |call| format!("(*\n{call}\n*)\nShall I?")),
    ("output of a function", |call| format!("<function_output>\n{call}\n</function_output>")),
    ("result of a call", |call| format!("<tool_call_result>{call}</tool_call_result>")),
    ("response to a call", |call| {
        format!("<tool_call_response>\n{call}\n</tool_call_response>\nShall I?")
    }),
    ("output of a call", |call| format!("<function_call_output>{call}</function_call_output>")),
    ("return of a tool", |call| format!("So <tool_return id=\"1\">{call}</tool_return>")),
    ("observation of an action", |call| format!("<ActionObservation>{call}</ActionObservation>")),
    ("element of several lines", |call| {
        format!("<blockquote>\n<p>Text</p>\nHe wrote\n{call}\n</blockquote>\nShall I?")
    }),
];

/// Texts around a call that may quote it, so that no tool runs that changes something.
const DOUBTFUL: [(&str, &str); 12] = [
    ("/*\n", ""),
    ("x = \"\"\"\n", ""),
    ("<![CDATA[\nfirst\n", "\n"),
    ("/*\n\n", "\nno end"),
    ("He wrote \"please do\n", "\" to me"),
    ("He wrote \"please do\n", "\nand so on\""),
    ("He wrote “please do\n", ""),
    ("Write `this\n", "\n`"),
    ("<note>\nSee here.\nAnd there.\n", "\n</note>"),
    ("<note>\n'> ", "\n</note>"),
    ("He wrote \"so\nand \"", "\n"),
    ("<section>\n\nText\n\n", "\n\n</section>"),
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

/// Tests of a part of the formats, which run at the same time.
#[test]
fn quoted_calls_are_text_in_odd_numbered_formats() {
    assert_quoted_calls_are_text(0);
}

#[test]
fn quoted_calls_are_text_in_even_numbered_formats() {
    assert_quoted_calls_are_text(1);
}

fn assert_quoted_calls_are_text(first: usize) {
    let tools = tools::all();
    let lookup = lookup(&tools);
    let mut wrong = Vec::new();
    for (at, (format, call)) in calls().into_iter().skip(first).step_by(2).enumerate() {
        for (other_at, (name, quote)) in QUOTATIONS.into_iter().enumerate() {
            let text = quote(call.trim_end());
            let parsed = extract(&text, &lookup);
            if !parsed.calls.is_empty() {
                wrong.push(format!("{format} in {name}: {text}\ngot {:?}", parsed.calls));
            }
            // Each format and each quotation has both lengths.
            let pieces = pieces_of(&text, [1, 7][(at + other_at) % 2]).into_iter();
            let difference = invariants::streamed_difference(&parsed, pieces, &lookup);
            assert_eq!(difference, None, "{format} in {name}");
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
        format!("'tis time. {call}"),
        format!("- first\n- second\n\n{call}"),
        format!("| a |\n|---|\n| b |\n\n{call}"),
        format!("<!-- so --> {call}"),
        format!("> quoted\n\n{call}"),
        format!("    {call}"),
        format!("Now:\n    {call}"),
        format!("`x` and `y`. {call}"),
        format!("<code>x</code> {call}"),
        format!("<li>x</li> {call}"),
        format!("<ul><li>x</li></ul>\n{call}"),
        format!("<answer>{call}</answer>"),
        format!("<list>{call}</list>"),
        format!("See https://x.io // so. {call}"),
        format!("// so\n{call}"),
        format!("- first\n- second\n{call}"),
        format!("- first\n\n  more\n\n{call}"),
        format!("Ok. {call}"),
        format!("So: {call}"),
        format!("Step 1: {call}"),
        format!("### Action: {call}"),
        format!("/* so */\n{call}"),
        format!("\"\"\"so\"\"\"\n{call}"),
        format!("See src/* and **/*.rs.\n{call}"),
        format!("He said \"wait\".\n{call}"),
        format!("He said \"wait\n\n{call}"),
        format!("'tis so\n{call}"),
        format!("`x` and `y`\n{call}"),
        format!("```\n/* \"\"\" ' `\n```\n{call}"),
        format!("<blockquote>\nHe wrote\n</blockquote>\n{call}"),
        format!("<p>One\n<p>Two\nThree\n{call}"),
        format!("<answer>\nSo.\n\n{call}\n</answer>"),
        format!("It is a Vec<T>.\nSo.\n{call}\n</T>"),
        format!("It is a Vec<T>\n{call}"),
    ] {
        let calls = extract(&text, &lookup).calls;
        assert_eq!(calls.len(), 1, "{text}");
        // An element that is not known to hold calls leaves doubt.
        assert_eq!(calls[0].is_doubtful, text.contains("<list>"), "{text}");
        assert_eq!(calls[0].arguments.to_text(), "{}", "{text}");
    }
}

/// Texts that hold a call in a sentence, in its line or behind a label: `@` stands for the call.
const WITHIN_A_LINE: [&str; 89] = [
    "Write **@** to do so.",
    "Write _@_ to do so.",
    "~~@~~",
    "I dropped ~~@~~ now.",
    "See [@](http://x.io).",
    "![@](a.png)",
    "It is so[^1].\n\n[^1]: @",
    "reply = @\n",
    "&gt; @",
    "$ @",
    "x = 1  # @",
    "x = 1; // @",
    "1,2,@,3",
    "Write <<@>> to do so.",
    "Write [@] to do so.",
    "Write {@} to do so.",
    "请写【@】。",
    "Write ´@´ to do so.",
    "Write ″@″ to do so.",
    "[Note: @]",
    "The form — @ — is fixed.",
    "Ex.: @",
    "It takes the form, i.e. @",
    "Bad: @",
    "Wrong:\n@",
    "❌ @",
    "✅ @",
    "Option A: @\nOption B: none",
    "**Option 1:** @",
    "**1.** @",
    "Before: @\nAfter: nothing",
    "Input: @\nOutput: ok",
    "Output: @",
    "2024-01-01 12:00:00 INFO @",
    "[12:00] model: @",
    "src/a.rs:12:@",
    "-@",
    "*@",
    "1.@ or not",
    "→ @",
    "-> @",
    "=> @",
    "~ @",
    "#1 @",
    "x\t@",
    "│ x │ @ │",
    "Should I run @?",
    "Shall I run this?\n@",
    "Soll ich es tun?\n@",
    "I ran @ and it failed.",
    "The previous attempt was @, which failed.",
    "If you agree, I will send @.",
    "If you agree, I will send this:\n@",
    "@ <- this is wrong",
    "@ ← an example",
    "@ - that is what a call looks like",
    "@: this is the syntax of a call",
    "@ = the form of a call",
    "@ (example)",
    "@ // example",
    "@ # example only",
    "He said: \"first paragraph.\n\n@\" and left.",
    "User: @",
    "Fine.\n\nHuman: @",
    "Fine.\n\nUser:\n@",
    "Observation: @",
    "Observation:\n@",
    "[quote]@[/quote]",
    "Man schreibt @ dafür.",
    "1000. @",
    "#+BEGIN_SRC xml\n@\n#+END_SRC\n",
    "----\n@\n----\nShall I?",
    "....\n@\n....\n",
    "The file holds:\n---\n@\n---\n",
    "***\n@\n***",
    "\\begin{verbatim}\n@\n\\end{verbatim}\n",
    "[code]\n@\n[/code]\nShall I?",
    "{code}\n@\n{code}\n",
    "{noformat}\n@\n{noformat}\n",
    "BEGIN QUOTE\n@\nEND QUOTE\n",
    "-----BEGIN MESSAGE-----\n@\n-----END MESSAGE-----\n",
    "cat <<'EOF' > x\n@\nEOF\n",
    "example: |\n  @\nother: 1\n",
    "=begin\n@\n=end\n",
    "!!! note\n    @\n",
    "Please confirm that I may run this:\n@",
    "I could run this:\n@",
    "I would write:\n@",
    "+@",
];

/// A call in the middle of a line is doubtful, or is text.
#[test]
fn call_within_a_line_is_doubtful_in_odd_numbered_formats() {
    assert_call_within_a_line_is_doubtful(0);
}

#[test]
fn call_within_a_line_is_doubtful_in_even_numbered_formats() {
    assert_call_within_a_line_is_doubtful(1);
}

fn assert_call_within_a_line_is_doubtful(first: usize) {
    let tools = tools::all();
    let lookup = lookup(&tools);
    let mut wrong = Vec::new();
    for (at, (format, call)) in calls().into_iter().skip(first).step_by(2).enumerate() {
        for (other_at, pattern) in WITHIN_A_LINE.into_iter().enumerate() {
            let text = pattern.replace('@', &in_one_line(call.trim_end()));
            let parsed = extract(&text, &lookup);
            if parsed.calls.iter().any(|call| !call.is_doubtful) {
                wrong.push(format!("{format} in {pattern}: {:?}", parsed.calls));
            }
            // Each format and each pattern has both lengths.
            let pieces = pieces_of(&text, [1, 5][(at + other_at) % 2]).into_iter();
            let difference = invariants::streamed_difference(&parsed, pieces, &lookup);
            assert_eq!(difference, None, "{format} in {pattern}");
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A call that may be quoted is doubtful, or is text.
#[test]
fn possibly_quoted_calls_are_doubtful() {
    let tools = tools::all();
    let lookup = lookup(&tools);
    for (format, call) in calls() {
        for (before, after) in DOUBTFUL {
            let text = format!("{before}{}{after}", call.trim_end());
            let parsed = extract(&text, &lookup);
            for call in &parsed.calls {
                assert!(call.is_doubtful, "{format}: {text}\ngot {call}");
            }
            let pieces = text.split_inclusive(['>', '\n', '"', '*']);
            let difference = invariants::streamed_difference(&parsed, pieces, &lookup);
            assert_eq!(difference, None, "{format}: {text}");
        }
    }
}

/// Visible channels of each format: the start, the end, and a call after the text of the channel.
const CHANNELS: [(&str, &str, &str); 4] = [
    (
        "<|channel|>final<|message|>",
        "<|return|>",
        "<|channel|>commentary to=functions.now<|message|>{}<|call|>",
    ),
    (
        "<|channel|>final<|message|>",
        "<|return|>",
        "<|start|>assistant<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}<|call|>",
    ),
    (
        "<|channel|>commentary<|message|>",
        "<|end|>",
        "<|channel|>commentary to=functions.now<|message|>{}<|call|>",
    ),
    (
        "<|content_text|>",
        "<|end_message|>",
        "<|content_invoke_tool_json|>{\"name\": \"now\", \"args\": {}}<|end_message|>",
    ),
];

/// A quotation in a visible channel holds no call, although the next message would end the channel.
#[test]
fn quoted_calls_in_visible_channels_are_text() {
    let tools = tools::all();
    let lookup = lookup(&tools);
    let fences: [(&str, Quotation); 2] = [
        ("fence", |call| format!("Use:\n```\n{call}\n```\nShall I?")),
        ("inline code in a sentence", |call| format!("Use `{call}`, please.")),
    ];
    let mut wrong = Vec::new();
    for (start, end, call) in CHANNELS {
        for (name, quote) in QUOTATIONS.into_iter().chain(fences) {
            let content = quote(call);
            let text = format!("{start}{content}{end}");
            let parsed = extract(&text, &lookup);
            // The call may take the end of the channel for its own, after a line break.
            let is_unchanged = parsed.text == content || content.ends_with('\n');
            if !parsed.calls.is_empty() || !is_unchanged {
                wrong.push(format!("{name}: {text}\ngot {parsed:?}"));
            }
            let pieces: Vec<_> = text.split_inclusive(['|', '\n']).collect();
            let difference = invariants::streamed_difference(&parsed, pieces.into_iter(), &lookup);
            assert_eq!(difference, None, "{text}");
        }
        for before in [
            "",
            "One moment.",
            "One moment",
            "He said \"wait\".\n",
            "- a\n- b\n\n",
            "```\nx\n```\n",
        ] {
            let text = format!("{start}{before}{call}");
            let parsed = extract(&text, &lookup);
            assert_eq!(
                (parsed.calls.len(), parsed.text.as_str()),
                (1, before.trim_end()),
                "{text}"
            );
            for length in 1..9 {
                let pieces = pieces_of(&text, length).into_iter();
                let difference = invariants::streamed_difference(&parsed, pieces, &lookup);
                assert_eq!(difference, None, "{text}");
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}

/// The end of a visible channel in a quotation is text.
#[test]
fn quoted_end_of_channel_is_text() {
    for (start, end) in [
        ("<|channel|>final<|message|>", "<|return|>"),
        ("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
        ("<|content_text|>", "<|end_message|>"),
        ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ] {
        for content in [
            format!("It ends with `{end}`, always."),
            format!("- It ends with {end} always.\n- So."),
            format!("It ends so:\n\n    {end}\n\nAlways."),
            format!("/*\n{end}\n*/\nAlways."),
            "- One.\n- Two.".to_owned(),
            "> Quoted".to_owned(),
            "It is \"so".to_owned(),
        ] {
            let text = format!("{start}{content}{end}");
            let offered = tools::all();
            assert_eq!(extract(&text, &lookup(&offered)).text, content, "{text}");
        }
    }
}
