use crate::models::ModelError;

/// A request for embeddings: texts and the purpose of their vectors.
///
/// ```
/// use tool_runtime::models::{EmbedPurpose, EmbedRequest};
///
/// let request = EmbedRequest::documents(&["Oslo is in Norway.", "Lima is in Peru."]);
/// assert_eq!(request.purpose, EmbedPurpose::Document);
/// let request = EmbedRequest::queries(&["Where is Lima?"]);
/// assert_eq!(request.purpose, EmbedPurpose::Query);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmbedRequest<'a> {
    /// The texts, none of which is empty.
    pub texts: &'a [&'a str],
    /// The purpose of the vectors.
    pub purpose: EmbedPurpose,
}

/// The purpose of embeddings. Some models embed a question differently from the texts that answer
/// it.
///
/// ```
/// use tool_runtime::models::{EmbedPurpose, EmbedRequest};
///
/// assert_eq!(EmbedRequest::queries(&["Where is Lima?"]).purpose, EmbedPurpose::Query);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EmbedPurpose {
    /// The texts are stored, to be found by queries.
    Document,
    /// The texts are used to find documents.
    Query,
}

impl<'a> EmbedRequest<'a> {
    /// Creates a request for texts that are stored, to be found by queries.
    pub fn documents(texts: &'a [&'a str]) -> Self {
        Self { texts, purpose: EmbedPurpose::Document }
    }

    /// Creates a request for texts that are used to find documents.
    pub fn queries(texts: &'a [&'a str]) -> Self {
        Self { texts, purpose: EmbedPurpose::Query }
    }

    /// Replaces the texts and keeps the purpose.
    #[must_use]
    pub fn with_texts(self, texts: &'a [&'a str]) -> Self {
        Self { texts, ..self }
    }

    /// Checks that no text is empty.
    ///
    /// # Errors
    /// [`ModelError::Setup`] contains the number of the first empty text.
    ///
    /// ```
    /// use tool_runtime::models::EmbedRequest;
    ///
    /// let error = EmbedRequest::documents(&["Oslo", ""]).check().unwrap_err();
    /// assert_eq!(error.to_string(), "empty text: number 2 of 2 texts to embed");
    /// ```
    pub fn check(&self) -> Result<(), ModelError> {
        match self.texts.iter().position(|text| text.is_empty()) {
            None => Ok(()),
            Some(index) => Err(ModelError::Setup(format!(
                "empty text: number {} of {} texts to embed",
                index + 1,
                self.texts.len()
            ))),
        }
    }
}
