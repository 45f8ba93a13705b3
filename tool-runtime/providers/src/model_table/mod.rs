//! The traits of models as data: one row for each family of models.
//!
//! A codec looks up the traits of its model ([`traits`]) and encodes the request. When the body is
//! complete, [`check_options`] and [`fit_chat_tools`] compare it with the traits, so that options
//! of every origin are seen, and a request that the model would refuse is not sent.
//!
//! - `rows.rs`: the rows. New facts about models belong there.
//! - `family.rs`: which names belong to a family.
//! - `rules.rs`: the comparison of a body with the traits.

mod family;
mod rows;
mod rules;

use self::rows::{ANY, ROWS};
pub(super) use self::rules::{check_options, fit_chat_tools};

/// The options and tools that the models of a family accept, and the defaults that they need.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelTraits {
    /// When the model reasons.
    pub(super) reasoning: Reasoning,
    /// Whether temperature and the like may be set.
    pub(super) sampling: Support,
    /// Whether Gemini accepts penalties of repeated words.
    pub(super) penalties: Support,
    /// Whether chat completions accept stop sequences.
    pub(super) stop: Support,
    /// Whether a tool choice may force a call.
    pub(super) forced_call: Support,
    /// The condition under which chat completions accept tools.
    pub(super) chat_tools: ChatTools,
    /// Whether the Responses API encrypts reasoning on request; it refuses the request otherwise.
    pub(super) encrypts_reasoning: bool,
    /// The default of a token limit that the API requires.
    pub(super) max_tokens: u32,
    /// Whether Gemini requires signatures of calls and reads images in results.
    pub(super) signs_calls: bool,
}

/// When a model reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reasoning {
    /// If the request asks for it.
    OnRequest,
    /// Unless the request disables it.
    ByDefault,
    /// In every request.
    Always,
}

/// Whether a model accepts an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Support {
    Accepted,
    Refused,
    /// Accepted only in requests without reasoning.
    WithoutReasoning,
}

/// The condition under which chat completions accept tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChatTools {
    Unconditional,
    /// `reasoning_effort` is absent or `none`.
    WithoutEffort,
    /// `reasoning_effort` is `none`; it must be sent.
    WithEffortNone,
}

/// Returns the traits of a model: those of the longest family that its name belongs to. An unknown
/// model of a known maker behaves like the newest one, and any other accepts everything.
pub(super) fn traits(model: &str) -> ModelTraits {
    let families = ROWS.iter().flat_map(|row| row.families.iter().map(move |name| (name, row)));
    let longest =
        families.filter(|(family, _)| family.has(model)).max_by_key(|(family, _)| family.len());
    longest.map_or(ANY, |(_, row)| row.traits)
}

#[cfg(test)]
mod tests {
    use super::{ChatTools, Reasoning, Support, traits};

    #[test]
    fn names_of_every_spelling_find_their_row() {
        use ChatTools::{Unconditional, WithEffortNone, WithoutEffort};
        for (names, tools) in [
            (
                &[
                    "gpt-5.6",
                    "gpt-5.6-sol",
                    "gpt-5.6-2026-07-01",
                    "openai/gpt-5.6",
                    "ft:gpt-5.6:acme::1",
                    "team-a-gpt-5.6",
                ][..],
                WithEffortNone,
            ),
            (&["gpt-5.4", "gpt-5.4-mini-2026-03-17", "gpt-5.5", "gpt-5.5-pro"], WithoutEffort),
            (
                &["gpt-5", "gpt-5-mini", "gpt-5.2", "gpt-5.60", "gpt-6-luna", "gpt-7", "m", ""],
                Unconditional,
            ),
        ] {
            for name in names {
                assert_eq!(traits(name).chat_tools, tools, "{name}");
            }
        }
    }

    #[test]
    fn unknown_models_of_a_maker_equal_its_newest() {
        for (name, sampling, forced_call, reasoning) in [
            ("gpt-4o-mini", Support::Accepted, Support::Accepted, Reasoning::OnRequest),
            ("gpt-5-nano", Support::Refused, Support::Accepted, Reasoning::Always),
            ("gpt-5.1", Support::WithoutReasoning, Support::Accepted, Reasoning::OnRequest),
            ("gpt-5.6", Support::WithoutReasoning, Support::Accepted, Reasoning::ByDefault),
            ("gpt-6.1-sol", Support::Refused, Support::Accepted, Reasoning::Always),
            ("gpt-9-new", Support::WithoutReasoning, Support::Accepted, Reasoning::ByDefault),
            ("gpt-oss-20b", Support::Accepted, Support::Accepted, Reasoning::OnRequest),
            ("gpt-neox-20b", Support::Accepted, Support::Accepted, Reasoning::OnRequest),
            ("o3-mini", Support::Refused, Support::Accepted, Reasoning::Always),
            ("marco-o1", Support::Accepted, Support::Accepted, Reasoning::OnRequest),
            (
                "claude-sonnet-4-5",
                Support::Accepted,
                Support::WithoutReasoning,
                Reasoning::OnRequest,
            ),
            (
                "claude-sonnet-4-20250514",
                Support::Accepted,
                Support::WithoutReasoning,
                Reasoning::OnRequest,
            ),
            ("claude-opus-4-7", Support::Refused, Support::WithoutReasoning, Reasoning::OnRequest),
            (
                "claude-opus-5@20260101",
                Support::Refused,
                Support::WithoutReasoning,
                Reasoning::ByDefault,
            ),
            (
                "us.anthropic.claude-opus-5-5-v1:0",
                Support::Refused,
                Support::Refused,
                Reasoning::Always,
            ),
            ("claude-haiku-5-5", Support::Refused, Support::Accepted, Reasoning::OnRequest),
            ("claude-sonnet-9", Support::Refused, Support::Refused, Reasoning::Always),
            ("qwen2.5-coder", Support::Accepted, Support::Accepted, Reasoning::OnRequest),
        ] {
            let found = traits(name);
            assert_eq!(
                (found.sampling, found.forced_call, found.reasoning),
                (sampling, forced_call, reasoning),
                "{name}"
            );
        }
    }

    #[test]
    fn third_generation_of_gemini_signs_calls() {
        for (name, signs_calls) in [
            ("gemini-3.5-flash", true),
            ("models/gemini-4-argon", true),
            ("gemini-flash-latest", true),
            ("gemini-2.5-pro", false),
            ("gemini-2.0-flash-001", false),
            ("gemini-1.5-pro", false),
            ("tunedModels/mine", false),
        ] {
            assert_eq!(traits(name).signs_calls, signs_calls, "{name}");
        }
    }

    #[test]
    fn default_token_limit_follows_the_model() {
        for (name, max_tokens) in [
            ("claude-3-haiku-20240307", 4_096),
            ("claude-3-5-sonnet-20241022", 8_192),
            ("claude-opus-4-1", 32_000),
            ("claude-sonnet-4-5", 64_000),
            ("claude-fable-5-2", 64_000),
            ("m", 8_192),
        ] {
            assert_eq!(traits(name).max_tokens, max_tokens, "{name}");
        }
    }
}
