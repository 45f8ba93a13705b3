//! Conversion of exceptions, whose members can be code of the body.

use rquickjs::{CaughtError, Coerced, Ctx, Error, FromJs, Function, Object, Value};
use tool_core::message::visible;

use super::advice::advice;
use super::error::ScriptError;
use super::limits::{MAX_ERROR_CHARS, MAX_MEMORY_BYTES};

/// The lines before the first line of the body in the function that holds it.
const LINES_BEFORE_BODY: usize = 2;

/// Converts an error of the engine, whose exception is pending in the context.
pub(super) fn script_error(ctx: &Ctx<'_>, error: Error, line_count: usize) -> ScriptError {
    if matches!(error, Error::Allocation) {
        return ScriptError::OutOfMemory;
    }
    let mut advised = None;
    let (text, stack) = match CaughtError::from_error(ctx, error) {
        CaughtError::Exception(exception) => {
            let name = exception.get::<_, Option<Coerced<String>>>("name");
            let name = name.ok().flatten().map_or_else(|| "Error".to_owned(), |name| name.0);
            let message = exception.message().unwrap_or_default();
            if name == "InternalError" && message == "out of memory" {
                return ScriptError::OutOfMemory;
            }
            advised = advice(&name, &message);
            (format!("{name}: {message}"), exception.stack())
        }
        // The engine throws it if there is no memory for an exception.
        CaughtError::Value(value) if value.is_null() => {
            let limit = MAX_MEMORY_BYTES >> 20;
            (format!("It threw null, or needs more than {limit} MiB of memory."), None)
        }
        CaughtError::Value(value) => {
            let text = thrown_text(ctx, value).unwrap_or_else(|_| {
                ctx.catch();
                "a value that can't be converted to text".to_owned()
            });
            (format!("It threw {text}"), None)
        }
        CaughtError::Error(error) => (error.to_string(), None),
    };
    // The text may come from outside, such as from a page that the body has read.
    let text: String = text.chars().take(MAX_ERROR_CHARS).collect();
    let mut text = visible(&text).into_owned();
    if let Some(advised) = advised {
        text.push_str(". ");
        text.push_str(&advised);
    }
    let line = stack.as_deref().and_then(|stack| line_of_body(stack, line_count));
    ScriptError::Exception { text, line }
}

/// Returns the JSON of a thrown object, and the text of another value. Code of the body may run.
fn thrown_text<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> rquickjs::Result<String> {
    if value.is_object() && !value.is_function() {
        // The native function of the engine could not be interrupted.
        let json: Object<'js> = ctx.globals().get("JSON")?;
        let stringify: Function<'js> = json.get("stringify")?;
        let json = stringify.call::<_, Option<String>>((value.clone(),))?;
        // An object without members may have a method that converts it to text.
        if let Some(json) = json.filter(|json| json != "{}") {
            return Ok(json);
        }
    }
    Coerced::<String>::from_js(ctx, value).map(|text| text.0)
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
