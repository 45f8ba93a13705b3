//! Formats that others write.

use tool_runtime::drivers::Text;
use tool_runtime::drivers::text::{Format, Formats, Found, Miss, Offered, Opener, Rest, Typed};
use tool_runtime::models::Finish;
use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, tool, tools};

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
