//! Rules of the policy and the registry that name tools or providers, and apply to none.
//!
//! A misspelled name would otherwise never be noticed: a denial that never applies is as silent as
//! one that is never needed.

pub(crate) mod rule_reports;

use super::policy::Policy;
use super::state::DispatchState;
use crate::dispatch::limits::circuits::Breakers;
use crate::dispatch::limits::concurrency::Concurrency;
use crate::dispatch::limits::rate::RateLimits;
use crate::event::{Event, Origin, RuleSetting, RuleTarget, RunEvent, UnmatchedRule};
use crate::registry::{Entry, Snapshot, name_to_suggest, nearest, nearest_text};
use crate::tool::definition::full_name::split_full_name;

/// A rule for a tool or a provider.
#[derive(Clone, Copy)]
struct Rule<'p> {
    setting: RuleSetting,
    target: RuleTarget,
    name: &'p str,
}

impl DispatchState {
    /// Returns the rules that apply to no tool of the registry.
    pub(super) fn unmatched_rules(&self, tools: &Snapshot) -> Vec<UnmatchedRule> {
        let entries: Vec<_> = tools.unfiltered_entries().collect();
        let of_policy = self.policy.unmatched_rules(&entries);
        let of_registry = tools.unmatched_names().map(|(setting, name)| Rule {
            setting,
            target: RuleTarget::Tool,
            name,
        });
        let rules = of_policy.into_iter().chain(of_registry);
        let known = rules.filter(|rule| !rule.may_apply_later(tools));
        known.map(|rule| rule.unmatched(&entries)).collect()
    }

    /// Emits each rule that applies to no tool, once. A rule for a provider is reported once any
    /// provider has registered its tools.
    pub(super) fn report_unmatched_rules(&self, origin: &Origin, tools: &Snapshot) {
        if self.observers.need_all() && (self.policy.has_rules() || tools.has_named_rules()) {
            self.compare_rules(origin, tools);
        }
    }

    fn compare_rules(&self, origin: &Origin, tools: &Snapshot) {
        let contents = tools.schemas();
        let mut reports = self.rule_reports.lock();
        if reports.compared.as_ref().is_some_and(|compared| compared.ptr_eq(&contents)) {
            return;
        }
        reports.compared = Some(contents);
        let has_providers = tools.unfiltered_entries().any(|entry| entry.provider().is_some());
        let mut unmatched = self.unmatched_rules(tools);
        unmatched.retain(|rule| has_providers || !rule.names_provider());
        unmatched.retain(|rule| reports.reported.insert(rule.clone()));
        drop(reports);
        let redactor = self.redactor.is_active().then_some(&self.redactor);
        for rule in unmatched {
            self.observers.emit(redactor, || {
                Event::new(origin.clone(), self.clock.now(), RunEvent::RuleUnmatched(rule))
            });
        }
    }
}

impl Policy {
    /// Whether the policy has rules for tools or providers by name.
    fn has_rules(&self) -> bool {
        !self.permissions.is_empty()
            || self.rate_limits.is_some()
            || self.concurrency.is_some()
            || self.breakers.is_some()
    }

    /// Returns the rules that apply to none of these tools: permissions in their order, and then
    /// the others by name.
    fn unmatched_rules(&self, tools: &[&Entry]) -> Vec<Rule<'_>> {
        let of_tool = |setting, name| Rule { setting, target: RuleTarget::Tool, name };
        let of_provider = |setting, name| Rule { setting, target: RuleTarget::Provider, name };
        let permissions = self.permissions.unmatched_tools(tools).into_iter();
        let mut unmatched: Vec<_> =
            permissions.map(|name| of_tool(RuleSetting::Permission, name)).collect();

        let mut rules: Vec<_> = self
            .permissions
            .provider_names()
            .map(|name| of_provider(RuleSetting::Permission, name))
            .collect();
        if let Some((names, providers)) = self.rate_limits.as_ref().map(RateLimits::names) {
            rules.extend(names.map(|name| of_tool(RuleSetting::RateLimit, name)));
            rules.extend(providers.map(|name| of_provider(RuleSetting::RateLimit, name)));
        }
        if let Some((names, providers)) = self.concurrency.as_ref().map(Concurrency::names) {
            rules.extend(names.map(|name| of_tool(RuleSetting::Concurrency, name)));
            rules.extend(providers.map(|name| of_provider(RuleSetting::Concurrency, name)));
        }
        let breakers = self.breakers.iter().flat_map(Breakers::provider_names);
        rules.extend(breakers.map(|name| of_provider(RuleSetting::Breaker, name)));
        if self.breakers.as_ref().is_some_and(Breakers::has_each) {
            let (setting, target) = (RuleSetting::Breaker, RuleTarget::EachProvider);
            rules.push(Rule { setting, target, name: "" });
        }
        rules.retain(|rule| !rule.applies_to_any(tools));
        rules.sort_by_key(|rule| rule.name);
        unmatched.extend(rules);
        unmatched
    }
}

impl Rule<'_> {
    /// Whether the rule applies to one of these tools.
    fn applies_to_any(&self, tools: &[&Entry]) -> bool {
        tools.iter().any(|entry| match self.target {
            RuleTarget::Tool => entry.definition().has_name(self.name),
            RuleTarget::Provider => entry.provider() == Some(self.name),
            RuleTarget::EachProvider => entry.provider().is_some(),
        })
    }

    /// Whether the rule is for a provider that was announced and has not registered its tools.
    fn may_apply_later(&self, tools: &Snapshot) -> bool {
        match self.target {
            RuleTarget::Tool => tools.announced(self.name).is_some(),
            RuleTarget::Provider => tools.is_announced(self.name),
            RuleTarget::EachProvider => tools.has_announced(),
        }
    }

    fn unmatched(&self, tools: &[&Entry]) -> UnmatchedRule {
        let Self { setting, target, name } = *self;
        let nearest = match target {
            RuleTarget::Tool => {
                let tools = nearest(name, tools.iter().copied());
                tools.first().map(|entry| name_to_suggest(entry, name))
            }
            RuleTarget::Provider => {
                nearest_text(name, tools.iter().filter_map(|entry| entry.provider()))
            }
            RuleTarget::EachProvider => None,
        };
        let nearest = nearest.map(ToOwned::to_owned);
        UnmatchedRule { setting, target, name: name.to_owned(), nearest }
    }
}

impl UnmatchedRule {
    fn names_provider(&self) -> bool {
        self.target != RuleTarget::Tool || split_full_name(&self.name).is_some()
    }
}
