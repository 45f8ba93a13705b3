/// Limits of the lists that a server returns.
///
/// ```
/// use tool_runtime::mcp::{ListLimits, McpClient};
///
/// let client = McpClient::stdio("my-server").list_limits(ListLimits::default().max_items(100));
/// # let _ = client;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct ListLimits {
    /// The maximum number of pages. Default: 100.
    pub max_pages: usize,
    /// The maximum number of items, such as tools. Default: 2,000.
    pub max_items: usize,
    /// The maximum size of all items as JSON. In memory, they take at most about twice as much: a
    /// list whose values take more is cut. Default: 16 MiB.
    pub max_bytes: usize,
}

impl Default for ListLimits {
    fn default() -> Self {
        Self { max_pages: 100, max_items: 2_000, max_bytes: 16 << 20 }
    }
}

impl ListLimits {
    /// Sets the maximum number of pages.
    pub fn max_pages(mut self, pages: usize) -> Self {
        self.max_pages = pages;
        self
    }

    /// Sets the maximum number of items.
    pub fn max_items(mut self, items: usize) -> Self {
        self.max_items = items;
        self
    }

    /// Sets the maximum size of all items as JSON.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }
}

/// Limits of the result of a call.
///
/// ```
/// use tool_runtime::mcp::{McpClient, ResultLimits};
///
/// let limits = ResultLimits::default().max_text_bytes(20_000);
/// let client = McpClient::stdio("my-server").result_limits(limits);
/// # let _ = client;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct ResultLimits {
    /// The maximum size of all texts. A note replaces the rest. Default: 256 KiB.
    pub max_text_bytes: usize,
    /// The maximum size of images, audio and other data as base64. A note replaces data beyond the
    /// limit. Default: 8 MiB.
    pub max_media_bytes: usize,
    /// The maximum size of structured content as JSON. A note replaces content that exceeds it.
    /// Default: 1 MiB.
    pub max_structured_bytes: usize,
    /// The maximum number of parts. Default: 100.
    pub max_parts: usize,
    /// The maximum size of the metadata of a result or a tool as JSON. Metadata that exceeds it is
    /// left out. Default: 64 KiB.
    pub max_meta_bytes: usize,
}

impl Default for ResultLimits {
    fn default() -> Self {
        Self {
            max_text_bytes: 256 << 10,
            max_media_bytes: 8 << 20,
            max_structured_bytes: 1 << 20,
            max_parts: 100,
            max_meta_bytes: 64 << 10,
        }
    }
}

impl ResultLimits {
    /// Sets the maximum size of all texts.
    pub fn max_text_bytes(mut self, bytes: usize) -> Self {
        self.max_text_bytes = bytes;
        self
    }

    /// Sets the maximum size of images, audio and other data as base64.
    pub fn max_media_bytes(mut self, bytes: usize) -> Self {
        self.max_media_bytes = bytes;
        self
    }

    /// Sets the maximum size of structured content as JSON.
    pub fn max_structured_bytes(mut self, bytes: usize) -> Self {
        self.max_structured_bytes = bytes;
        self
    }

    /// Sets the maximum number of parts.
    pub fn max_parts(mut self, parts: usize) -> Self {
        self.max_parts = parts;
        self
    }

    /// Sets the maximum size of the metadata of a result or a tool as JSON.
    pub fn max_meta_bytes(mut self, bytes: usize) -> Self {
        self.max_meta_bytes = bytes;
        self
    }
}
