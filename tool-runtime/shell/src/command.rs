//! The command that a model sends.

use std::path::Path;

use serde::Deserialize;
use tool_core::ToolError;

use crate::error::failed;

/// The most bytes of a command. The system has a limit too, with a less helpful error.
const MAX_LEN: usize = 100_000;

/// The line on the standard error after which no error of the sandbox follows. `entry.sh` writes
/// it.
const STARTED: &str = "sandbox: started\n";

/// The longest error of a sandbox, in bytes. A longer text was written by a command.
const MAX_ERROR_LEN: usize = 32 << 10;

/// Returns the error of a sandbox that was not made, by the end of the standard error of a command
/// whose own one is merged.
pub(crate) fn sandbox_error(stderr: &str) -> Option<&str> {
    let is_started = stderr.contains(STARTED) || stderr.len() > MAX_ERROR_LEN;
    Some(stderr.trim()).filter(|error| !is_started && !error.is_empty())
}

/// The stream to which the standard error of a command goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// To its standard output, as in a terminal.
    Merged,
    /// To a separate stream, which carries errors of the sandbox too.
    Separate,
}

impl Output {
    /// Returns the word that `entry.sh` knows.
    #[cfg(target_os = "linux")]
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Separate => "separate",
        }
    }

    /// Returns the script of a shell that becomes the command in its arguments.
    pub(crate) fn script(self) -> &'static str {
        match self {
            Self::Merged => r#"exec "$@" 2>&1"#,
            Self::Separate => r#"exec "$@""#,
        }
    }
}

/// Whether a command may write to the repositories in the folders that it may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repositories {
    /// The links that it leaves there are removed at its end.
    Writable,
    /// For a command whose end is not awaited: a link would act before it is removed.
    ReadOnly,
}

/// A command line for a shell, or a program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Command {
    Line(String),
    Argv(Vec<String>),
}

impl Command {
    /// Creates a command of the two arguments, of which exactly one is given.
    pub(crate) fn new(
        command: Option<String>,
        argv: Option<Vec<String>>,
    ) -> Result<Self, ToolError> {
        let command = match (command, argv) {
            (Some(line), None) => Self::Line(line),
            (None, Some(argv)) => Self::Argv(argv),
            (Some(_), Some(_)) => {
                return Err(failed("`command` and `argv` are both set: send `command` alone."));
            }
            (None, None) => return Err(failed("Send either `command` or `argv`.")),
        };
        let words = command.words();
        if words.first().is_none_or(|word| word.trim().is_empty()) {
            return Err(failed("The command is empty: send a program or a command line."));
        }
        // The shell would take it for an option, and run something else than it shows.
        if words.first().is_some_and(|word| word.starts_with('-')) {
            return Err(failed("The command begins with `-`: begin it with a program."));
        }
        if words.iter().any(|word| word.contains('\0')) {
            return Err(failed("The command contains a NUL character: send it without."));
        }
        if words.iter().map(|word| word.len()).sum::<usize>() > MAX_LEN {
            let text = format!("The command has more than {MAX_LEN} bytes: write it to a file.");
            return Err(failed(text));
        }
        Ok(command)
    }

    fn words(&self) -> &[String] {
        match self {
            Self::Line(line) => std::slice::from_ref(line),
            Self::Argv(argv) => argv,
        }
    }

    /// Returns the words that run the command.
    pub(crate) fn argv(&self) -> Vec<String> {
        match self {
            Self::Line(line) => vec![shell().to_owned(), "-c".to_owned(), line.clone()],
            Self::Argv(argv) => argv.clone(),
        }
    }

    /// Returns the command as a person would type it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::Argv(argv) => argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        }
    }
}

/// Returns the shell that runs command lines. It is at the same path in a sandbox.
pub(crate) fn shell() -> &'static str {
    let known = ["/bin/bash", "/usr/bin/bash"];
    known.into_iter().find(|path| Path::new(path).exists()).unwrap_or("/bin/sh")
}

/// Quotes a word for a shell, unless it needs no quotes.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::Command;

    #[test]
    fn text_shows_the_words_of_a_command() {
        let argv = |words: &[&str]| Command::Argv(words.iter().map(|it| (*it).into()).collect());
        for (command, expected) in [
            (Command::Line("echo $HOME | wc".into()), "echo $HOME | wc"),
            (argv(&["ls", "-l", "a b"]), "ls -l 'a b'"),
            (argv(&["echo", "it's", "", "$x"]), r"echo 'it'\''s' '' '$x'"),
        ] {
            assert_eq!(command.text(), expected);
        }
    }

    #[test]
    fn command_has_exactly_one_form() {
        let line = || Some("ls".to_owned());
        let argv = || Some(vec!["ls".to_owned()]);
        assert!(Command::new(line(), None).is_ok() && Command::new(None, argv()).is_ok());
        let error = Command::new(line(), argv()).unwrap_err();
        assert_eq!(error.text(), "`command` and `argv` are both set: send `command` alone.");
        for (command, argv) in [
            (None, None),
            (Some("  ".into()), None),
            (Some("a\0b".into()), None),
            (Some("x".repeat(100_001)), None),
            (None, Some(Vec::new())),
        ] {
            assert!(Command::new(command, argv).is_err());
        }
    }
}
