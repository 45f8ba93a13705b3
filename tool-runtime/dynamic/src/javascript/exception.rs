//! Conversion of exceptions, whose members can be code of the body.

use rquickjs::{CaughtError, Coerced, Ctx, Error, FromJs};
use tool_runtime::message::visible;

use super::error::ScriptError;
use super::limits::{MAX_ERROR_CHARS, MAX_MEMORY_BYTES};

/// The lines before the first line of the body in the function that holds it.
const LINES_BEFORE_BODY: usize = 2;

/// Converts an error of the engine, whose exception is pending in the context.
pub(super) fn script_error(ctx: &Ctx<'_>, error: Error, line_count: usize) -> ScriptError {
    if matches!(error, Error::Allocation) {
        return ScriptError::OutOfMemory;
    }
    let (text, stack) = match CaughtError::from_error(ctx, error) {
        CaughtError::Exception(exception) => {
            let name = exception.get::<_, Option<Coerced<String>>>("name");
            let name = name.ok().flatten().map_or_else(|| "Error".to_owned(), |name| name.0);
            let message = exception.message().unwrap_or_default();
            if name == "InternalError" && message == "out of memory" {
                return ScriptError::OutOfMemory;
            }
            (format!("{name}: {message}"), exception.stack())
        }
        // The engine throws it if there is no memory for an exception.
        CaughtError::Value(value) if value.is_null() => {
            let limit = MAX_MEMORY_BYTES >> 20;
            (format!("It threw null, or needs more than {limit} MiB of memory."), None)
        }
        CaughtError::Value(value) => {
            let text = Coerced::<String>::from_js(ctx, value).map(|text| text.0);
            // The conversion of the value can throw as well.
            let text = text.unwrap_or_else(|_| {
                ctx.catch();
                "a value that can't be converted to text".to_owned()
            });
            (format!("It threw {text}"), None)
        }
        CaughtError::Error(error) => (error.to_string(), None),
    };
    // The text may come from outside, such as from a page that the body has read.
    let text: String = text.chars().take(MAX_ERROR_CHARS).collect();
    let text = visible(&text).into_owned();
    let line = stack.as_deref().and_then(|stack| line_of_body(stack, line_count));
    ScriptError::Exception { text, line }
}

/// Returns the innermost line of the body in a stack.
fn line_of_body(stack: &str, line_count: usize) -> Option<usize> {
    let lines = stack.lines().filter_map(|frame| {
        let (_, position) = frame.split_once("<input>:")?;
        let digits = position.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<usize>().ok()?.checked_sub(LINES_BEFORE_BODY)
    });
    // An unclosed block is found behind the last line.
    lines.map(|line| line.min(line_count)).find(|line| *line > 0)
}

#[cfg(test)]
mod tests {
    use super::line_of_body;

    #[test]
    fn innermost_frame_of_the_body_counts() {
        let stack = "    at parse (native)\n    at f (<input>:4:9)\n    at anonymous (<input>:7:1)";
        assert_eq!(line_of_body(stack, 9), Some(2));
        assert_eq!(line_of_body("    at <input>:9:2", 5), Some(5));
        assert_eq!(line_of_body("    at bootstrap (bootstrap:4:1)", 5), None);
    }
}
