//! Validates the answer of a run, and requests another one if it is rejected.

use std::sync::Arc;

use super::Run;
use super::reply_deltas::awaits_validation;
use crate::agent::StopReason;
use crate::event::ModelEvent;
use crate::guard::{BoxFuture, CatchPanic, Panic};
use crate::message::{ContentPart, Message};
use crate::tool::RunContext;

impl Run {
    /// Validates the answer if the last reply contains one.
    ///
    /// The transcript with an answer is saved only after this, so that a resumed run never ends
    /// with an answer that was not validated.
    pub(super) async fn validate_answer(&mut self) -> Result<(), StopReason> {
        if !awaits_validation(&self.agent, self.turn()) {
            return Ok(());
        }
        let answer = self.turn().transcript().last().map(Message::text).unwrap_or_default();
        let found = self.find_rejection(&answer).await;
        self.emit_held_back(matches!(found, Ok(None)));
        let Some(rejection) = found? else {
            self.state.rejected_answers = 0;
            return Ok(());
        };
        self.state.rejected_answers += 1;
        let attempts = self.state.rejected_answers;
        let (mut text, reason) = (answer, rejection.reason());
        self.emit(|| {
            let (text, reason) = (text.clone(), reason.clone());
            ModelEvent::ValidationFailed { text, reason, attempt: attempts }
        });
        if matches!(rejection, Rejection::Panicked(_)) || attempts >= self.agent.max_answer_attempts
        {
            let mut reason = reason;
            self.dispatcher.redact(&mut text);
            self.dispatcher.redact(&mut reason);
            return Err(StopReason::AnswerRejected { attempts, text, reason });
        }
        self.add_to_prompt(vec![ContentPart::Text { text: reason }])?;
        // The event above has the message.
        self.emit_added_as(None);
        Ok(())
    }

    // Exclusive, since a shared borrow of a run can't be sent between threads.
    async fn find_rejection(&mut self, answer: &str) -> Result<Option<Rejection>, StopReason> {
        let (agent, info, origin) = (Arc::clone(&self.agent), self.run_info(), self.origin());
        let extensions = self.dispatcher.registered_extensions();
        let ctx = RunContext::new(&origin, Some(&info))
            .with_transcript(self.turn().transcript())
            .with_extensions(extensions, extensions);
        let deadline = self.deadline();
        for validator in &agent.answer_validators {
            let validate = || -> BoxFuture<'_, Result<(), Rejection>> {
                let validation = validator.validate(answer, &ctx);
                Box::pin(async { validation.await.map_err(Rejection::Feedback) })
            };
            let panicked = |panic| Err(Rejection::Panicked(panic));
            if let Err(rejection) = deadline.wait(CatchPanic::new(validate, panicked)).await? {
                return Ok(Some(rejection));
            }
        }
        Ok(None)
    }
}

enum Rejection {
    Feedback(String),
    Panicked(Panic),
}

impl Rejection {
    fn reason(&self) -> String {
        match self {
            Self::Feedback(text) => text.clone(),
            Self::Panicked(panic) => format!("an answer validator {panic}"),
        }
    }
}
