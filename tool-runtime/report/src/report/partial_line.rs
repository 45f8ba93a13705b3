//! Lines of a log that are not events: a process that was killed wrote a partial line, and the next
//! process appended its first event to it.

use tool_core::Event;

/// Start of every event.
const START: &[u8] = br#"{"run":"#;

/// Returns the event at the end of a line, if it is complete.
///
/// Decoding is tried at every place where an event may start. The total work is still linear: an
/// attempt that is within a string at the next such place fails there, because the quotes of that
/// place end the string, and JSON nests only to a limited depth.
pub(super) fn trailing_event(line: &[u8]) -> Option<Event> {
    let starts = line.windows(START.len()).enumerate().skip(1);
    let mut starts = starts.filter(|(_, word)| *word == START).map(|(offset, _)| offset);
    starts.find_map(|offset| serde_json::from_slice(line.get(offset..)?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"{"run":"2","turn":1,"at":7,"event":"log.dropped","count":3}"#;

    #[test]
    fn event_after_a_partial_line_is_recovered() {
        let half = r#"{"run":"1","turn":1,"parent":"ü","at":7,"event":"tool.effect","call":"c","effect":{"kind":"other","name":"it","data":{"run":"{\"run\":"}}}"#;
        let whole = serde_json::from_str::<Event>(WHOLE).unwrap();
        for end in 1..=half.len() {
            let line = [&half.as_bytes()[..end], WHOLE.as_bytes(), b"\n"].concat();
            assert_eq!(trailing_event(&line).as_ref(), Some(&whole), "{end}");
            let twice = [&half.as_bytes()[..end], &line].concat();
            assert_eq!(trailing_event(&twice).as_ref(), Some(&whole), "{end}");
        }
    }

    #[test]
    fn nested_and_partial_events_are_not_recovered() {
        let half = WHOLE.strip_suffix('}').unwrap();
        for line in [
            WHOLE.to_owned(),
            format!("{half}{half}"),
            format!(r#"{{"event":"hook.ran","it":{WHOLE}}}"#),
            format!("[{WHOLE}]"),
            format!("{WHOLE}{WHOLE},"),
            String::new(),
        ] {
            assert_eq!(trailing_event(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn long_lines_take_linear_time() {
        for piece in [r#"{"run":""#, r#"{"run":"1"},"#, r#"{"run":"\"#] {
            assert_eq!(trailing_event(piece.repeat(30_000).as_bytes()), None, "{piece}");
        }
        // At the depth limit of JSON, and beyond it.
        assert_eq!(trailing_event(r#"{"run":{"a":["#.repeat(300).as_bytes()), None);
    }
}
