//! A line of a log that is no event: a process that was killed wrote half of one, and the next process its first behind
//! that.

use crate::event::Event;

/// What an event begins with.
const START: &[u8] = br#"{"run":"#;

/// The event that such a line ends with, if it is whole.
///
/// At each place where one may begin it is tried anew, and the work is linear all the same: a try that is in the midst
/// of a text at the next such place fails there, for its quotes end the text; and JSON that is read lies only so deep.
pub(super) fn event_behind(line: &[u8]) -> Option<Event> {
    let places = line.windows(START.len()).enumerate().skip(1);
    let mut places = places.filter(|(_, word)| *word == START).map(|(place, _)| place);
    places.find_map(|place| serde_json::from_slice(line.get(place..)?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"{"run":"2","turn":1,"at":7,"layer":"log","action":"lost","count":3}"#;

    #[test]
    fn an_event_behind_half_of_one_is_found_wherever_that_ends() {
        let half = r#"{"run":"1","turn":1,"parent":"ü","at":7,"layer":"tool","action":"effect","call":"c","effect":{"kind":"other","name":"it","data":{"run":"{\"run\":"}}}"#;
        let whole = serde_json::from_str::<Event>(WHOLE).unwrap();
        for end in 1..=half.len() {
            let line = [&half.as_bytes()[..end], WHOLE.as_bytes(), b"\n"].concat();
            assert_eq!(event_behind(&line).as_ref(), Some(&whole), "{end}");
            let twice = [&half.as_bytes()[..end], &line].concat();
            assert_eq!(event_behind(&twice).as_ref(), Some(&whole), "{end}");
        }
    }

    #[test]
    fn what_lies_within_something_else_or_is_half_is_none() {
        let half = WHOLE.strip_suffix('}').unwrap();
        for line in [
            WHOLE.to_owned(),
            format!("{half}{half}"),
            format!(r#"{{"layer":"hook","it":{WHOLE}}}"#),
            format!("[{WHOLE}]"),
            format!("{WHOLE}{WHOLE},"),
            String::new(),
        ] {
            assert_eq!(event_behind(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn a_long_line_is_read_quickly() {
        for piece in [r#"{"run":""#, r#"{"run":"1"},"#, r#"{"run":"\"#] {
            assert_eq!(event_behind(piece.repeat(30_000).as_bytes()), None, "{piece}");
        }
        // As deep as JSON may lie, and no deeper.
        assert_eq!(event_behind(r#"{"run":{"a":["#.repeat(300).as_bytes()), None);
    }
}
