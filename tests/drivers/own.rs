//! Formats that others write.

use tool_runtime::drivers::Text;
use tool_runtime::drivers::text::{Format, Formats, Found, Miss, Offered, Opener, Rest, Typed};
use tool_runtime::models::Finish;
use tool_runtime::{
    Agent, ChatReply, Message, ScriptedModel, ToolCall, ToolDefinition, tool, tools,
};

/// `>> cancel reference=Q7`, up to the end of its line.
#[derive(Debug)]
struct Lines;

impl Format for Lines {
    fn name(&self) -> &'static str {
        "lines"
    }

    fn openers(&self) -> &[Opener] {
        &[Opener::Line(">> ")]
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let text = rest.text.get(3..).ok_or(Miss::Text)?;
        let (line, is_ended) = match text.split_once('\n') {
            Some((line, _)) => (line, true),
            None if rest.is_end => (text, !offered.is_cut_short()),
            None => return Err(Miss::More),
        };
        let (name, member) = line.split_once(' ').ok_or(Miss::Text)?;
        let (key, value) = member.split_once('=').ok_or(Miss::Text)?;
        let mut arguments = Typed::new(offered.find(name).ok_or(Miss::Text)?);
        match is_ended {
            true => arguments.raw(key, value),
            false => arguments.cut(key, value),
        }
        let call = offered.call(name, arguments.finish(is_ended)).ok_or(Miss::Text)?;
        Ok(Found::Calls { calls: vec![call], end: 3 + line.len() })
    }
}

/// Cancels a booking.
#[tool(effect = "write")]
async fn cancel(reference: String) -> String {
    format!("{reference} is cancelled")
}

/// The last line of a text is a call, but of one that was cut off it may be half of one.
#[tokio::test]
async fn a_call_that_its_line_ends_is_whole_unless_the_reply_was_cut() {
    for (finish, is_run) in [(Finish::Stop, true), (Finish::Length, false)] {
        let mut said = ChatReply::text("I do it now.\n>> cancel reference=Q7");
        said.finish = finish;
        let model = ScriptedModel::new([said, ChatReply::text("Done.")]);
        let driver = Text::new().formats(Formats::new().with(Lines));
        let answer = Agent::new(model, tools![cancel]).driver(driver).run("Go").await.unwrap();
        let Message::Tool { results } = &answer.transcript[2] else { panic!("{answer:?}") };
        assert_eq!(results[0].is_success(), is_run, "{:?}", results[0]);
    }
}

/// Finds what there is not.
#[derive(Debug)]
struct Wrong {
    is_last: bool,
}

impl Format for Wrong {
    fn name(&self) -> &'static str {
        "wrong"
    }

    fn openers(&self) -> &[Opener] {
        &[Opener::Marker("@")]
    }

    fn is_last(&self) -> bool {
        self.is_last
    }

    fn read(&self, rest: Rest<'_>, _: &Offered<'_>) -> Result<Found, Miss> {
        let calls = |name: &str| vec![ToolCall::new("", name, "{}")];
        let what = rest.text.get(1..).unwrap_or_default();
        Ok(match what.chars().next() {
            Some('a') => Found::Text { end: 0 },
            Some('b') => Found::Calls { calls: calls("cancel"), end: 0 },
            Some('c') => Found::Calls { calls: calls("cancel"), end: 1_000 },
            Some('d') => Found::Calls { calls: calls("nobody"), end: 2 },
            Some('e') => Found::Channel { end: 0, is_shown: true, closers: &[], stops: &["@"] },
            _ => Found::Text { end: 2 },
        })
    }
}

/// Whatever a format finds, the text is read to its end, and nothing is lost of it or called that isn't offered.
#[test]
fn a_format_that_is_wrong_loses_nothing() {
    let cancel = ToolDefinition::new("cancel", "Cancels.", serde_json::json!({ "type": "object" }));
    let offered = Offered::new(&[&cancel]);
    for is_last in [false, true] {
        let formats = Formats::new().with(Wrong { is_last });
        for what in ["a", "b", "c", "d", "e", "\u{e9}", ""] {
            for text in
                [format!("@{what}"), format!("So:\n@{what}\n"), format!("```\n@{what}\n```")]
            {
                let read = formats.extract(&text, &offered);
                assert_eq!((read.text.as_str(), read.calls.as_slice()), (text.as_str(), &[][..]));
            }
        }
    }
}
