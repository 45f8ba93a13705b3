//! The arguments that state what a schedule does.

use serde_json::{Map, Value};

use super::{MAX_TEXT, Problems};
use crate::definition::Action;

/// The sessions that a run may schedule prompts and messages for.
pub(crate) struct Sessions<'s> {
    /// The session of the run.
    pub(crate) of_run: Option<&'s str>,
    /// Returns whether the program allows another session.
    pub(crate) is_allowed: &'s (dyn Fn(&str) -> bool + Sync),
}

impl Sessions<'_> {
    /// Returns the named session, or else the one that the schedule has or lacks, if the run may
    /// use it. For a new schedule without a name, returns the session of the run.
    fn choose(
        &self,
        named: Option<&str>,
        current: Option<Option<&str>>,
        problems: &mut Problems,
    ) -> Option<String> {
        let name = named.or_else(|| current.unwrap_or(self.of_run))?;
        if self.of_run != Some(name) && !(self.is_allowed)(name) {
            let advice = match (self.of_run, current) {
                (Some(_), None) => "; leave it out to use this one".to_owned(),
                (Some(session), Some(_)) => format!("; send `{session}` to use this one"),
                (None, _) => String::new(),
            };
            problems.push(format!("`session`: `{name}` is not available here{advice}."));
        }
        Some(name.to_owned())
    }
}

/// The arguments that state what a schedule does.
#[derive(Debug, Default)]
pub(crate) struct ActionArguments {
    pub(crate) prompt: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) arguments: Option<Map<String, Value>>,
    pub(crate) message: Option<String>,
}

impl ActionArguments {
    pub(crate) fn is_empty(&self) -> bool {
        self.prompt.is_none()
            && self.session.is_none()
            && self.tool.is_none()
            && self.arguments.is_none()
            && self.message.is_none()
    }

    /// Returns the arguments with the text or the tool of the action that they change, if they have
    /// none.
    fn completed(mut self, current: &Action) -> Self {
        if self.prompt.is_some() || self.tool.is_some() || self.message.is_some() {
            return self;
        }
        match current {
            Action::Prompt { text, .. } if self.session.is_some() => {
                self.prompt = Some(text.clone())
            }
            Action::Message { text, .. } if self.session.is_some() => {
                self.message = Some(text.clone());
            }
            Action::Call { tool, .. } if self.arguments.is_some() => self.tool = Some(tool.clone()),
            _ => {}
        }
        self
    }

    /// Reads the action that replaces another one, whose session, text or tool stay unless the
    /// arguments have others.
    pub(crate) fn replacement(
        self,
        current: &Action,
        sessions: &Sessions<'_>,
        callable: &[String],
        problems: &mut Problems,
    ) -> Option<Action> {
        let session = match current {
            Action::Prompt { session, .. } | Action::Message { session, .. } => {
                Some(session.as_deref())
            }
            Action::Call { .. } => None,
        };
        self.completed(current).read(session, sessions, callable, problems)
    }

    /// Reads the action. Prompts and messages go to the session of the run, unless the arguments
    /// name another one that the run may use.
    pub(crate) fn action(
        self,
        sessions: &Sessions<'_>,
        callable: &[String],
        problems: &mut Problems,
    ) -> Option<Action> {
        self.read(None, sessions, callable, problems)
    }

    fn read(
        self,
        current_session: Option<Option<&str>>,
        sessions: &Sessions<'_>,
        callable: &[String],
        problems: &mut Problems,
    ) -> Option<Action> {
        let current = current_session.filter(|_| self.tool.is_none());
        let session = sessions.choose(self.session.as_deref(), current, problems);
        if self.arguments.is_some() && self.tool.is_none() {
            problems.push("`arguments` belong to `tool`: send the name of the tool as well.");
        }
        self.check(callable, problems);
        match (self.prompt, self.tool, self.message) {
            (Some(text), None, None) => Some(Action::Prompt { session, text }),
            (None, Some(tool), None) => {
                Some(Action::call(tool, Value::Object(self.arguments.unwrap_or_default())))
            }
            (None, None, Some(text)) => Some(Action::Message { session, text }),
            (None, None, None) => {
                problems.push(
                    "The action is missing: send `prompt`, `message` or `tool` with `arguments`.",
                );
                None
            }
            _ => None,
        }
    }

    /// Checks the action that replaces another one, as far as that needs no schedule.
    pub(crate) fn check_replacement(
        &self,
        sessions: &Sessions<'_>,
        callable: &[String],
        problems: &mut Problems,
    ) {
        sessions.choose(self.session.as_deref(), Some(None), problems);
        self.check(callable, problems);
    }

    /// Checks each part of the action.
    fn check(&self, callable: &[String], problems: &mut Problems) {
        let Self { prompt, tool, arguments, message, .. } = self;
        if [prompt, tool, message].into_iter().flatten().count() > 1 {
            problems.push("Send one of `prompt`, `message` and `tool`.");
            return;
        }
        for (argument, text) in [("prompt", prompt), ("message", message)] {
            if let Some(text) = text {
                problems.check_text(argument, text);
            }
        }
        if let Some(tool) = tool.as_ref().filter(|tool| !callable.contains(tool)) {
            problems.push(match callable {
                [] => "`tool`: calls of tools can't be scheduled here; send a `prompt`.".to_owned(),
                names => format!(
                    "`tool`: `{tool}` can't be scheduled; use one of `{}`, or send a `prompt`.",
                    names.join("`, `")
                ),
            });
        }
        let bytes = arguments.as_ref().map(|it| Value::Object(it.clone()).to_string().len());
        if bytes > Some(MAX_TEXT) {
            problems
                .push(format!("`arguments` have more than {MAX_TEXT} bytes: send shorter ones."));
        }
    }
}
