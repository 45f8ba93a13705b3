//! The order of a batch: which of its calls may run at the same time.

use std::ops::Range;

/// Splits calls into waves. The calls of a wave run concurrently; waves run one after the other.
///
/// A sequential call is a separate wave: it waits for the calls before it, and the calls behind
/// it wait for it.
pub(super) fn waves(sequential: impl IntoIterator<Item = bool>) -> Vec<Range<usize>> {
    let mut waves: Vec<Range<usize>> = Vec::new();
    let mut is_closed = true;
    for (index, is_sequential) in sequential.into_iter().enumerate() {
        match waves.last_mut() {
            Some(wave) if !is_closed && !is_sequential => wave.end = index + 1,
            _ => waves.push(index..index + 1),
        }
        is_closed = is_sequential;
    }
    waves
}

#[cfg(test)]
mod tests {
    use super::waves;

    #[test]
    fn sequential_call_is_a_separate_wave() {
        for (calls, expected) in [
            ("", ""),
            ("p", "p"),
            ("ppp", "ppp"),
            ("s", "s"),
            ("ss", "s|s"),
            ("pps", "pp|s"),
            ("spp", "s|pp"),
            ("ppsppsp", "pp|s|pp|s|p"),
        ] {
            let waves = waves(calls.chars().map(|call| call == 's'));
            let waves: Vec<_> = waves.into_iter().filter_map(|wave| calls.get(wave)).collect();
            assert_eq!(waves.join("|"), expected);
        }
    }
}
