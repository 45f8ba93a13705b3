//! A run to look at: one HTML file, drawn from its events.
//!
//! [`RunReport`] joins events to rows, one for each run, question to a model and call of a tool, puts them
//! one below the other on a common axis of time, and writes them down with the page that draws them. All
//! that is decided is decided here; the page's script puts it on the screen.
//!
//! Nothing but the events is read: a report can be made in another program, from a log, of a run that
//! goes on or was killed. What has no end is shown without one, and an event of a kind that isn't known
//! is a row with its name.

mod details;
mod layout;
mod line;
mod page;
mod row;
mod totals;
mod trace;

use std::io::{self, BufRead};
use std::path::Path;
use std::time::Duration;
use std::{fmt, fs};

use serde::Serialize;

use crate::event::{Event, Recorder};
use row::Row;
use totals::Totals;
use trace::Trace;

/// What happened in one run or many, to be read in a browser: a waterfall of model and tool calls that
/// shows what ran at once, and for each its arguments, repairs, attempts and result or error; and of each run
/// what it was asked, what was said to it meanwhile, what it took and how it ended. One that waited for somebody and
/// went on is one; and where a call waits for one within it, they wait once. What nobody has counted costs something
/// unknown.
///
/// The file is whole in itself and asks no network for anything. It can be searched, by words and by
/// `is:failed`, `is:retried`, `is:repaired` and their like; it is light or dark as the reader's system is; and
/// nothing that a model or a tool says is markup in it. It shows what events tell: secrets are taken out of
/// these before, and all else that was said is in it, so it is for those who may read the log.
///
/// ```
/// use tool_runtime::event::Recorder;
/// use tool_runtime::report::RunReport;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
///
/// /// Tells how warm it is in a city.
/// #[tool(effect = "read")]
/// async fn temperature(city: String) -> String {
///     format!("4 degrees in {city}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model = ScriptedModel::new([
/// #     ChatReply::default().call("temperature", r#"{"city": "Oslo"}"#),
/// #     ChatReply::text("It is cold."),
/// # ]);
/// let recorder = Recorder::new(10_000);
/// let agent = Agent::new(model, tools![temperature]).observer(recorder.clone());
/// agent.run("How warm is it in Oslo?").await?;
///
/// let path = std::env::temp_dir().join("run.html");
/// RunReport::from(&recorder).write_to(&path)?;
/// # assert!(std::fs::read_to_string(&path)?.contains("4 degrees in Oslo"));
/// # std::fs::remove_file(path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RunReport(Drawing);

/// All that the page is told.
#[derive(Clone, Serialize)]
struct Drawing {
    totals: Totals,
    /// How long the axis is, in microseconds.
    length: u64,
    is_apart: bool,
    lanes: usize,
    rows: Vec<Row>,
}

impl RunReport {
    /// Of these events, in the order in which they were told; of one run or of many.
    ///
    /// ```
    /// use tool_runtime::event::{Recorder, RunId};
    /// use tool_runtime::report::RunReport;
    ///
    /// # let (recorder, run) = (Recorder::new(10), RunId::random());
    /// let of_one_run = RunReport::of(&recorder.of_run(run));
    /// assert!(of_one_run.to_html().starts_with("<!DOCTYPE html>"));
    /// ```
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut trace = Trace::default();
        events.into_iter().for_each(|event| trace.take(event));
        Self::drawn(trace, 0)
    }

    /// Of a log that [`JsonLines`](crate::event::JsonLines) wrote. Lines that are no events, such as half a
    /// line at the end of a program that was killed, are counted and left out; an event that the next program wrote
    /// behind such a half is told.
    ///
    /// ```
    /// use tool_runtime::report::RunReport;
    ///
    /// let log = r#"{"run":"1f","turn":1,"at":1767225600000000,"layer":"model","action":"asked"}"#;
    /// let report = RunReport::from_json_lines(log.as_bytes())?; // or a `BufReader` of a file
    /// # assert!(report.to_html().contains(r#""model":1"#));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the reader says when it can't be read.
    pub fn from_json_lines(mut lines: impl BufRead) -> io::Result<Self> {
        let (mut trace, mut unreadable, mut line) = (Trace::default(), 0, Vec::new());
        while lines.read_until(b'\n', &mut line)? > 0 {
            match serde_json::from_slice(&line) {
                Ok(event) => trace.take(&event),
                Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
                Err(_) => {
                    unreadable += 1;
                    line::event_behind(&line).iter().for_each(|event| trace.take(event));
                }
            }
            line.clear();
        }
        Ok(Self::drawn(trace, unreadable))
    }

    fn drawn(trace: Trace, unreadable: u64) -> Self {
        let (events, lost) = (trace.events, trace.lost);
        let mut rows = layout::in_order(trace.into_rows());
        let totals = Totals { events, lost, unreadable, ..Totals::of(&rows) };
        let axis = layout::on_an_axis(&mut rows);
        let lanes = layout::in_lanes(&mut rows);
        Self(Drawing { totals, length: axis.length, is_apart: axis.is_apart, lanes, rows })
    }

    /// The report as the text of an HTML file.
    pub fn to_html(&self) -> String {
        page::page(&self.0)
    }

    /// Writes the report to this file, in place of what is there.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write_to(&self, path: impl AsRef<Path>) -> io::Result<()> {
        fs::write(path, self.to_html())
    }
}

/// Of all that it keeps.
impl From<&Recorder> for RunReport {
    fn from(recorder: &Recorder) -> Self {
        let mut report = Self::of(&recorder.events());
        let lost = &mut report.0.totals.lost;
        *lost = lost.saturating_add(recorder.forgotten());
        report
    }
}

impl fmt::Debug for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunReport")
            .field("rows", &self.0.rows.len())
            .field("totals", &self.0.totals)
            .finish_non_exhaustive()
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
