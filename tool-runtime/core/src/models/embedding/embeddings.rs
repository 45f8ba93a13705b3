use crate::message::Usage;

/// The vectors of the texts of a request, in the order of the texts.
///
/// ```
/// use tool_runtime::Usage;
/// use tool_runtime::models::Embeddings;
///
/// let embeddings = Embeddings::new(vec![vec![0.6, 0.8]]).usage(Usage::new(7, 0));
/// assert_eq!(embeddings.vectors[0].len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Embeddings {
    /// One vector for each text. All have the same length.
    pub vectors: Vec<Vec<f32>>,
    /// The tokens that the request took, if the provider reports them.
    pub usage: Option<Usage>,
}

impl Embeddings {
    /// Creates embeddings of these vectors.
    pub fn new(vectors: Vec<Vec<f32>>) -> Self {
        Self { vectors, usage: None }
    }

    /// Sets the tokens that the request took.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }
}
