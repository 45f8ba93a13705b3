use std::ops::Range;

/// Limits of one request to a model that embeds texts.
///
/// An [`Embedder`](super::Embedder) accepts more and sends several requests. To store the vectors
/// after each request, embed one batch at a time:
///
/// ```
/// use tool_runtime::models::{EmbedLimits, EmbedRequest, Embedder, TestEmbedder};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::ModelError> {
/// let embedder = TestEmbedder::new(8).with_limits(EmbedLimits::default().max_texts(2));
/// let texts = ["one", "two", "three"];
/// let mut stored = Vec::new();
/// for batch in embedder.limits().batches(&texts) {
///     let embeddings = embedder.embed(EmbedRequest::documents(&texts[batch])).await?;
///     stored.extend(embeddings.vectors);
/// }
/// assert_eq!((stored.len(), embedder.requests().len()), (3, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmbedLimits {
    /// The highest number of texts in a request; at least 1. Default: `None`, no limit.
    pub max_texts: Option<usize>,
    /// The highest number of bytes of all texts in a request. A longer text is sent alone. Default:
    /// `None`, no limit.
    pub max_bytes: Option<usize>,
}

impl EmbedLimits {
    /// Sets the highest number of texts in a request.
    #[must_use]
    pub fn max_texts(mut self, limit: impl Into<Option<usize>>) -> Self {
        self.max_texts = limit.into();
        self
    }

    /// Sets the highest number of bytes of all texts in a request.
    #[must_use]
    pub fn max_bytes(mut self, limit: impl Into<Option<usize>>) -> Self {
        self.max_bytes = limit.into();
        self
    }

    /// Divides texts into batches within these limits: ranges of positions, in order.
    ///
    /// ```
    /// use tool_runtime::models::EmbedLimits;
    ///
    /// let limits = EmbedLimits::default().max_texts(2).max_bytes(6);
    /// let batches: Vec<_> = limits.batches(&["a", "b", "c", "too long", "d"]).collect();
    /// assert_eq!(batches, [0..2, 2..3, 3..4, 4..5]);
    /// ```
    pub fn batches(self, texts: &[&str]) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let rest = texts.get(start..).filter(|rest| !rest.is_empty())?;
            let mut bytes = 0_usize;
            let fits = |text: &&&str| {
                bytes = bytes.saturating_add(text.len());
                self.max_bytes.is_none_or(|most| bytes <= most)
            };
            let count = rest
                .iter()
                .take(self.max_texts.unwrap_or(usize::MAX))
                .take_while(fits)
                .count()
                .max(1);
            let batch = start..start + count;
            start = batch.end;
            Some(batch)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::EmbedLimits;

    proptest! {
        #[test]
        fn batches_cover_all_texts_within_the_limits(
            texts in vec("[a-z]{0,9}", 0..30),
            max_texts in 0_usize..8,
            max_bytes in 0_usize..20,
        ) {
            let texts: Vec<_> = texts.iter().map(String::as_str).collect();
            let limits = EmbedLimits::default().max_texts(max_texts).max_bytes(max_bytes);
            let mut end = 0;
            for batch in limits.batches(&texts) {
                prop_assert_eq!(batch.start, end);
                end = batch.end;
                let len = batch.len();
                let bytes: usize = texts[batch].iter().map(|text| text.len()).sum();
                prop_assert!(len == 1 || (1 < len && len <= max_texts && bytes <= max_bytes));
                // The next text exceeds a limit.
                let next = texts.get(end).map_or(usize::MAX, |text| text.len());
                prop_assert!(end == texts.len() || len >= max_texts || bytes + next > max_bytes);
            }
            prop_assert_eq!(end, texts.len());
        }
    }
}
