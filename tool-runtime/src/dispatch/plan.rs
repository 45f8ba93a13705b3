//! Which calls may run at the same time.

use std::ops::Range;

/// Splits calls into waves, one after the other: the calls of a wave run at once. A sequential call
/// is a wave of its own, so it waits for those before it and holds back those after it.
pub(super) fn waves(sequential: impl IntoIterator<Item = bool>) -> Vec<Range<usize>> {
    let mut waves: Vec<Range<usize>> = Vec::new();
    let mut closed = true;
    for (place, alone) in sequential.into_iter().enumerate() {
        match waves.last_mut() {
            Some(wave) if !closed && !alone => wave.end = place + 1,
            _ => waves.push(place..place + 1),
        }
        closed = alone;
    }
    waves
}

#[cfg(test)]
mod tests {
    use super::waves;

    #[test]
    fn a_sequential_call_is_alone() {
        for expected in ["", "p", "ppp", "s", "s|s", "pp|s", "s|pp", "pp|s|pp|s|p"] {
            let calls = expected.replace('|', "");
            let waves = waves(calls.chars().map(|call| call == 's'));
            let shown: Vec<_> = waves.into_iter().filter_map(|wave| calls.get(wave)).collect();
            assert_eq!(shown.join("|"), expected);
        }
    }
}
