//! The rows of the table: facts from the documentation and the official and community clients of
//! November 2026. A row holds for the families that it names.

use super::family::Family;
use super::{ChatTools, ModelTraits, Reasoning, Support};

pub(super) struct Row {
    pub(super) families: &'static [Family],
    pub(super) traits: ModelTraits,
}

/// A model of which nothing is known.
pub(super) const ANY: ModelTraits = ModelTraits {
    reasoning: Reasoning::OnRequest,
    sampling: Support::Accepted,
    penalties: Support::Accepted,
    stop: Support::Accepted,
    forced_call: Support::Accepted,
    chat_tools: ChatTools::Unconditional,
    encrypts_reasoning: true,
    max_tokens: 8_192,
    signs_calls: false,
};

/// GPT without reasoning.
const PLAIN_GPT: ModelTraits = ModelTraits { encrypts_reasoning: false, ..ANY };

/// GPT that always reasons.
const REASONING_GPT: ModelTraits = ModelTraits {
    reasoning: Reasoning::Always,
    sampling: Support::Refused,
    stop: Support::Refused,
    ..ANY
};

/// GPT whose reasoning can be disabled, and is disabled by default.
const OPTIONAL_GPT: ModelTraits =
    ModelTraits { sampling: Support::WithoutReasoning, stop: Support::Refused, ..ANY };

/// GPT whose reasoning can be disabled.
const NEWEST_GPT: ModelTraits = ModelTraits { reasoning: Reasoning::ByDefault, ..OPTIONAL_GPT };

/// Claude up to the generation 4.6, which reasons within a budget.
const BUDGET_CLAUDE: ModelTraits =
    ModelTraits { forced_call: Support::WithoutReasoning, max_tokens: 64_000, ..ANY };

/// Claude from the generation 4.7 on.
const ADAPTIVE_CLAUDE: ModelTraits = ModelTraits { sampling: Support::Refused, ..BUDGET_CLAUDE };

/// Claude that always reasons.
const NEWEST_CLAUDE: ModelTraits =
    ModelTraits { reasoning: Reasoning::Always, forced_call: Support::Refused, ..ADAPTIVE_CLAUDE };

pub(super) const ROWS: &[Row] = &[
    // OpenAI.
    Row {
        families: &[
            Family("gpt-3.5"),
            Family("gpt-3#"),
            Family("gpt-4"),
            Family("gpt-4.#"),
            Family("gpt-4o"),
            Family("chatgpt-"),
            Family("gpt-5-chat"),
        ],
        traits: PLAIN_GPT,
    },
    Row { families: &[Family("o3"), Family("o4")], traits: REASONING_GPT },
    Row {
        families: &[Family("o1"), Family("o3-mini")],
        traits: ModelTraits { stop: Support::Accepted, ..REASONING_GPT },
    },
    Row { families: &[Family("gpt-5")], traits: REASONING_GPT },
    Row {
        families: &[Family("gpt-5.1-chat"), Family("gpt-5.2-chat"), Family("gpt-5.3-chat")],
        traits: ModelTraits { encrypts_reasoning: false, ..NEWEST_GPT },
    },
    Row { families: &[Family("gpt-5.1"), Family("gpt-5.2")], traits: OPTIONAL_GPT },
    Row { families: &[Family("gpt-5.3")], traits: NEWEST_GPT },
    Row {
        families: &[Family("gpt-5.4")],
        traits: ModelTraits { chat_tools: ChatTools::WithoutEffort, ..OPTIONAL_GPT },
    },
    Row {
        families: &[Family("gpt-5.5")],
        traits: ModelTraits { chat_tools: ChatTools::WithoutEffort, ..NEWEST_GPT },
    },
    Row {
        families: &[Family("gpt-5.6")],
        traits: ModelTraits { chat_tools: ChatTools::WithEffortNone, ..NEWEST_GPT },
    },
    Row { families: &[Family("gpt-6-astra"), Family("gpt-6.1-sol")], traits: REASONING_GPT },
    Row { families: &[Family("gpt-#")], traits: NEWEST_GPT },
    // Chat models of other makers.
    Row { families: &[Family("chat")], traits: ModelTraits { encrypts_reasoning: false, ..ANY } },
    // Anthropic.
    Row {
        families: &[
            Family("claude-instant"),
            Family("claude-2"),
            Family("claude-2.#"),
            Family("claude-3"),
        ],
        traits: ModelTraits { max_tokens: 4_096, ..BUDGET_CLAUDE },
    },
    Row {
        families: &[Family("claude-3-5")],
        traits: ModelTraits { max_tokens: 8_192, ..BUDGET_CLAUDE },
    },
    Row {
        families: &[Family("claude-opus-4"), Family("claude-opus-4-0"), Family("claude-opus-4-1")],
        traits: ModelTraits { max_tokens: 32_000, ..BUDGET_CLAUDE },
    },
    Row {
        families: &[
            Family("claude-3-7"),
            Family("claude-sonnet-4"),
            Family("claude-sonnet-4-0"),
            Family("claude-haiku-4-5"),
            Family("claude-opus-4-5"),
            Family("claude-sonnet-4-5"),
            Family("claude-opus-4-6"),
            Family("claude-sonnet-4-6"),
        ],
        traits: BUDGET_CLAUDE,
    },
    Row {
        families: &[
            Family("claude-opus-4-7"),
            Family("claude-opus-4-8"),
            Family("claude-sonnet-5"),
        ],
        traits: ADAPTIVE_CLAUDE,
    },
    Row {
        families: &[Family("claude-opus-5")],
        traits: ModelTraits { reasoning: Reasoning::ByDefault, ..ADAPTIVE_CLAUDE },
    },
    Row {
        families: &[Family("claude-haiku-5-5")],
        traits: ModelTraits { forced_call: Support::Accepted, ..ADAPTIVE_CLAUDE },
    },
    Row {
        families: &[Family("claude-fable-5")],
        traits: ModelTraits {
            reasoning: Reasoning::Always,
            forced_call: Support::Accepted,
            ..ADAPTIVE_CLAUDE
        },
    },
    Row { families: &[Family("claude-")], traits: NEWEST_CLAUDE },
    // Google.
    Row {
        families: &[
            Family("gemini-1"),
            Family("gemini-1.#"),
            Family("gemini-2"),
            Family("gemini-2.#"),
        ],
        traits: ANY,
    },
    Row {
        families: &[Family("gemini-2.5")],
        traits: ModelTraits { penalties: Support::Refused, ..ANY },
    },
    Row { families: &[Family("gemini-")], traits: ModelTraits { signs_calls: true, ..ANY } },
];
