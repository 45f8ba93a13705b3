/// Limits of the lists that a server returns.
///
/// ```
/// use tool_runtime::mcp::{ListLimits, McpClient};
///
/// let client = McpClient::stdio("my-server").list_limits(ListLimits::default().items(100));
/// # let _ = client;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct ListLimits {
    /// The maximum number of pages. Default: 100.
    pub pages: usize,
    /// The maximum number of items, such as tools. Default: 2,000.
    pub items: usize,
    /// The maximum size of all items as JSON. In memory, they take at most about twice as much: a
    /// list whose values take more is cut. Default: 16 MiB.
    pub bytes: usize,
}

impl Default for ListLimits {
    fn default() -> Self {
        Self { pages: 100, items: 2_000, bytes: 16 << 20 }
    }
}

impl ListLimits {
    /// Sets the maximum number of pages.
    pub fn pages(mut self, pages: usize) -> Self {
        self.pages = pages;
        self
    }

    /// Sets the maximum number of items.
    pub fn items(mut self, items: usize) -> Self {
        self.items = items;
        self
    }

    /// Sets the maximum size of all items as JSON.
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }
}

/// Limits of the result of a call.
///
/// ```
/// use tool_runtime::mcp::{McpClient, ResultLimits};
///
/// let limits = ResultLimits::default().text_bytes(20_000);
/// let client = McpClient::stdio("my-server").result_limits(limits);
/// # let _ = client;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct ResultLimits {
    /// The maximum size of all texts. A note replaces the rest. Default: 256 KiB.
    pub text_bytes: usize,
    /// The maximum size of images, audio and other data as base64. A note replaces data beyond the
    /// limit. Default: 8 MiB.
    pub media_bytes: usize,
    /// The maximum size of structured content as JSON. A note replaces content that exceeds it.
    /// Default: 1 MiB.
    pub structured_bytes: usize,
    /// The maximum number of parts. Default: 100.
    pub parts: usize,
    /// The maximum size of the metadata of a result or a tool as JSON. Metadata that exceeds it is
    /// left out. Default: 64 KiB.
    pub meta_bytes: usize,
}

impl Default for ResultLimits {
    fn default() -> Self {
        Self {
            text_bytes: 256 << 10,
            media_bytes: 8 << 20,
            structured_bytes: 1 << 20,
            parts: 100,
            meta_bytes: 64 << 10,
        }
    }
}

impl ResultLimits {
    /// Sets the maximum size of all texts.
    pub fn text_bytes(mut self, bytes: usize) -> Self {
        self.text_bytes = bytes;
        self
    }

    /// Sets the maximum size of images, audio and other data as base64.
    pub fn media_bytes(mut self, bytes: usize) -> Self {
        self.media_bytes = bytes;
        self
    }

    /// Sets the maximum size of structured content as JSON.
    pub fn structured_bytes(mut self, bytes: usize) -> Self {
        self.structured_bytes = bytes;
        self
    }

    /// Sets the maximum number of parts.
    pub fn parts(mut self, parts: usize) -> Self {
        self.parts = parts;
        self
    }

    /// Sets the maximum size of the metadata of a result or a tool as JSON.
    pub fn meta_bytes(mut self, bytes: usize) -> Self {
        self.meta_bytes = bytes;
        self
    }
}
