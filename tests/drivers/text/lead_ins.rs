//! Tests of the sentence before a call, which may announce an example.

use tool_runtime::drivers::Text;
use tool_runtime::drivers::text::extract;
use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, tool, tools};

use super::{lookup, tools};

const READ: &str = r#"{"name": "search", "arguments": {"query": "x"}}"#;
const WRITE: &str = r#"{"name": "write_file", "arguments": {"path": "a", "content": "b"}}"#;

/// What becomes of a call after a sentence: without a marker, and with one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Call,
    /// The arguments count as truncated, so that only tools that read may run.
    Doubtful,
    Text,
}

use Outcome::{Call, Doubtful, Text as Example};

fn outcome(text: &str) -> Outcome {
    let offered = tools::all();
    match extract(text, &lookup(&offered)).calls.as_slice() {
        [] => Outcome::Text,
        [call] if call.arguments.to_text().trim_end().ends_with('}') => Outcome::Call,
        [_] => Outcome::Doubtful,
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

/// A call in parentheses or in an element that is not known to hold calls may be an example, as may
/// a call without a marker under a heading.
#[test]
fn enclosed_call_does_not_count_as_meant() {
    for (before, after, unmarked, marked) in [
        ("(", ")", Example, Doubtful),
        ("You see (", ").", Example, Doubtful),
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
    assert!(calls.iter().all(|call| !call.arguments.to_text().contains('}')), "{calls:?}");
    assert_eq!(calls.len(), 2);
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
