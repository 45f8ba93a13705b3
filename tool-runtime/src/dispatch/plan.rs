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
        for (calls, expected) in [
            ("", vec![]),
            ("p", vec![0..1]),
            ("ppp", vec![0..3]),
            ("s", vec![0..1]),
            ("ss", vec![0..1, 1..2]),
            ("pps", vec![0..2, 2..3]),
            ("spp", vec![0..1, 1..3]),
            ("ppsppsp", vec![0..2, 2..3, 3..5, 5..6, 6..7]),
        ] {
            assert_eq!(waves(calls.chars().map(|call| call == 's')), expected, "{calls}");
        }
    }
}
