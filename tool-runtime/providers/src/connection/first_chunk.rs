//! Bodies whose first chunk has arrived.

use async_trait::async_trait;
use tool_http::{BodyStream, HttpBody, TransportError};

/// Waits for the first chunk and returns the same body.
pub(crate) async fn with_first_chunk(mut body: HttpBody) -> Result<HttpBody, TransportError> {
    let first = body.next().await?;
    Ok(HttpBody::new(WithFirstChunk { first, rest: body }))
}

struct WithFirstChunk {
    first: Option<Vec<u8>>,
    rest: HttpBody,
}

#[async_trait]
impl BodyStream for WithFirstChunk {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        match self.first.take() {
            None => self.rest.next().await,
            first => Ok(first),
        }
    }
}
