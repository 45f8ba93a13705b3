//! Asks the model, and takes its reply.

use std::borrow::Cow;
use std::iter;
use std::sync::Arc;

use tokio::time::Instant;

use super::Run;
use crate::agent::StopReason;
use crate::agent::ask::{Question, asked};
use crate::agent::budget::RequestBudget;
use crate::agent::choice::{choose, options};
use crate::agent::state::RunState;
use crate::event::{ModelEvent, Origin, ToolEvent, micros};
use crate::guard::{let_go, text};
use crate::message::{Message, Usage};
use crate::models::ChatRequest;
use crate::span;
use crate::tool::Spent;

impl Run {
    pub(super) async fn ask(&mut self) -> Result<(), StopReason> {
        let tools = self.tools_to_offer();
        self.dispatcher.look_out(&tools, iter::empty());
        let config = Arc::clone(&self.agent);
        let agent = config.as_ref();
        let until = self.until(agent);
        let dispatcher = &self.dispatcher;
        let offered = until.wait(choose(agent, &mut self.state.turn, dispatcher, &tools)).await?;

        let RunState { turn, window: shown, began, .. } = &mut self.state;
        let origin = Origin { turn: turn.iterations() + 1, ..self.root.clone() };
        dispatcher.tell(&origin, || ModelEvent::Asked);
        let started = Instant::now();
        let options = options(agent, turn, self.wanted.as_ref());
        let tell = |event: ModelEvent| dispatcher.tell(&origin, || event);
        let messages = match &agent.window {
            None => Cow::Borrowed(turn.transcript()),
            Some(window) => {
                let fitted = until.wait(window.fit(turn.transcript(), *began, shown)).await?;
                if let Some(failed) = fitted.summary_error {
                    tell(ModelEvent::SummaryFailed { reason: text(&failed) });
                    let_go(failed);
                }
                fitted.messages
            }
        };
        let request = ChatRequest::new(&messages).tools(&offered);
        let estimated = agent.window.as_ref().map(|window| window.estimate(&request));
        let asked = asked(request, options);
        let pieces = self.pieces.as_mut();
        let mut told =
            Told { budget: RequestBudget::new(turn), spent: &self.spent, is_counted: false };
        let question = Question { agent, asked, pieces, tell: &tell, budget: &mut told.budget };
        let reply = async { until.wait(Box::pin(question.answer())).await? };
        let reply = match span::within(span::chat(), reply, StopReason::error).await {
            Ok(reply) => reply,
            Err(why) => {
                drop((messages, told));
                self.state.turn.add_metered(self.spent.take());
                return Err(why);
            }
        };
        let took = micros::in_full(started.elapsed());
        // Those that were taken away meanwhile may have been kept for this run alone: their destructors are foreign code.
        let_go(self.tools.replace(tools));

        if let (Some(estimated), Some(usage)) = (estimated, told.budget.first_usage()) {
            shown.calibrate(estimated, usage.input);
        }
        drop(messages);
        let turn = &mut self.state.turn;
        let (before, usage) = (turn.transcript().len(), reply.usage);
        let mut spent = told.uncounted();
        spent += usage.unwrap_or_default();
        turn.on_reply_with_usage(reply, spent)?;
        // Told of what was taken into the transcript: there the calls have the ids that they run under.
        let mut told = turn.transcript().iter().skip(before);
        let Some(said) = told.next() else { return Ok(()) };
        dispatcher.tell(&origin, || {
            let calls = said.calls().cloned().collect();
            let (text, reasoning) = (said.text(), said.reasoning());
            ModelEvent::Replied { text, reasoning, calls, usage, took }
        });
        // Calls that the turn answered itself have their result now.
        if let Some(Message::Tool { results }) = told.next() {
            for (call, result) in said.calls().zip(results) {
                let unrun = || dispatcher.unrun(call.clone(), result.clone());
                dispatcher.tell(&origin, || ToolEvent::Finished(unrun()));
            }
        }
        Ok(())
    }
}

/// What the replies to a question took: it counts also where nobody waits for one that can be read.
struct Told<'r> {
    budget: RequestBudget,
    spent: &'r Spent,
    is_counted: bool,
}

impl Told<'_> {
    /// There is a reply, which says what they took; but for what nobody has counted, which this is.
    fn uncounted(mut self) -> Usage {
        self.is_counted = true;
        self.budget.estimated_usage()
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if !self.is_counted {
            self.spent.add(self.budget.total_usage());
        }
    }
}
