use crate::message::AssistantPart;

/// A piece of a reply that is still being said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// More of its text.
    Text(&'a str),
    /// More of what it thinks, as far as people may read it.
    Reasoning(&'a str),
    /// A call begins, or more is known of its name than when it began.
    Call {
        /// Which of the reply's calls, from 0, as they begin. Several may be under way at once.
        place: usize,
        /// The tool's name.
        name: &'a str,
    },
    /// More of a call's arguments; [`json::Partial`](crate::json::Partial) reads what is there by then.
    Arguments {
        /// Which of the reply's calls.
        place: usize,
        /// What comes behind the text so far.
        text: &'a str,
    },
}

/// Who is told of the pieces of a reply.
pub type Deltas<'a> = dyn for<'d> FnMut(Delta<'d>) + Send + 'a;

/// Tells of a reply that is there as a whole.
pub(crate) fn tell(parts: &[AssistantPart], deltas: &mut Deltas<'_>) {
    let mut calls = 0..;
    for part in parts {
        match part {
            AssistantPart::Text { text } => deltas(Delta::Text(text)),
            AssistantPart::Reasoning(reasoning) if reasoning.text.is_empty() => {}
            AssistantPart::Reasoning(reasoning) => deltas(Delta::Reasoning(&reasoning.text)),
            AssistantPart::Call(call) => {
                let Some(place) = calls.next() else { return };
                deltas(Delta::Call { place, name: &call.name });
                deltas(Delta::Arguments { place, text: &call.arguments.to_text() });
            }
        }
    }
}
