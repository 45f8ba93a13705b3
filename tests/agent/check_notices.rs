//! The startup check of an agent names settings whose effect is easy to miss.

use tool_runtime::agent::{AnswerValidator, CheckNotice, ModelHook, ReplyChanges};
use tool_runtime::{Agent, RunContext, ScriptedModel, Tools, async_trait};

/// Says nothing about what it changes.
struct Silent;

#[async_trait]
impl ModelHook for Silent {}

struct Pieces;

#[async_trait]
impl ModelHook for Pieces {
    fn reply_changes(&self) -> ReplyChanges {
        ReplyChanges::Pieces
    }
}

struct Judge {
    holds_back: bool,
}

#[async_trait]
impl AnswerValidator for Judge {
    async fn validate(&self, _: &str, _: &RunContext<'_>) -> Result<(), String> {
        Ok(())
    }

    fn holds_back_answers(&self) -> bool {
        self.holds_back
    }
}

#[test]
fn hook_and_validator_that_hold_replies_back_are_named_in_notices() {
    let agent = Agent::new(ScriptedModel::default(), Tools::new()).model_hook(Pieces);
    let agent = agent.answer_validator(Judge { holds_back: false });
    assert_eq!(agent.check().unwrap(), []);
    let agent = agent.model_hook(Silent).answer_validator(Judge { holds_back: true });
    let notices = agent.check().unwrap();
    let hook = "runtime::agent::check_notices::Silent";
    let validator = "runtime::agent::check_notices::Judge";
    assert_eq!(
        notices,
        [
            CheckNotice::HookHoldsBackReplies { hook },
            CheckNotice::ValidatorHoldsBackAnswers { validator },
        ]
    );
    let [hook, validator] = [0, 1].map(|index: usize| notices[index].to_string());
    assert!(
        hook.contains("check_notices::Silent` holds back")
            && hook.contains("`ModelHook::reply_changes`"),
        "{hook}"
    );
    assert!(
        validator.contains("check_notices::Judge` holds back")
            && validator.contains("`AnswerValidator::holds_back_answers`"),
        "{validator}"
    );
}
