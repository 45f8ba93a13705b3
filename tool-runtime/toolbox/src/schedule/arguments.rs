//! Reads the arguments of the tools, and collects everything that is wrong with them.

use std::str::FromStr;
use std::time::Duration;

use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp, Zoned};
use serde_json::{Map, Value};
use tool_runtime::{ToolError, args};

use super::definition::{Action, MAX_MISSED, MissedPolicy};
use super::timing::{Timing, TimingError};

/// The most bytes of a text that a schedule keeps.
const MAX_TEXT: usize = 16_000;

/// The most characters of a name.
const MAX_NAME: usize = 100;

/// The reaction to occurrences that are due late, as a model names it.
#[args]
#[derive(Clone, Copy, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum Missed {
    Skip,
    Once,
    All,
}

impl From<Missed> for MissedPolicy {
    fn from(missed: Missed) -> Self {
        match missed {
            Missed::Skip => Self::Skip,
            Missed::Once => Self::Once,
            Missed::All => Self::All { max: MAX_MISSED },
        }
    }
}

/// Everything that is wrong with the arguments of a call.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<String>);

impl Problems {
    pub(super) fn push(&mut self, problem: impl Into<String>) {
        self.0.push(problem.into());
    }

    /// Returns an error with all problems, if there are any.
    pub(super) fn check(self) -> Result<(), ToolError> {
        if self.0.is_empty() { Ok(()) } else { Err(ToolError::validation(self.0.join("\n"))) }
    }

    pub(super) fn check_name(&mut self, name: &str) {
        let is_plain = !name.trim().is_empty()
            && name.trim() == name
            && name.chars().count() <= MAX_NAME
            && !name.chars().any(char::is_control);
        if !is_plain {
            self.push(format!(
                "`name` must have 1 to {MAX_NAME} characters, without line breaks, and without \
                 spaces around it."
            ));
        }
    }

    fn check_text(&mut self, argument: &str, text: &str) {
        if text.trim().is_empty() {
            self.push(format!("`{argument}` is empty: send the text."));
        } else if text.len() > MAX_TEXT {
            let len = text.len();
            self.push(format!("`{argument}` has {len} bytes; at most {MAX_TEXT} are kept."));
        }
    }
}

/// The arguments that state when a schedule fires.
#[derive(Debug, Default)]
pub(super) struct TimingArguments {
    pub(super) at: Option<String>,
    pub(super) every: Option<String>,
    pub(super) cron: Option<String>,
    pub(super) zone: Option<String>,
}

impl TimingArguments {
    pub(super) fn is_empty(&self) -> bool {
        self.at.is_none() && self.every.is_none() && self.cron.is_none() && self.zone.is_none()
    }

    /// Reads the timing. The time zone applies to local times, unless the arguments have one.
    pub(super) fn timing(
        self,
        default_zone: &str,
        now: Timestamp,
        problems: &mut Problems,
    ) -> Option<Timing> {
        let zone = self.zone.as_deref().unwrap_or(default_zone);
        let timing = match (self.at, self.every, self.cron) {
            (Some(at), None, None) => instant(&at, zone).map_err(|error| ("at", error)),
            (at, Some(every), None) => interval(&every).and_then(|interval| {
                let first = match at {
                    Some(at) => first_occurrence(&at, zone).map_err(|error| ("at", error))?,
                    None => now
                        .checked_add(SignedDuration::try_from(interval).unwrap_or_default())
                        .map_err(|_| ("every", TimingError::Interval(interval).to_string()))?,
                };
                Timing::every(interval, first).map_err(|error| ("every", error.to_string()))
            }),
            (None, None, Some(cron)) => Timing::cron(&cron, zone).map_err(|error| match error {
                TimingError::Zone(_) => ("zone", error.to_string()),
                _ => ("cron", format!("{error}; an example is `0 9 * * 1-5`")),
            }),
            (None, None, None) => {
                problems.push(
                    "The time is missing: send `at` (once), `every` (an interval) or `cron`.",
                );
                return None;
            }
            _ => {
                problems.push(
                    "Send one of `at`, `every` and `cron`. Only `every` can be combined with \
                     `at`, the first time.",
                );
                return None;
            }
        };
        match timing {
            Ok(timing) => {
                let next = timing.after(now).map(|mut occurrences| occurrences.next());
                if !matches!(next, Ok(Some(_))) {
                    problems.push(format!(
                        "The schedule would never fire: there is no time after {now} ({timing})."
                    ));
                }
                Some(timing)
            }
            Err((argument, error)) => {
                problems.push(format!("`{argument}`: {error}."));
                None
            }
        }
    }
}

/// Reads a time with an offset, a local time with a zone, or a local time in the given zone.
fn instant(text: &str, zone: &str) -> Result<Timing, String> {
    let text = text.trim();
    if let Ok(zoned) = Zoned::from_str(text)
        && let Some(name) = zoned.time_zone().iana_name()
    {
        return Timing::at(&zoned.datetime().to_string(), name).map_err(|error| error.to_string());
    }
    if let Ok(at) = Timestamp::from_str(text) {
        return Ok(Timing::once(at));
    }
    Timing::at(text, zone).map_err(|error| match error {
        TimingError::Time(_) => {
            format!("{error}, and no time with an offset such as `2027-03-28T09:00+01:00`")
        }
        error => error.to_string(),
    })
}

fn first_occurrence(text: &str, zone: &str) -> Result<Timestamp, String> {
    let mut occurrences =
        instant(text, zone)?.after(Timestamp::MIN).map_err(|error| error.to_string())?;
    occurrences.next().ok_or_else(|| "the time is out of range".to_owned())
}

/// Reads an interval such as `15m`, `1h 30m` or `PT15M`. A day has 24 hours.
fn interval(text: &str) -> Result<Duration, (&'static str, String)> {
    let duration = Span::from_str(text.trim())
        .ok()
        .and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok())
        .and_then(|duration| Duration::try_from(duration).ok());
    let unreadable = || {
        format!(
            "`{text}` is not an interval in days or shorter units, such as `15m`, `2h 30m` or `1d`"
        )
    };
    duration.ok_or_else(|| ("every", unreadable()))
}

/// The sessions that a run may schedule prompts and messages for.
pub(super) struct Sessions<'s> {
    /// The session of the run.
    pub(super) of_run: Option<&'s str>,
    /// Returns whether the program allows another session.
    pub(super) is_allowed: &'s (dyn Fn(&str) -> bool + Sync),
}

impl Sessions<'_> {
    /// Returns the named session if the run may use it, or else its own.
    fn choose(&self, named: Option<String>, problems: &mut Problems) -> Option<String> {
        let Some(name) = named else { return self.of_run.map(str::to_owned) };
        if self.of_run != Some(&name) && !(self.is_allowed)(&name) {
            let advice = if self.of_run.is_some() { "; leave it out to use this one" } else { "" };
            problems.push(format!("`session`: `{name}` is not available here{advice}."));
        }
        Some(name)
    }
}

/// The arguments that state what a schedule does.
#[derive(Debug, Default)]
pub(super) struct ActionArguments {
    pub(super) prompt: Option<String>,
    pub(super) session: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) arguments: Option<Map<String, Value>>,
    pub(super) message: Option<String>,
}

impl ActionArguments {
    pub(super) fn is_empty(&self) -> bool {
        self.prompt.is_none()
            && self.session.is_none()
            && self.tool.is_none()
            && self.arguments.is_none()
            && self.message.is_none()
    }

    /// Reads the action. Prompts and messages go to the session of the run, unless the arguments
    /// name another one that the run may use.
    pub(super) fn action(
        self,
        sessions: &Sessions<'_>,
        callable: &[String],
        problems: &mut Problems,
    ) -> Option<Action> {
        let session = sessions.choose(self.session, problems);
        if self.arguments.is_some() && self.tool.is_none() {
            problems.push("`arguments` belong to `tool`: send the name of the tool as well.");
        }
        match (self.prompt, self.tool, self.message) {
            (Some(text), None, None) => {
                problems.check_text("prompt", &text);
                let Some(session) = session else {
                    problems.push("`session` is missing: this run has none that gets the prompt.");
                    return None;
                };
                Some(Action::prompt(session, text))
            }
            (None, Some(tool), None) => {
                if !callable.contains(&tool) {
                    problems.push(match callable {
                        [] => "`tool`: calls of tools can't be scheduled here; send a `prompt`."
                            .to_owned(),
                        names => format!(
                            "`tool`: `{tool}` can't be scheduled; use one of `{}`, or send a \
                             `prompt`.",
                            names.join("`, `")
                        ),
                    });
                }
                let arguments = Value::Object(self.arguments.unwrap_or_default());
                if arguments.to_string().len() > MAX_TEXT {
                    problems.push(format!(
                        "`arguments` have more than {MAX_TEXT} bytes: send shorter ones."
                    ));
                }
                Some(Action::call(tool, arguments))
            }
            (None, None, Some(text)) => {
                problems.check_text("message", &text);
                Some(Action::message(session, text))
            }
            (None, None, None) => {
                problems.push(
                    "The action is missing: send `prompt`, `message` or `tool` with `arguments`.",
                );
                None
            }
            _ => {
                problems.push("Send one of `prompt`, `message` and `tool`.");
                None
            }
        }
    }
}
