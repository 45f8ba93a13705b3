//! Tests of the sentence before a call, which may announce an example.

use super::extract;
use tool_runtime::drivers::Text;
use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, tool, tools};

use super::{invariants, lookup, tools};

const READ: &str = r#"{"name": "search", "arguments": {"query": "x"}}"#;
const WRITE: &str = r#"{"name": "write_file", "arguments": {"path": "a", "content": "b"}}"#;

/// What becomes of a call after a sentence: without a marker, and with one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Call,
    /// Only tools that read may run.
    Doubtful,
    Text,
}

use Outcome::{Call, Doubtful, Text as Example};

fn outcome(text: &str) -> Outcome {
    let offered = tools::all();
    match extract(text, &lookup(&offered)).calls.as_slice() {
        [] => Outcome::Text,
        [call] if call.is_doubtful => Outcome::Doubtful,
        [_] => Outcome::Call,
        calls => panic!("{calls:?}"),
    }
}

#[test]
fn lead_in_decides_whether_call_is_meant() {
    for (lead_in, unmarked, marked) in [
        ("", Call, Call),
        ("I'll look it up.", Call, Call),
        ("Let me check that for you:", Call, Call),
        ("Calling it:", Call, Call),
        ("The sample data has to be read first.", Call, Call),
        ("You can rely on me. I'll write it now:", Call, Call),
        ("To do so, I'll write the file:", Call, Call),
        ("Here is the call:", Doubtful, Call),
        ("To write a file:", Doubtful, Call),
        ("You could call it like this:", Example, Doubtful),
        ("You can call the tool as follows:", Example, Doubtful),
        ("The syntax is:", Example, Doubtful),
        ("A call looks like:", Example, Doubtful),
        ("A call looks so:", Example, Doubtful),
        ("The user wrote:", Example, Doubtful),
        ("The page contains:", Example, Doubtful),
        ("My colleague says:", Example, Doubtful),
        ("Never write", Example, Doubtful),
        ("Do not call it:", Example, Doubtful),
        ("Don't do this:", Example, Doubtful),
        ("Avoid calls such as", Example, Doubtful),
        ("I don't know yet. Looking it up:", Call, Call),
        ("I don't have that file.", Call, Call),
        ("The user said so, so I'll write it:", Call, Call),
        ("For example:", Example, Doubtful),
        ("For instance, with a file", Example, Doubtful),
        ("Zum Beispiel:", Example, Doubtful),
        ("Par exemple :", Example, Doubtful),
        ("Por ejemplo:", Example, Doubtful),
        ("例えば：", Example, Doubtful),
        ("I will not run this:", Example, Doubtful),
        ("I'll never write that:", Example, Doubtful),
        ("I won't run this:", Example, Doubtful),
        ("I am not going to do this:", Example, Doubtful),
        ("We must not make this call:", Example, Doubtful),
        ("You shouldn't send that:", Example, Doubtful),
        ("Let me not run it:", Example, Doubtful),
        ("I'll show you what we must not run:", Example, Doubtful),
        ("Das werde ich nicht ausführen:", Example, Doubtful),
        ("I can't see it yet, so I'll read it:", Call, Call),
        ("I'll make sure to lose nothing:", Call, Call),
        ("It doesn't exist. Writing it now:", Call, Call),
        ("There is no such file, so I'll write it:", Call, Call),
        ("How to write a file:", Doubtful, Call),
        ("Usage:", Doubtful, Call),
        ("*Usage:*", Doubtful, Call),
        ("I'll explain how it is called:", Doubtful, Call),
        ("Du koenntest es so aufrufen:", Example, Doubtful),
        ("So ruft man es auf:", Example, Doubtful),
        ("On l'appelle ainsi :", Example, Doubtful),
        ("Se llama de este modo:", Example, Doubtful),
        ("Вызов выглядит так:", Example, Doubtful),
        ("呼び出し方：", Example, Doubtful),
        ("Du könntest es so aufrufen:", Example, Doubtful),
        ("Vous pouvez l'appeler de cette façon :", Example, Doubtful),
        ("Puedes llamarla así:", Example, Doubtful),
        ("Puoi chiamarlo in questo modo:", Example, Doubtful),
        ("Você pode chamar desta forma:", Example, Doubtful),
        ("Je kunt het op deze manier aanroepen:", Example, Doubtful),
        ("Można to wywołać w ten sposób:", Example, Doubtful),
        ("Lze to zavolat takto:", Example, Doubtful),
        ("Şu şekilde çağırabilirsin:", Example, Doubtful),
        ("Это можно вызвать так:", Example, Doubtful),
        ("可以这样调用：", Example, Doubtful),
        ("次のように呼び出せます：", Example, Doubtful),
        ("다음과 같이 호출합니다:", Example, Doubtful),
        ("يمكنك استدعاؤها هكذا:", Example, Doubtful),
        ("Ich werde die Datei jetzt schreiben:", Call, Call),
        ("Voy a escribir el archivo:", Call, Call),
        // Models lead to calls that they mean by such sentences, so the marker decides.
        ("Now the configuration:", Doubtful, Call),
        ("First, create the directory:", Doubtful, Call),
        ("Als Nächstes die Datei:", Doubtful, Call),
        ("Je vais écrire le fichier :", Call, Call),
        ("Tool call:", Call, Call),
        ("Next step:", Call, Call),
        ("The tool call:", Doubtful, Call),
        ("Call format:", Doubtful, Call),
        ("Use this format:", Example, Doubtful),
        ("Output of the last run:", Example, Doubtful),
    ] {
        let gap = if lead_in.is_empty() { "" } else { "\n\n" };
        for call in [READ, WRITE] {
            for text in
                [format!("{lead_in}{gap}{call}"), format!("{lead_in}{gap}```json\n{call}\n```")]
            {
                assert_eq!(outcome(&text), unmarked, "{text}");
            }
            let text = format!("{lead_in}{gap}<tool_call>{call}</tool_call>");
            assert_eq!(outcome(&text), marked, "{text}");
        }
    }
}

/// A sentence that continues with the call may negate it. A sentence that ended before does not.
#[test]
fn negation_before_a_call_in_its_line_counts() {
    for (before, marked) in [
        ("We must not call ", Doubtful),
        ("I will not run this: ", Doubtful),
        ("I won't run ", Doubtful),
        ("Nobody should call it, instead of ", Doubtful),
        ("I can't wait. ", Call),
        ("I must not fail. I'll run ", Call),
        ("Since I can't see it, I'll run ", Call),
        ("I can't see it\n", Call),
    ] {
        let text = format!("{before}<tool_call>{WRITE}</tool_call>");
        assert_eq!(outcome(&text), marked, "{text}");
    }
}

/// The sentence of a call may go on after it.
#[test]
fn description_after_a_call_in_its_sentence_counts() {
    for (after, marked) in [
        (" is how you would call it.", Doubtful),
        (" would write the file.", Doubtful),
        (", for example.", Doubtful),
        (" (as an example)", Doubtful),
        (" must not be sent.", Doubtful),
        (" is not what I'll do.", Doubtful),
        (" wäre ein Aufruf.", Doubtful),
        ("", Call),
        ("\nThat is how it is done.", Call),
        (" I wrote it.", Call),
        (" isabel", Doubtful),
        (" Isabel", Call),
        (". Would you like more?", Call),
        ("\nThis is only an example.", Doubtful),
        ("\n\nThe path is made up. That was just an example.", Doubtful),
        ("\nShall I run it?", Doubtful),
        ("\n\nIt overwrites the file. Do you want me to proceed?", Doubtful),
        ("\nShall I also send a mail?", Call),
        ("\n\nPlease confirm.", Doubtful),
        ("\n\nI have not run it.", Doubtful),
        ("\r\n\r\nNur ein Beispiel.", Doubtful),
    ] {
        let text = format!("<tool_call>{WRITE}</tool_call>{after}");
        assert_eq!(outcome(&text), marked, "{text}");
        let offered = tools::all();
        let lookup = lookup(&offered);
        let whole = extract(&text, &lookup);
        let pieces = text.split_inclusive([' ', '>', 'o']);
        assert_eq!(invariants::streamed_difference(&whole, pieces, &lookup), None, "{text}");
    }
}

#[test]
fn call_is_doubtful_however_its_arguments_are_written() {
    let offered = tools::all();
    for arguments in [
        r#"{"path": "a", "content": "b"}"#,
        r#"{"path": "a", "content": "b"}}"#,
        r#""{\"path\": \"a\", \"content\": \"b\"}""#,
        r#""\"{\\\"path\\\": \\\"a\\\", \\\"content\\\": \\\"b\\\"}\"""#,
        r#"[{"path": "a", "content": "b"}]"#,
        r#"{"arguments": {"path": "a", "content": "b"}}"#,
        r#"{path: 'a', content: 'b'}"#,
    ] {
        for call in [
            format!(r#"<tool_call>{{"name": "write_file", "arguments": {arguments}}}</tool_call>"#),
            format!("[TOOL_CALLS]write_file[ARGS]{arguments}"),
            format!("<|channel|>commentary to=functions.write_file<|message|>{arguments}<|call|>"),
            format!("<function=write_file>{arguments}</function>"),
            format!(
                "<tool_calls>[{{\"tool\": \"write_file\", \"args\": {arguments}}}]</tool_calls>"
            ),
        ] {
            for text in [format!("For example:\n{call}"), format!("(See {call})\n({call}")] {
                for call in extract(&text, &lookup(&offered)).calls {
                    assert!(call.is_doubtful, "{text}");
                }
            }
        }
    }
}

/// A call in parentheses or in an element that is not known to hold calls may be an example, as may
/// a call without a marker under a heading.
#[test]
fn enclosed_call_does_not_count_as_meant() {
    for (before, after, unmarked, marked) in [
        ("(", ")", Example, Doubtful),
        ("You see (", ").", Example, Doubtful),
        ("(See ", ")", Example, Doubtful),
        ("Sorry :( ", "", Example, Call),
        ("（", "）", Example, Doubtful),
        ("# Example\n", "", Example, Doubtful),
        ("## Usage\n\n", "", Example, Doubtful),
        ("**How to write a file**\n", "", Example, Doubtful),
        ("### Notes\n", "", Doubtful, Call),
        ("### Next step\n", "", Call, Call),
        ("# Tool call\n", "", Call, Call),
        ("# Notes\n\nI'll write it now.\n", "", Call, Call),
        ("<note>", "</note>", Example, Doubtful),
        ("<note>\n", "\n</note>", Doubtful, Doubtful),
        ("<documentation lang=\"en\">\n", "\n</documentation>", Doubtful, Doubtful),
        ("<note>See: ", "</note>", Example, Doubtful),
        ("Hi! <memo>", "</memo>", Example, Doubtful),
        ("<answer>", "</answer>", Example, Call),
        ("<final_response>\n", "\n</final_response>", Call, Call),
        ("<b>Now</b>\n", "", Call, Call),
        ("a < b and c > d\n", "", Call, Call),
        ("One line.<br>\n", "", Call, Call),
    ] {
        let text = format!("{before}{WRITE}{after}");
        let is_expected = outcome(&text) == unmarked || after.contains("</");
        assert!(is_expected, "{text}: {:?}", outcome(&text));
        let text = format!("{before}<tool_call>{WRITE}</tool_call>{after}");
        assert_eq!(outcome(&text), marked, "{text}");
    }
}

/// The sentence of the first call counts for the calls after it.
#[test]
fn lead_in_counts_for_all_calls_after_it() {
    let text =
        format!("For example:\n<tool_call>{WRITE}</tool_call>\n<tool_call>{READ}</tool_call>");
    let offered = tools::all();
    let calls = extract(&text, &lookup(&offered)).calls;
    assert!(calls.iter().all(|call| call.is_doubtful), "{calls:?}");
    assert_eq!(calls.len(), 2);
}

/// A remark counts for the calls before it, up to the text before them.
#[test]
fn remark_counts_for_the_calls_directly_before_it() {
    let offered = tools::all();
    let call = format!("<tool_call>{WRITE}</tool_call>");
    for (text, expected) in [
        (format!("{call}\n{call}\n\nThis is only an example."), vec![true, true]),
        (format!("{call}\nI wrote it.\n{call}\nShall I run it?"), vec![false, true]),
        (format!("So:\n{call}\nThat was an example. Now:\n{call}"), vec![true, false]),
        (format!("Shall I run it? I'll do so.\n{call}"), vec![false]),
    ] {
        let whole = extract(&text, &lookup(&offered));
        let doubts: Vec<_> = whole.calls.iter().map(|call| call.is_doubtful).collect();
        assert_eq!(doubts, expected, "{text}");
        let pieces = text.split_inclusive([' ', '>', 'o']);
        assert_eq!(invariants::streamed_difference(&whole, pieces, &lookup(&offered)), None);
    }
}

/// Writes a file.
#[tool(effect = "write")]
async fn write_file(path: String, content: String) -> String {
    format!("{path} has {content}")
}

#[tokio::test]
async fn doubtful_call_of_writing_tool_asks_model() {
    let call = format!("For example:\n<tool_call>{WRITE}</tool_call>");
    let model =
        ScriptedModel::new([ChatReply::text(call), ChatReply::text("That was an example.")]);
    let agent = Agent::new(model, tools![write_file]).driver(Text::new());
    let answer = agent.run("How do I write?").await.expect("an answer");
    assert_eq!(answer.text, "That was an example.");
    let Message::Tool { results } = &answer.transcript[2] else { panic!("{answer:?}") };
    assert!(!results[0].is_success(), "{}", results[0].text);
}
