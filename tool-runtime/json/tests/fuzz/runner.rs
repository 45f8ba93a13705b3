//! Runs fuzz trials, by count or by time, and minimizes the first text that fails.

use std::cell::Cell;
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::time::{Duration, Instant};

use crate::draw::Draws;

/// The number of trials without a time limit.
const DEFAULT_TRIALS: usize = 3_000;
/// The maximum number of attempts to minimize a failing text.
const MAX_ATTEMPTS: usize = 20_000;

/// Returns how a text violates the law, if it does.
type Law<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// A text and the law that it must satisfy.
pub(crate) struct Trial<'a> {
    text: String,
    law: Law<'a>,
}

impl<'a> Trial<'a> {
    pub(crate) fn new(text: String, law: impl Fn(&str) -> Option<String> + 'a) -> Self {
        Self { text, law: Box::new(law) }
    }

    /// Returns how a text violates the law; a panic violates every law.
    fn violation(&self, text: &str) -> Option<String> {
        catch_silently(|| (self.law)(text)).unwrap_or_else(|panic| Some(format!("panic: {panic}")))
    }

    /// Minimizes the text while it still violates the law.
    fn minimized(&self) -> String {
        let mut text: Vec<char> = self.text.chars().collect();
        let (mut size, mut attempts) = (text.len() / 2, 0);
        while size > 0 {
            let (mut at, before) = (0, text.len());
            while at < text.len() && attempts < MAX_ATTEMPTS {
                let mut shorter = text.clone();
                shorter.drain(at..(at + size).min(text.len()));
                attempts += 1;
                if self.violation(&shorter.iter().collect::<String>()).is_some() {
                    text = shorter;
                } else {
                    at += size;
                }
            }
            if size > 1 || text.len() == before {
                size /= 2;
            }
        }
        text.into_iter().collect()
    }
}

/// Runs one trial after another.
pub(crate) fn drive<'a>(target: &str, mut next: impl FnMut(&mut Draws<'_>) -> Trial<'a>) {
    let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let limit = number("FUZZ_SECONDS").map(Duration::from_secs);
    let seed = number("FUZZ_SEED").unwrap_or(0);
    let started = Instant::now();
    let (mut count, mut bytes) = (0_usize, 0_usize);
    while limit.map_or(count < DEFAULT_TRIALS, |limit| started.elapsed() < limit) {
        let start = [seed.to_le_bytes(), (count as u64).to_le_bytes()].concat();
        let trial = next(&mut Draws::new(&mixed(&start)));
        if trial.violation(&trial.text).is_some() {
            let text = trial.minimized();
            let law = trial
                .violation(&text)
                .unwrap_or_else(|| "the law is satisfied on the second try".to_owned());
            panic!("{target}, text {count} of seed {seed}: {text:?}\n{law}");
        }
        count += 1;
        bytes += trial.text.len();
    }
    let seconds = started.elapsed().as_secs_f64();
    let rate = count as f64 / seconds;
    println!("{target}: {count} texts, {bytes} bytes, {seconds:.0} s, {rate:.0} texts a second");
}

/// Mixes a seed, so that close seeds give distant bytes.
fn mixed(start: &[u8]) -> Vec<u8> {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in start {
        state = (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mix = |step: u64| {
        let mut word = state.wrapping_add(step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)).to_le_bytes()
    };
    (1..32).flat_map(mix).collect()
}

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Catches a panic without printing it, because minimizing repeats it many times.
fn catch_silently<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default_hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                default_hook(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    IS_QUIET.set(false);
    result.map_err(|panic| match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (_, Some(text)) => (*text).to_owned(),
        _ => "panic without a message".to_owned(),
    })
}
