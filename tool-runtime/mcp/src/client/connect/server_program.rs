//! The program of a server, and why it ended.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::timeout;
use tool_core::process::ChildProcess;

use crate::client::connect::secrets::Secrets;
use crate::client::wire::stdio::SharedChild;

/// The number of bytes at the end of the standard error that are kept.
pub(crate) const STDERR_TAIL_BYTES: usize = 8 << 10;

/// The number of characters at the end of the standard error that are part of an error.
const MAX_STDERR_CHARS: usize = 1_000;

/// The program of a server. The transport shares the process.
pub(crate) struct ServerProgram {
    pub(crate) child: SharedChild,
    secrets: Secrets,
}

impl ServerProgram {
    pub(crate) fn new(child: ChildProcess, secrets: Secrets) -> Self {
        Self { child: SharedChild::new(child.into()), secrets }
    }

    /// Returns why the connection ended: how the program ended if it does within the limit, or else
    /// `reason`, and the end of its standard error.
    pub(crate) async fn why_ended(&self, reason: &str, exit_limit: Duration) -> String {
        // The transport holds the process while it ends it.
        let ended = timeout(exit_limit, async {
            let mut child = self.child.lock().await;
            (child.wait().await, child.stderr_tail())
        });
        let Ok((Ok(status), stderr)) = ended.await else { return self.with_stderr(reason) };
        let (ended, stderr) = (describe(status), stderr_end(&stderr, &self.secrets));
        if stderr.is_empty() {
            format!("{ended} and wrote nothing to its standard error")
        } else {
            with_stderr(&ended, &stderr)
        }
    }

    /// Returns the reason with the end of the standard error.
    pub(crate) fn with_stderr(&self, reason: &str) -> String {
        let tail = self.child.try_lock().map(|child| child.stderr_tail());
        with_stderr(reason, &stderr_end(&tail.unwrap_or_default(), &self.secrets))
    }
}

fn with_stderr(reason: &str, stderr: &str) -> String {
    if stderr.is_empty() {
        reason.to_owned()
    } else {
        format!("{reason}; its standard error ends with: {stderr}")
    }
}

fn describe(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("the program exited with status {code}"),
        None => format!("the program was killed ({status})"),
    }
}

/// Returns the end of a standard error as one line of untrusted text, without secrets.
fn stderr_end(tail: &str, secrets: &Secrets) -> String {
    // The first line may begin within a secret.
    let tail = match tail.split_once('\n') {
        _ if tail.len() < STDERR_TAIL_BYTES => tail,
        Some((_, rest)) => rest,
        None => "",
    };
    let text = secrets.redact(tail);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().rev().nth(MAX_STDERR_CHARS - 1) {
        Some((start, _)) if start > 0 => format!("…{}", text.get(start..).unwrap_or_default()),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_standard_error_is_one_line_without_secrets() {
        let variables = [
            ("KEY".into(), "begin\nmiddle-of-key\nend".into()),
            ("TOKEN".into(), "tok-123".into()),
            ("PORT".into(), "80".into()),
        ];
        let secrets = Secrets::of_program(&[], &variables, []);
        for (tail, expected) in [
            ("", ""),
            ("no module\u{1b}[0m `x`\n\tat 80\n", "no module[0m `x` at 80"),
            ("bad tok-123, t\u{200b}ok-123", "bad [redacted], [redacted]"),
            ("key:\nbegin\nmiddle-of-key\nend", "key: [redacted]"),
            ("key:\nmiddle-of-key", "key: [redacted]"),
        ] {
            assert_eq!(stderr_end(tail, &secrets), expected, "{tail}");
        }
    }

    #[test]
    fn end_of_standard_error_is_bounded_and_begins_with_a_line() {
        let long = format!("{}\nlast", "x".repeat(3_000));
        let end = stderr_end(&long, &Secrets::default());
        assert_eq!(end.chars().count(), MAX_STDERR_CHARS + 1);
        assert!(end.starts_with("…x") && end.ends_with(" last"), "{end}");
        // The part of a secret at the beginning of the tail is left out.
        let cut = format!("123\n{}\nlast", " ".repeat(STDERR_TAIL_BYTES));
        let secrets = Secrets::of_program(&[], &[("TOKEN".into(), "tok-123".into())], []);
        assert_eq!(stderr_end(&cut, &secrets), "last");
        assert_eq!(stderr_end(&"x".repeat(STDERR_TAIL_BYTES), &secrets), "");
    }
}
