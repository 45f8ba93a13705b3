//! Tries texts, by count or by the clock, and makes the first that fails short.

use std::cell::Cell;
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::time::{Duration, Instant};

use crate::draw::Draws;

/// How many texts are tried unless seconds are asked for.
const TEXTS: usize = 5_000;
/// How often a failing text may be read on the way to a short one.
const TRIES: usize = 20_000;

/// Says how a text breaks it, if it does.
type Law<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// A text and the law it is held to.
pub(crate) struct Trial<'a> {
    text: String,
    law: Law<'a>,
}

impl<'a> Trial<'a> {
    pub(crate) fn new(text: String, law: impl Fn(&str) -> Option<String> + 'a) -> Self {
        Self { text, law: Box::new(law) }
    }

    /// How a text breaks the law; a panic breaks every law.
    fn breaks(&self, text: &str) -> Option<String> {
        quietly(|| (self.law)(text)).unwrap_or_else(|panic| Some(format!("it panics: {panic}")))
    }

    /// The shortest text that was found to break the law as well.
    fn shortened(&self) -> String {
        let mut text: Vec<char> = self.text.chars().collect();
        let (mut size, mut tries) = (text.len() / 2, 0);
        while size > 0 {
            let (mut at, before) = (0, text.len());
            while at < text.len() && tries < TRIES {
                let mut shorter = text.clone();
                shorter.drain(at..(at + size).min(text.len()));
                tries += 1;
                if self.breaks(&shorter.iter().collect::<String>()).is_some() {
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

/// Tries one text after the other.
pub(crate) fn drive<'a>(target: &str, mut next: impl FnMut(&mut Draws<'_>) -> Trial<'a>) {
    let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let limit = number("FUZZ_SECONDS").map(Duration::from_secs);
    let seed = number("FUZZ_SEED").unwrap_or(0);
    let started = Instant::now();
    let (mut count, mut bytes) = (0_usize, 0_usize);
    while limit.map_or(count < TEXTS, |limit| started.elapsed() < limit) {
        let start = [seed.to_le_bytes(), (count as u64).to_le_bytes()].concat();
        let trial = next(&mut Draws::new(&mixed(&start)));
        if trial.breaks(&trial.text).is_some() {
            let text = trial.shortened();
            let law = trial.breaks(&text).unwrap_or_else(|| "it does so no more".to_owned());
            panic!("{target}, text {count} of seed {seed}: {text:?}\n{law}");
        }
        count += 1;
        bytes += trial.text.len();
    }
    let seconds = started.elapsed().as_secs_f64();
    let rate = count as f64 / seconds;
    println!("{target}: {count} texts, {bytes} bytes, {seconds:.0} s, {rate:.0} texts a second");
}

/// Bytes that are far apart for seeds that are close.
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

/// Runs what may panic, without the panic being printed each time that a text is made shorter.
fn quietly<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                loud(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    IS_QUIET.set(false);
    result.map_err(|panic| match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (_, Some(text)) => (*text).to_owned(),
        _ => "of no text".to_owned(),
    })
}
