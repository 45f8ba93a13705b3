//! HTML report of runs, built from their events.
//!
//! [`RunReport`] converts events into one self-contained HTML file:
//!
//! 1. `trace` joins events to rows, one for each run, model request and tool call (`details` fills
//!    in what a row shows when it is opened).
//! 2. `layout` orders the rows, aligns them to a common time axis and assigns lanes.
//! 3. `totals` sums up the rows.
//! 4. `bounds` shortens the rows, so that a browser can open the report (`excerpt`: one text).
//! 5. `page` writes the data and the page that renders it. Every decision is made in Rust; the
//!    script of the page only renders.
//!
//! A report reads nothing but events, so it can be created in another program, from a log, and of a
//! run that is still in progress or was killed. A row without an end is shown as unfinished. An
//! event of an unknown kind becomes a row with its name.

mod bounds;
mod details;
mod excerpt;
mod file;
mod layout;
mod page;
mod partial_line;
mod row;
mod totals;
mod trace;

use std::fmt;
use std::io::{self, BufRead};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use row::Row;
use tool_core::Event;
use tool_core::event::Recorder;
use totals::Totals;
use trace::Trace;

/// HTML report of one or more runs: a waterfall of model requests and tool calls.
///
/// The report shows which calls ran concurrently. Each call has its arguments, repairs, attempts,
/// and result or error. Each run has its prompt, later messages, tokens, cost and stop reason. A
/// run that was paused and resumed is one run, and a call that waits for an approval within a
/// nested run is counted once. If the tokens of a run were not counted, its cost is unknown.
///
/// The file is self-contained and loads nothing from the network. It can be searched by text and by
/// filters such as `is:failed`, `is:retried` and `is:repaired`. It follows the light or dark theme
/// of the reader's system. Text of models and tools is never interpreted as markup.
///
/// The report contains everything that the events contain, except for the middle of long texts: it
/// embeds at most 256 KiB of each text, and 32 MiB of all texts together; of each text beyond that,
/// it embeds 1 KiB. It has at most 100,000 rows. The page states what was left out. Secrets are
/// already redacted in the events, but protect the file like the log.
///
/// ```
/// use tool_runtime::event::Recorder;
/// use tool_runtime::report::RunReport;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
///
/// /// Returns how warm it is in a city.
/// #[tool(effect = "read")]
/// async fn temperature(city: String) -> String {
///     format!("4 degrees in {city}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
pub struct RunReport(ReportData);

/// Data of the page.
#[derive(Clone, Serialize)]
struct ReportData {
    totals: Totals,
    /// Length of the time axis, in microseconds.
    length: u64,
    has_separate_starts: bool,
    lanes: usize,
    rows: Vec<Row>,
}

impl RunReport {
    /// Creates a report of events, in the order in which they were emitted, of one or more runs.
    ///
    /// ```
    /// use tool_runtime::event::{Recorder, RunId};
    /// use tool_runtime::report::RunReport;
    ///
    /// # let (recorder, run) = (Recorder::new(10), RunId::random());
    /// let of_one_run = RunReport::from_events(&recorder.events_of_run(run));
    /// assert!(of_one_run.to_html().starts_with("<!DOCTYPE html>"));
    /// ```
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut trace = Trace::default();
        events.into_iter().for_each(|event| trace.add(event));
        Self::from_trace(trace, 0)
    }

    /// Creates a report of a log that [`JsonLines`](tool_core::event::JsonLines) wrote.
    ///
    /// Lines that are not events, such as a partial line of a program that was killed, are counted
    /// and skipped. If the next program appended its first event to such a partial line, the event
    /// is recovered.
    ///
    /// ```
    /// use tool_runtime::report::RunReport;
    ///
    /// let log = r#"{"run":"1f","turn":1,"at":1767225600000000,"event":"model.requested"}"#;
    /// let report = RunReport::from_json_lines(log.as_bytes())?; // or a `BufReader` of a file
    /// # assert!(report.to_html().contains(r#""model":1"#));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of the reader.
    pub fn from_json_lines(mut lines: impl BufRead) -> io::Result<Self> {
        let (mut trace, mut unreadable, mut line) = (Trace::default(), 0, Vec::new());
        while lines.read_until(b'\n', &mut line)? > 0 {
            match serde_json::from_slice(&line) {
                Ok(event) => trace.add(&event),
                Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
                Err(_) => {
                    unreadable += 1;
                    partial_line::trailing_event(&line).iter().for_each(|event| trace.add(event));
                }
            }
            line.clear();
        }
        Ok(Self::from_trace(trace, unreadable))
    }

    fn from_trace(trace: Trace, unreadable: u64) -> Self {
        let (events, dropped) = (trace.events, trace.dropped);
        let mut rows = layout::order_rows(trace.into_rows());
        let totals = Totals { events, dropped, unreadable, ..Totals::of(&rows) };
        let axis = layout::align_to_axis(&mut rows);
        let lanes = layout::assign_lanes(&mut rows);
        let left_out = bounds::shorten(&mut rows);
        let totals = Totals { left_out: left_out.bytes, left_out_rows: left_out.rows, ..totals };
        Self(ReportData {
            totals,
            length: axis.length,
            has_separate_starts: axis.has_separate_starts,
            lanes,
            rows,
        })
    }

    /// Returns the report as the text of an HTML file.
    ///
    /// ```
    /// use tool_runtime::report::RunReport;
    ///
    /// let html = RunReport::from_events(&[]).to_html();
    /// assert!(html.contains("<title>Run report</title>"));
    /// ```
    pub fn to_html(&self) -> String {
        page::page(&self.0)
    }

    /// Writes the report to a file and replaces its previous content.
    ///
    /// ```
    /// use tool_runtime::report::RunReport;
    ///
    /// let path = std::env::temp_dir().join(format!("report-{}.html", std::process::id()));
    /// RunReport::from_events(&[]).write_to(&path)?;
    /// assert!(std::fs::read_to_string(&path)?.starts_with("<!DOCTYPE html>"));
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// An existing file is replaced as a whole. Links to folders on the way are followed: in a
    /// folder that untrusted programs can change, such as the workspace of an agent, write
    /// [`to_html`](Self::to_html) by `Files::write` of `tool-files` instead.
    ///
    /// # Errors
    /// Returns an error if the path is a link, or if the file cannot be written.
    pub fn write_to(&self, path: impl AsRef<Path>) -> io::Result<()> {
        file::write(path.as_ref(), self.to_html().as_bytes())
    }
}

/// Creates a report of all events that the recorder still has.
impl From<&Recorder> for RunReport {
    fn from(recorder: &Recorder) -> Self {
        let mut report = Self::from_events(&recorder.events());
        let dropped = &mut report.0.totals.dropped;
        *dropped = dropped.saturating_add(recorder.dropped_count());
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
