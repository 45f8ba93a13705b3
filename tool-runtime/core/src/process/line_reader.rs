//! Lines of an asynchronous reader.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use tool_http::{LineDecoder, MessageSizeError, decode_utf8};

/// Reader of lines with a size limit.
///
/// ```
/// use tool_runtime::process::{LineError, LineReader};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), LineError> {
/// let mut lines = LineReader::new(&b"one\r\nfar too long\nlast"[..], 5);
/// assert_eq!(lines.next_line().await?.as_deref(), Some("one"));
/// assert!(matches!(lines.next_line().await, Err(LineError::TooLong(_))));
/// assert_eq!(lines.next_line().await?.as_deref(), Some("last"));
/// assert_eq!(lines.next_line().await?, None);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    /// `None` after the end.
    decoder: Option<LineDecoder>,
    buffer: Vec<u8>,
}

/// The reason why a line can't be read.
///
/// ```
/// use tool_runtime::process::{LineError, LineReader};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let error = LineReader::new(&b"too long"[..], 3).next_line().await.unwrap_err();
/// assert_eq!(error.to_string(), "message too long: more than 3 bytes");
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// The reader of the bytes failed.
    #[error("line can't be read: {0}")]
    Io(#[from] io::Error),
    /// The line exceeds the limit. It is skipped: the next line can be read.
    #[error(transparent)]
    TooLong(#[from] MessageSizeError),
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Creates a reader of lines of at most `max_line_bytes` bytes before the line feed.
    pub fn new(reader: R, max_line_bytes: usize) -> Self {
        let decoder = Some(LineDecoder::new(max_line_bytes));
        Self { reader, decoder, buffer: vec![0; 8 << 10] }
    }

    /// Returns the next line without its ending, or `None` at the end. The last line may lack its
    /// ending. Invalid UTF-8 is replaced by U+FFFD.
    ///
    /// # Errors
    /// - [`LineError::TooLong`] if the line exceeds the limit. It is skipped.
    /// - [`LineError::Io`] if the reader fails.
    ///
    /// # Cancellation
    /// Dropping the future loses nothing: the next call continues to read the same line.
    ///
    /// ```
    /// use tool_runtime::process::{LineError, LineReader};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), LineError> {
    /// let mut lines = LineReader::new(&b"a\nb\n"[..], 100);
    /// let mut text = String::new();
    /// while let Some(line) = lines.next_line().await? {
    ///     text += &line;
    /// }
    /// assert_eq!(text, "ab");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next_line(&mut self) -> Result<Option<String>, LineError> {
        let text = |line| decode_utf8(line).0;
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(None) };
            if let Some(line) = decoder.next_line()? {
                return Ok(Some(text(line)));
            }
            let count = self.reader.read(&mut self.buffer).await?;
            decoder.push(self.buffer.get(..count).unwrap_or_default());
            if count == 0 {
                return Ok(self.decoder.take().and_then(LineDecoder::finish).map(text));
            }
        }
    }

    /// Reads and drops everything up to the end.
    pub(super) async fn drain(&mut self) {
        self.decoder = None;
        while let Ok(1..) = self.reader.read(&mut self.buffer).await {}
    }
}
