use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::first_bytes::first_bytes;
use super::foreign::{UriUse, uri_use};
use super::visible::strip_invisible;

/// The number of bytes of a title, a name or a URL that are kept.
const MAX_LABEL_BYTES: usize = 2_000;

/// The number of bytes of a quotation that are kept.
const MAX_QUOTE_BYTES: usize = 16 << 10;

/// A source that a model's reply names: a web page or a document.
///
/// The provider returns it, such as after a search. With a [`range`](Self::range) or a
/// [`quote`](Self::quote), it is a citation. All texts come from outside: they may be wrong, and
/// they may try to deceive. Links are those of web pages only; a URL of another scheme, such as
/// `javascript` or `file`, is left out.
///
/// ```
/// use tool_runtime::message::Source;
///
/// let page = Source::web("https://weather.example/oslo").title("Oslo").range(0..10);
/// assert_eq!(page.cited_in("It is cold. Take a coat."), Some("It is cold"));
/// assert_eq!(page.to_string(), "Oslo, https://weather.example/oslo");
///
/// let active = Source::web("javascript:alert(1)");
/// assert_eq!(active.url, None);
/// assert_eq!(active.to_string(), "[link with the scheme `javascript` was left out]");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Source {
    /// The URL of a web page, with the scheme `https` or `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The title of the page or of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The media type of the document, such as `application/pdf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The name of the document's file, or its address at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
    /// The id of the document's file at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
    /// The place in the document, such as `pages 3-4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The passage of the source that the reply relies on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The part of the reply that relies on the source, in bytes of
    /// [`Message::text`](super::Message::text).
    ///
    /// `None` if the provider does not say, or if the text was changed since, such as by a model
    /// hook or because it contains a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range<usize>>,
}

impl Source {
    /// Creates the source for a web page. A note takes the place of a URL that is no link.
    pub fn web(url: impl AsRef<str>) -> Self {
        let url = url.as_ref();
        let mut source = Self::default();
        match uri_use(url) {
            UriUse::Link if url.len() <= MAX_LABEL_BYTES => source.url = Some(url.to_owned()),
            UriUse::Link => source.title = Some("[link was left out: it is too long]".to_owned()),
            UriUse::Text => source.file_name = label(url),
            UriUse::Refused(scheme) => {
                source.title = label(&format!("[link with the scheme `{scheme}` was left out]"));
            }
        }
        source
    }

    /// Creates the source for a document with this title, which may be empty.
    pub fn document(title: impl AsRef<str>) -> Self {
        Self::default().title(title)
    }

    /// Sets the title of the page or of the document. An empty one changes nothing.
    #[must_use]
    pub fn title(mut self, title: impl AsRef<str>) -> Self {
        self.title = label(title.as_ref()).or(self.title);
        self
    }

    /// Sets the media type of the document.
    #[must_use]
    pub fn media_type(mut self, media_type: impl AsRef<str>) -> Self {
        self.media_type = label(media_type.as_ref()).or(self.media_type);
        self
    }

    /// Sets the name of the document's file.
    #[must_use]
    pub fn file_name(mut self, name: impl AsRef<str>) -> Self {
        self.file_name = label(name.as_ref()).or(self.file_name);
        self
    }

    /// Sets the id of the document's file at the provider.
    #[must_use]
    pub fn file_id(mut self, id: impl AsRef<str>) -> Self {
        self.file_id = label(id.as_ref()).or(self.file_id);
        self
    }

    /// Sets the place in the document.
    #[must_use]
    pub fn location(mut self, location: impl AsRef<str>) -> Self {
        self.location = label(location.as_ref()).or(self.location);
        self
    }

    /// Sets the passage of the source that the reply relies on. The end of a long one is left out.
    #[must_use]
    pub fn quote(mut self, quote: impl AsRef<str>) -> Self {
        let quote = strip_invisible(quote.as_ref());
        let is_empty = quote.trim().is_empty();
        self.quote =
            (!is_empty).then(|| first_bytes(quote.into_owned(), MAX_QUOTE_BYTES)).or(self.quote);
        self
    }

    /// Sets the part of the reply that relies on the source, in bytes of its text.
    #[must_use]
    pub fn range(mut self, range: Range<usize>) -> Self {
        self.range = Some(range);
        self
    }

    /// Returns the part of the reply that relies on the source; `None` if there is no range, or
    /// none that fits.
    pub fn cited_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        text.get(self.range.clone()?).filter(|cited| !cited.is_empty())
    }

    /// Returns whether nothing is known of the source.
    #[doc(hidden)]
    pub fn is_unknown(&self) -> bool {
        self.texts().all(|text| text.is_none())
    }

    /// Returns the source without the part of the reply that relies on it.
    pub(crate) fn without_range(&self) -> Self {
        Self { range: None, ..self.clone() }
    }

    /// Removes the range if it does not fit the text.
    #[doc(hidden)]
    pub fn fit(&mut self, text: &str) {
        if self.cited_in(text).is_none() {
            self.range = None;
        }
    }

    fn texts(&self) -> impl Iterator<Item = Option<&str>> {
        let Self { url, title, media_type, file_name, file_id, location, quote, range: _ } = self;
        let texts = [url, title, media_type, file_name, file_id, location, quote];
        texts.into_iter().map(|text| text.as_deref())
    }
}

/// Shows the title, the address and the place in one line.
impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let address = self.url.as_ref().or(self.file_name.as_ref()).or(self.file_id.as_ref());
        let texts = [self.title.as_ref(), address, self.location.as_ref()];
        let mut texts: Vec<_> = texts.into_iter().flatten().map(String::as_str).collect();
        texts.dedup();
        f.write_str(&texts.join(", "))
    }
}

/// Returns a text from outside as one line of limited length, or `None` if nothing is visible.
fn label(text: &str) -> Option<String> {
    let head: Cow<'_, str> = if text.len() > MAX_LABEL_BYTES {
        first_bytes(text.to_owned(), MAX_LABEL_BYTES).into()
    } else {
        text.into()
    };
    let line: Vec<_> = strip_invisible(&head)
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    (!line.is_empty()).then(|| line.join(" "))
}
