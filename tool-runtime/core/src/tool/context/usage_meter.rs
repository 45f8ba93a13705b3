//! Counts what unfinished calls take, and reserves what they are about to take.

use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::message::Usage;
use crate::tool::MeteredUsage;

/// Counts the tokens and the cost of calls that have no result yet. They count even if the calls
/// never finish. Clones share the count.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageMeter(Arc<Meter>);

#[derive(Debug, Default)]
struct Meter {
    state: Mutex<MeterState>,
    /// The meter of the call that these calls are nested in.
    outer: Option<UsageMeter>,
}

#[derive(Debug, Default)]
struct MeterState {
    total: MeteredUsage,
    /// The totals of the meters that are nested in this one.
    nested: MeteredUsage,
    /// The usage that was subtracted from the total since the allowance was set.
    subtracted: MeteredUsage,
    reserved: Usage,
    allowance: Allowance,
}

/// The tokens and the cost that calls may take. The default has no limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    pub(crate) tokens: Option<u64>,
    pub(crate) cost: Option<CostAllowance>,
}

/// The cost that calls may have, with the prices of a million tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CostAllowance {
    pub(crate) limit: f64,
    pub(crate) input_price: f64,
    pub(crate) output_price: f64,
}

impl UsageMeter {
    /// Creates the meter of calls that are nested in a call of another meter.
    pub(crate) fn nested_in(outer: Option<&Self>) -> Self {
        Self(Arc::new(Meter { outer: outer.cloned(), ..Meter::default() }))
    }

    pub(crate) fn add(&self, used: impl Into<MeteredUsage>) {
        let used = used.into();
        self.lock().total += &used;
        self.change_outer(|nested| *nested += &used);
    }

    /// Returns the current count.
    pub(crate) fn total(&self) -> MeteredUsage {
        self.lock().total.clone()
    }

    /// Resets the count and returns it; the caller counts it from now on.
    pub(crate) fn take(&self) -> MeteredUsage {
        let total = self.total();
        self.subtract(&total);
        total
    }

    /// Subtracts what the caller counts from now on.
    pub(crate) fn subtract(&self, used: &MeteredUsage) {
        let mut state = self.lock();
        state.total = take(&mut state.total).since(used);
        state.subtracted += used;
        drop(state);
        self.change_outer(|nested| *nested = take(nested).since(used));
    }

    /// Sets what the calls may take from now on.
    pub(crate) fn set_allowance(&self, allowance: Allowance) {
        let mut state = self.lock();
        state.allowance = allowance;
        state.subtracted = MeteredUsage::default();
    }

    /// Reserves `request`, with less output if the allowance requires it. Returns what was
    /// reserved, or `None` if the allowance has no room for the input and one token of output.
    pub(crate) fn reserve(&self, request: Usage) -> Option<Usage> {
        let mut state = self.outermost().lock();
        let mut used = state.total.clone();
        used += &state.nested;
        used += &state.subtracted;
        used += MeteredUsage::from(state.reserved);
        let output = state.allowance.output_of(request, &used)?;
        let request = Usage { output_tokens: output, ..request };
        state.reserved += request;
        Some(request)
    }

    /// Releases what was reserved.
    pub(crate) fn release(&self, reserved: Usage) {
        let mut state = self.outermost().lock();
        state.reserved = state.reserved.since(reserved);
    }

    /// Returns the meter with the allowance.
    fn outermost(&self) -> &Self {
        let mut meter = self;
        while let Some(outer) = &meter.0.outer {
            meter = outer;
        }
        meter
    }

    /// Changes what the outer meters count of nested calls.
    fn change_outer(&self, change: impl Fn(&mut MeteredUsage)) {
        let mut meter = self;
        while let Some(outer) = &meter.0.outer {
            change(&mut outer.lock().nested);
            meter = outer;
        }
    }

    fn lock(&self) -> MutexGuard<'_, MeterState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allowance {
    /// Returns how many tokens of output a request may have beside what was used, or `None` if it
    /// may not be made.
    fn output_of(&self, request: Usage, used: &MeteredUsage) -> Option<u64> {
        let mut output = request.output_tokens;
        if let Some(tokens) = self.tokens {
            let spent = used.usage().input_tokens.saturating_add(used.usage().output_tokens);
            let left = tokens.saturating_sub(spent).saturating_sub(request.input_tokens);
            output = output.min(left);
        }
        if let Some(cost) = &self.cost {
            output = output.min(cost.output_of(request.input_tokens, used));
        }
        (output > 0).then_some(output)
    }
}

impl CostAllowance {
    /// Returns how many tokens of output are paid for. Casts saturate.
    fn output_of(&self, input: u64, used: &MeteredUsage) -> u64 {
        let price = |input: u64, output: u64| {
            (input as f64 * self.input_price + output as f64 * self.output_price) / 1e6
        };
        let spent = used.cost(|usage| price(usage.input_tokens, usage.output_tokens));
        let left = self.limit - spent - price(input, 0);
        if left <= 0.0 {
            0
        } else if self.output_price > 0.0 {
            (left / self.output_price * 1e6) as u64
        } else {
            u64::MAX
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(allowance: Allowance) -> UsageMeter {
        let meter = UsageMeter::default();
        meter.set_allowance(allowance);
        meter
    }

    fn tokens(tokens: u64) -> Allowance {
        Allowance { tokens: Some(tokens), ..Allowance::default() }
    }

    /// Returns the output that is reserved for a request.
    fn output(meter: &UsageMeter, input: u64, output: u64) -> Option<u64> {
        meter.reserve(Usage::new(input, output)).map(|usage| usage.output_tokens)
    }

    #[test]
    fn reservation_fits_the_allowance() {
        let cost = |limit, input_price, output_price| Allowance {
            cost: Some(CostAllowance { limit, input_price, output_price }),
            ..Allowance::default()
        };
        for (allowance, expected) in [
            (Allowance::default(), Some(500)),
            (tokens(600), Some(500)),
            (tokens(150), Some(50)),
            (tokens(101), Some(1)),
            (tokens(100), None),
            (tokens(0), None),
            (cost(1e-3, 1.0, 1.0), Some(500)),
            (cost(2e-4, 1.0, 2.0), Some(50)),
            (cost(1e-4, 1.0, 1.0), None),
            (cost(1.0, 1.0, 0.0), Some(500)),
            (cost(0.0, 0.0, 0.0), None),
            (cost(-1.0, 1.0, 1.0), None),
        ] {
            assert_eq!(output(&meter(allowance), 100, 500), expected, "{allowance:?}");
        }
    }

    #[test]
    fn what_was_used_reduces_the_allowance_however_it_is_counted() {
        let meter = meter(tokens(1_000));
        meter.add(Usage::new(200, 100));
        assert_eq!(output(&meter, 100, 1_000), Some(600));
        meter.release(Usage::new(100, 600));
        meter.subtract(&Usage::new(100, 100).into());
        assert_eq!(output(&meter, 100, 1_000), Some(600));
        meter.release(Usage::new(100, 600));
        meter.take();
        assert_eq!(output(&meter, 100, 1_000), Some(600));
        meter.release(Usage::new(100, 600));
        // The caller counts what was taken, and sets a smaller allowance.
        meter.set_allowance(tokens(150));
        assert_eq!(output(&meter, 100, 1_000), Some(50));
    }

    #[test]
    fn concurrent_requests_share_the_allowance() {
        let meter = meter(tokens(1_000));
        assert_eq!(output(&meter, 100, 400), Some(400));
        assert_eq!(output(&meter, 100, 500), Some(400));
        assert_eq!(output(&meter, 1, 1), None);
        meter.release(Usage::new(100, 400));
        assert_eq!(output(&meter, 100, 500), Some(400));
    }

    #[test]
    fn nested_calls_reserve_from_the_allowance_of_the_outermost() {
        let outer = meter(tokens(1_000));
        let inner = UsageMeter::nested_in(Some(&UsageMeter::nested_in(Some(&outer))));
        inner.add(Usage::new(300, 100));
        outer.add(Usage::new(100, 0));
        assert_eq!(output(&inner, 100, 1_000), Some(400));
        assert_eq!(output(&outer, 0, 1), None);
        inner.release(Usage::new(100, 400));
        assert_eq!(output(&inner, 100, 1_000), Some(400));
    }
}
