//! What a format is.

use std::fmt;

use super::Offered;
use crate::message::ToolCall;

/// One way to write calls into a text.
///
/// A format finds nothing: it is handed the text from one of its openers on, and says what begins
/// there. It is asked again with more of the text after [`Miss::More`], and what it says otherwise has to
/// hold however the text goes on. A call that the text breaks off in is handed on with arguments that have no end;
/// [`Typed`](super::Typed) puts them together where they come one by one. Where nothing but the end of its line ends a
/// call, the last line of a reply that was [cut short](Offered::is_cut_short) may be half of one, and is handed on so.
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::drivers::text::{Formats, Found, Format, Miss, Offered, Opener, Rest};
///
/// /// `@@name {…}@@`
/// #[derive(Debug)]
/// struct Ats;
///
/// impl Format for Ats {
///     fn name(&self) -> &str {
///         "ats"
///     }
///
///     fn openers(&self) -> &[Opener] {
///         &[Opener::Marker("@@")]
///     }
///
///     fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
///         let Some((body, _)) = rest.text[2..].split_once("@@") else {
///             return Err(if rest.is_end { Miss::Text } else { Miss::More });
///         };
///         let (name, arguments) = body.split_once(' ').ok_or(Miss::Text)?;
///         let call = offered.call(name, arguments).ok_or(Miss::Text)?;
///         Ok(Found::Calls { calls: vec![call], end: body.len() + 4 })
///     }
/// }
///
/// let schema = serde_json::json!({ "type": "object" });
/// let find = ToolDefinition::new("find", "Finds it.", schema);
/// let formats = Formats::new().with(Ats);
/// let read = formats.extract(r#"One moment. @@find {"what": "it"}@@"#, &Offered::new(&[&find]));
/// assert_eq!(read.calls[0].name, "find");
/// assert_eq!(read.text, "One moment.");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no format of calls",
    label = "implement `Format` for a type of your own",
    note = "`Formats::new()` has those that this crate knows already"
)]
pub trait Format: Send + Sync + fmt::Debug {
    /// What people call it.
    fn name(&self) -> &str;

    /// What may begin a call.
    fn openers(&self) -> &[Opener];

    /// Whether what it reads is a call only where the text ends with it, on lines of its own: for a
    /// format that ordinary text could be.
    fn is_last(&self) -> bool {
        false
    }

    /// What `rest` begins with, which is one of the openers. What has no length, ends within a letter or behind the
    /// text, or calls a tool that isn't offered is taken for text.
    ///
    /// # Errors
    /// It isn't a call, or can't be told yet.
    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss>;
}

/// What `format` finds, which may be another's and wrong.
pub(super) fn found(
    format: &dyn Format,
    rest: Rest<'_>,
    offered: &Offered<'_>,
) -> Result<Found, Miss> {
    let found = format.read(rest, offered)?;
    let (Found::Calls { end, .. }
    | Found::Text { end }
    | Found::Channel { end, .. }
    | Found::Thought { end, .. }) = found;
    let is_sound = match &found {
        Found::Calls { calls, .. } => calls.iter().all(|call| offered.find(&call.name).is_some()),
        _ => true,
    };
    let goes_on = end > 0 && rest.text.is_char_boundary(end);
    if goes_on && is_sound { Ok(found) } else { Err(Miss::Text) }
}

/// What may begin a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opener {
    /// These words, wherever they stand. Those with `<` or `[` in them are found at no cost for other
    /// texts; of others the first byte is looked for as well.
    Marker(&'static str),
    /// These words, with nothing but blanks before them on their line.
    Line(&'static str),
}

impl Opener {
    /// The words.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Marker(word) | Self::Line(word) => word,
        }
    }
}

/// A text from an opener on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rest<'t> {
    /// What there is of it.
    pub text: &'t str,
    /// Whether that is all there will be.
    pub is_end: bool,
    /// Whether nothing but blanks is before it on its line.
    pub begins_line: bool,
}

impl<'t> Rest<'t> {
    /// The text from an opener on, which stands within a line.
    pub const fn new(text: &'t str, is_end: bool) -> Self {
        Self { text, is_end, begins_line: false }
    }

    /// The same at the beginning of a line, if it is.
    #[must_use]
    pub const fn on_line(self, begins_line: bool) -> Self {
        Self { begins_line, ..self }
    }
}

/// What begins at an opener. Ends are counted in bytes from there.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Found {
    /// Calls, or nothing but markup where there are none.
    Calls {
        /// The calls.
        calls: Vec<ToolCall>,
        /// Where their markup ends.
        end: usize,
    },
    /// A text like any other, in which nothing begins.
    Text {
        /// Where it ends.
        end: usize,
    },
    /// A part of the reply, in which there are no calls.
    Channel {
        /// Where its text begins.
        end: usize,
        /// Whether that is for people to read, rather than what the model thinks.
        is_shown: bool,
        /// What ends it.
        closers: &'static [&'static str],
        /// What ends it and begins something else.
        stops: &'static [&'static str],
    },
    /// The end of what the model thought: all of the text up to here.
    Thought {
        /// Where the markup ends.
        end: usize,
        /// What should have begun it. Where that is in the text, nothing ends here.
        opener: &'static str,
    },
}

/// Why nothing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Miss {
    /// It is a text like any other.
    Text,
    /// The same, and to see that took a look at much of it. After some of these nothing more is looked
    /// for, so that no text takes long.
    Broken,
    /// That can't be told before there is more of it.
    More,
}
