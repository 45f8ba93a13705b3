//! Tests of third-party formats.

use tool_runtime::drivers::Text;
use tool_runtime::drivers::text::{
    ArgumentBuilder, Format, Formats, Input, Match, NoMatch, StartMarker, ToolLookup,
};
use tool_runtime::models::FinishReason;
use tool_runtime::{
    Agent, ChatReply, Message, ScriptedModel, ToolCall, ToolDefinition, tool, tools,
};

/// The format `>> cancel reference=Q7`, up to the end of the line.
#[derive(Debug)]
struct LineFormat;

impl Format for LineFormat {
    fn name(&self) -> &'static str {
        "lines"
    }

    fn start_markers(&self) -> &[StartMarker] {
        &[StartMarker::LineStart(">> ")]
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let text = input.text.get(3..).ok_or(NoMatch::Text)?;
        let (line, is_complete) = match text.split_once('\n') {
            Some((line, _)) => (line, true),
            None if input.is_complete => (text, !tools.is_truncated()),
            None => return Err(NoMatch::Incomplete),
        };
        let (name, member) = line.split_once(' ').ok_or(NoMatch::Text)?;
        let (key, value) = member.split_once('=').ok_or(NoMatch::Text)?;
        let mut arguments = ArgumentBuilder::new(tools.find(name).ok_or(NoMatch::Text)?);
        if is_complete {
            arguments.raw(key, value);
        } else {
            arguments.truncated(key, value);
        }
        let call = tools.call(name, arguments.finish(is_complete)).ok_or(NoMatch::Text)?;
        Ok(Match::Calls { calls: vec![call], end: 3 + line.len() })
    }
}

/// Cancels a booking.
#[tool(effect = "write")]
async fn cancel(reference: String) -> String {
    format!("{reference} is cancelled")
}

/// Without a line break, the last line is a complete call, except in a truncated reply.
#[tokio::test]
async fn last_line_is_complete_unless_reply_is_truncated() {
    for (finish, is_run) in [(FinishReason::Stop, true), (FinishReason::Length, false)] {
        let mut reply = ChatReply::text("I do it now.\n>> cancel reference=Q7");
        reply.finish_reason = finish;
        let model = ScriptedModel::new([reply, ChatReply::text("Done.")]);
        let driver = Text::new().formats(Formats::new().with(LineFormat));
        let answer = Agent::new(model, tools![cancel]).driver(driver).run("Go").await.unwrap();
        let Message::Tool { results } = &answer.transcript[2] else { panic!("{answer:?}") };
        assert_eq!(results[0].is_success(), is_run, "{:?}", results[0]);
    }
}

/// A format that returns invalid matches.
#[derive(Debug)]
struct InvalidFormat {
    only_at_end: bool,
}

impl Format for InvalidFormat {
    fn name(&self) -> &'static str {
        "wrong"
    }

    fn start_markers(&self) -> &[StartMarker] {
        &[StartMarker::Anywhere("@")]
    }

    fn only_at_end(&self) -> bool {
        self.only_at_end
    }

    fn parse(&self, input: Input<'_>, _: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let calls = |name: &str| vec![ToolCall::new("", name, "{}")];
        let rest = input.text.get(1..).unwrap_or_default();
        Ok(match rest.chars().next() {
            Some('a') => Match::Text { end: 0 },
            Some('b') => Match::Calls { calls: calls("cancel"), end: 0 },
            Some('c') => Match::Calls { calls: calls("cancel"), end: 1_000 },
            Some('d') => Match::Calls { calls: calls("no name"), end: 2 },
            Some('e') => {
                Match::Channel { end: 0, is_visible: true, end_markers: &[], next_markers: &["@"] }
            }
            _ => Match::Text { end: 2 },
        })
    }
}

/// If a format returns an invalid match, the scanner consumes the text as plain text and makes no
/// call.
#[test]
fn invalid_matches_leave_text_unchanged() {
    let cancel = ToolDefinition::new("cancel", "Cancels.", serde_json::json!({ "type": "object" }));
    let tools = ToolLookup::new(&[&cancel]);
    for only_at_end in [false, true] {
        let formats = Formats::new().with(InvalidFormat { only_at_end });
        for rest in ["a", "b", "c", "d", "e", "\u{e9}", ""] {
            for text in
                [format!("@{rest}"), format!("So:\n@{rest}\n"), format!("```\n@{rest}\n```")]
            {
                let parsed = formats.extract(&text, &tools);
                assert_eq!(
                    (parsed.text.as_str(), parsed.calls.as_slice()),
                    (text.as_str(), &[][..])
                );
            }
        }
    }
}
