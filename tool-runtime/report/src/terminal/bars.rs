//! Progress bars of running activities at the bottom of a terminal, and permanent lines above them.

use std::collections::{BTreeMap, HashMap};
use std::mem::take;
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The highest number of visible bars; the oldest activities come first.
const MAX_BARS: usize = 12;

/// The highest number of characters shown of an unfinished line. Lines that exceed the height of
/// the terminal would not be drawn at all, nor the bars below them.
const MAX_LINE: usize = 240;

/// Progress bars of all running activities.
pub(super) struct Bars {
    pub(super) all: MultiProgress,
    visible: HashMap<u64, ProgressBar>,
    /// Activities without a visible bar, and the bar with their number, which is the last one.
    waiting: BTreeMap<u64, (String, Instant)>,
    more: Option<ProgressBar>,
    /// Unfinished line of the program's output, and its bar, which is the first one.
    line: String,
    line_bar: Option<ProgressBar>,
}

impl Bars {
    pub(super) fn new(target: ProgressDrawTarget) -> Self {
        Self {
            all: MultiProgress::with_draw_target(target),
            visible: HashMap::new(),
            waiting: BTreeMap::new(),
            more: None,
            line: String::new(),
            line_bar: None,
        }
    }

    pub(super) fn show(&mut self, number: u64, text: String) {
        if let Some(bar) = self.visible.get(&number) {
            bar.set_message(text);
        } else if let Some((waiting, _)) = self.waiting.get_mut(&number) {
            *waiting = text;
        } else if self.visible.len() < MAX_BARS {
            self.add(number, text, Instant::now());
        } else {
            self.waiting.insert(number, (text, Instant::now()));
            self.update_count();
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
        self.visible.insert(number, bar);
    }

    pub(super) fn remove(&mut self, number: u64) {
        self.waiting.remove(&number);
        if let Some(bar) = self.visible.remove(&number) {
            bar.finish_and_clear();
            self.all.remove(&bar);
            if let Some((number, (text, since))) = self.waiting.pop_first() {
                self.add(number, text, since);
            }
        }
        self.update_count();
    }

    /// Shows the number of activities without a visible bar.
    fn update_count(&mut self) {
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

    /// Prints permanent lines above the bars.
    pub(super) fn print(&self, lines: &str) {
        // A closed terminal must not stop the program.
        let _ = self.all.println(lines);
    }

    /// Prints output of the program: whole lines are permanent, and an unfinished line is drawn
    /// below them, a long one by its end.
    pub(super) fn write(&mut self, text: &str) {
        if let Some((whole, unfinished)) = text.rsplit_once('\n') {
            let before = take(&mut self.line);
            self.draw_line();
            // Line by line, because an empty line has to be printed too.
            format!("{before}{whole}").split('\n').for_each(|line| self.print(line));
            self.line.push_str(unfinished);
        } else {
            self.line.push_str(text);
        }
        self.draw_line();
    }

    fn draw_line(&mut self) {
        if self.line.is_empty() {
            if let Some(bar) = self.line_bar.take() {
                bar.finish_and_clear();
                self.all.remove(&bar);
            }
            return;
        }
        // Only the end of a long line is visible.
        let mut before =
            self.line.char_indices().rev().skip(MAX_LINE - 1).map(|(offset, _)| offset);
        let visible = match (before.next(), before.next()) {
            (Some(offset), Some(_)) => format!("…{}", self.line.get(offset..).unwrap_or_default()),
            _ => self.line.clone(),
        };
        let bar = self.line_bar.get_or_insert_with(|| {
            let bar = self.all.insert(0, ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar
        });
        bar.set_message(visible);
    }

    /// Redraws the elapsed times.
    pub(super) fn tick(&self) {
        self.visible.values().chain(&self.line_bar).for_each(ProgressBar::tick);
    }
}
