//! Documents as programs add them.

use std::path::Path;
use std::{fs, io};

use serde_json::{Map, Value};

/// Name of the tenant of documents that belong to no tenant.
pub(crate) const NO_TENANT: &str = "";

/// A document to add to a [`Knowledge`](crate::Knowledge).
///
/// ```
/// use tool_runtime::knowledge::{Document, DocumentFormat};
///
/// let page = Document::markdown("handbook/leave.md", "# Leave\n\nEveryone has 30 days.")
///     .tenant("acme")
///     .metadata("department", "people");
/// assert_eq!(page.format, DocumentFormat::Markdown);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Document {
    /// Unique name within the tenant, such as a path or a URL. Search results contain it.
    pub source: String,
    /// The tenant that can find the document; empty if there are no tenants.
    pub tenant: String,
    /// The content of the document.
    pub text: String,
    /// The format of the content, by which it is divided into chunks.
    pub format: DocumentFormat,
    /// Values by which searches can filter.
    pub metadata: Map<String, Value>,
}

/// The format of a document, by which it is divided into chunks.
///
/// ```
/// use tool_runtime::knowledge::DocumentFormat;
///
/// assert_eq!(DocumentFormat::of_path("README.md"), Some(DocumentFormat::Markdown));
/// assert_eq!(DocumentFormat::of_path("main.rs"), Some(DocumentFormat::Code));
/// assert_eq!(DocumentFormat::of_path("photo.jpg"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DocumentFormat {
    /// Plain text whose paragraphs are separated by empty lines.
    Text,
    /// Markdown, whose headings are stored with each chunk.
    Markdown,
    /// Source code, which is divided between its top-level items.
    Code,
    /// A page in HTML, which is converted to Markdown without scripts, styles and elements that are
    /// marked as hidden.
    Html,
}

impl DocumentFormat {
    /// Returns the format for the extension of a file name; `None` if the extension is unknown.
    pub fn of_path(path: impl AsRef<Path>) -> Option<Self> {
        let extension = path.as_ref().extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "txt" | "text" | "rst" | "adoc" | "log" | "csv" | "tsv" => Some(Self::Text),
            "md" | "markdown" | "mdx" => Some(Self::Markdown),
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "rs" | "py" | "js" | "jsx" | "ts" | "tsx" | "go" | "java" | "kt" | "c" | "h" | "cc"
            | "cpp" | "hpp" | "cs" | "rb" | "php" | "swift" | "scala" | "sh" | "bash" | "sql"
            | "toml" | "yaml" | "yml" | "json" | "xml" | "css" | "lua" | "r" | "jl" | "hs"
            | "ml" | "ex" | "exs" | "erl" | "clj" | "zig" | "dart" | "proto" => Some(Self::Code),
            _ => None,
        }
    }
}

impl Document {
    /// Creates a document of plain text.
    pub fn text(source: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(source, text, DocumentFormat::Text)
    }

    /// Creates a document in Markdown.
    pub fn markdown(source: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(source, text, DocumentFormat::Markdown)
    }

    /// Creates a document of source code.
    pub fn code(source: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(source, text, DocumentFormat::Code)
    }

    /// Creates a document from a page in HTML.
    ///
    /// The title of the page is the first heading, unless the page begins with an `h1`. If the
    /// source is a URL, relative links are resolved.
    ///
    /// ```
    /// use tool_runtime::knowledge::{Document, Knowledge, SearchFilter, SqliteDocuments};
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let knowledge = Knowledge::new(SqliteDocuments::open(&Sqlite::in_memory()?).await?);
    /// let page = "<title>Leave</title><p>Everyone has <b>30</b> days.</p>";
    /// knowledge.add(Document::html("https://intranet.example/leave", page)).await?;
    /// let found = knowledge.search("days of leave", &SearchFilter::default(), 5).await?;
    /// assert_eq!(found[0].text, "# Leave\n\nEveryone has **30** days.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn html(source: impl Into<String>, html: impl Into<String>) -> Self {
        Self::new(source, html, DocumentFormat::Html)
    }

    /// Reads a text file, whatever its size. The source is the path.
    ///
    /// The format is that of the [extension](DocumentFormat::of_path), or plain text if the
    /// extension is unknown. The function blocks the thread while it reads.
    ///
    /// # Errors
    /// Returns an error if the file can't be read, or if it is not UTF-8.
    ///
    /// ```
    /// use tool_runtime::knowledge::{Document, DocumentFormat};
    ///
    /// # fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("document-{}.md", std::process::id()));
    /// # std::fs::write(&path, "# Leave\n\nEveryone has 30 days.")?;
    /// let leave = Document::from_file(&path)?;
    /// assert_eq!(leave.source, path.to_string_lossy());
    /// assert_eq!(leave.format, DocumentFormat::Markdown);
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_file(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let format = DocumentFormat::of_path(path).unwrap_or(DocumentFormat::Text);
        Ok(Self::new(path.to_string_lossy(), fs::read_to_string(path)?, format))
    }

    /// Creates a document of the given format.
    ///
    /// ```
    /// use tool_runtime::knowledge::{Document, DocumentFormat};
    ///
    /// let document = Document::new("notes.txt", "Buy milk.", DocumentFormat::Text);
    /// assert_eq!(document, Document::text("notes.txt", "Buy milk."));
    /// ```
    pub fn new(source: impl Into<String>, text: impl Into<String>, format: DocumentFormat) -> Self {
        Self {
            source: source.into(),
            tenant: NO_TENANT.to_owned(),
            text: text.into(),
            format,
            metadata: Map::new(),
        }
    }

    /// Sets the tenant that can find the document. Default: none.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = tenant.into();
        self
    }

    /// Adds a value by which searches can filter.
    #[must_use]
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }
}
