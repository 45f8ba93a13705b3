//! What goes on, drawn at the bottom of a terminal; and above it what stays.

use std::collections::{BTreeMap, HashMap};
use std::mem::take;
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How much that goes on is seen at once; what began first comes first.
const MOST: usize = 12;

/// So many letters are shown of a line that has no end yet: what is higher than the terminal would not be drawn at all,
/// nor what goes on below it.
const LETTERS: usize = 240;

/// What is drawn of what goes on.
pub(super) struct Bars {
    pub(super) all: MultiProgress,
    shown: HashMap<u64, ProgressBar>,
    /// There is no room for these yet; and how many they are, drawn last.
    waiting: BTreeMap<u64, (String, Instant)>,
    more: Option<ProgressBar>,
    /// What the program says, as far as that is no whole line; and where it is drawn, which is first.
    line: String,
    words: Option<ProgressBar>,
}

impl Bars {
    pub(super) fn on(target: ProgressDrawTarget) -> Self {
        Self {
            all: MultiProgress::with_draw_target(target),
            shown: HashMap::new(),
            waiting: BTreeMap::new(),
            more: None,
            line: String::new(),
            words: None,
        }
    }

    pub(super) fn show(&mut self, number: u64, text: String) {
        if let Some(bar) = self.shown.get(&number) {
            bar.set_message(text);
        } else if let Some((waiting, _)) = self.waiting.get_mut(&number) {
            *waiting = text;
        } else if self.shown.len() < MOST {
            self.add(number, text, Instant::now());
        } else {
            self.waiting.insert(number, (text, Instant::now()));
            self.count();
        }
    }

    fn add(&mut self, number: u64, text: String, since: Instant) {
        let style = ProgressStyle::with_template("{spinner:.cyan} {elapsed:>4} {wide_msg}");
        let bar = ProgressBar::new_spinner().with_elapsed(since.elapsed());
        let bar = match &self.more {
            Some(more) => self.all.insert_before(more, bar),
            None => self.all.add(bar),
        };
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_message(text);
        self.shown.insert(number, bar);
    }

    pub(super) fn remove(&mut self, number: u64) {
        self.waiting.remove(&number);
        if let Some(bar) = self.shown.remove(&number) {
            bar.finish_and_clear();
            self.all.remove(&bar);
            if let Some((number, (text, since))) = self.waiting.pop_first() {
                self.add(number, text, since);
            }
        }
        self.count();
    }

    /// Says how many there is no room for.
    fn count(&mut self) {
        let count = self.waiting.len();
        if count == 0 {
            if let Some(more) = self.more.take() {
                more.finish_and_clear();
                self.all.remove(&more);
            }
            return;
        }
        let more = self.more.get_or_insert_with(|| {
            let bar = self.all.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("  {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        more.set_message(format!("and {count} more"));
    }

    /// Puts lines that stay above what goes on.
    pub(super) fn say(&self, lines: &str) {
        // A terminal that is gone is no reason to stop.
        let _ = self.all.println(lines);
    }

    /// The program says this: whole lines stay, and the beginning of one is drawn below them; of a long one its end.
    pub(super) fn words(&mut self, text: &str) {
        if let Some((whole, begun)) = text.rsplit_once('\n') {
            let before = take(&mut self.line);
            self.draw_words();
            // A line by itself, for one that is empty is a line all the same.
            format!("{before}{whole}").split('\n').for_each(|line| self.say(line));
            self.line.push_str(begun);
        } else {
            self.line.push_str(text);
        }
        self.draw_words();
    }

    fn draw_words(&mut self) {
        if self.line.is_empty() {
            if let Some(bar) = self.words.take() {
                bar.finish_and_clear();
                self.all.remove(&bar);
            }
            return;
        }
        // However long it is by now, its end alone is looked at.
        let mut before = self.line.char_indices().rev().skip(LETTERS - 1).map(|(place, _)| place);
        let shown = match (before.next(), before.next()) {
            (Some(place), Some(_)) => format!("…{}", self.line.get(place..).unwrap_or_default()),
            _ => self.line.clone(),
        };
        let words = self.words.get_or_insert_with(|| {
            let bar = self.all.insert(0, ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar
        });
        words.set_message(shown);
    }

    /// Draws anew what changes by itself.
    pub(super) fn tick(&self) {
        self.shown.values().chain(&self.words).for_each(ProgressBar::tick);
    }
}
