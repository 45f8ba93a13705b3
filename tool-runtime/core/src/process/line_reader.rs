//! Lines of an asynchronous reader.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use tool_http::{LineDecoder, MessageSizeError, decode_utf8};

/// Reader of lines with a size limit.
///
/// ```
/// use std::io;
///
/// use tool_runtime::process::LineReader;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> io::Result<()> {
/// let mut lines = LineReader::new(&b"one\r\nfar too long\nlast"[..], 5);
/// assert_eq!(lines.next_line().await?.as_deref(), Some("one"));
/// let too_long = lines.next_line().await.unwrap_err();
/// assert_eq!(too_long.kind(), io::ErrorKind::InvalidData);
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
    /// - [`InvalidData`](io::ErrorKind::InvalidData) with a [`MessageSizeError`] if the line
    ///   exceeds the limit. It is skipped: the next line can be read.
    /// - The error of the reader.
    ///
    /// # Cancellation
    /// Dropping the future loses nothing: the next call continues to read the same line.
    ///
    /// ```
    /// use tool_runtime::process::LineReader;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let mut lines = LineReader::new(&b"a\nb\n"[..], 100);
    /// let mut text = String::new();
    /// while let Some(line) = lines.next_line().await? {
    ///     text += &line;
    /// }
    /// assert_eq!(text, "ab");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next_line(&mut self) -> io::Result<Option<String>> {
        let text = |line| decode_utf8(line).0;
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(None) };
            let too_long =
                |error: MessageSizeError| io::Error::new(io::ErrorKind::InvalidData, error);
            if let Some(line) = decoder.next_line().map_err(too_long)? {
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
