use serde::{Deserialize, Serialize};

/// A link to a resource, without its content.
///
/// A model receives the link as text.
///
/// ```
/// use tool_runtime::ToolOutput;
/// use tool_runtime::message::ResourceLink;
///
/// let link = ResourceLink::new("file:///report.pdf", "report.pdf")
///     .description("The report of May")
///     .media_type("application/pdf")
///     .size(20_480);
/// let output = ToolOutput::text("I wrote a report.").with_part(link);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceLink {
    /// The URI of the resource.
    pub uri: String,
    /// The name of the resource.
    pub name: String,
    /// The description of what the resource contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type of the resource, such as `text/plain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The size of the resource in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// A resource with its content.
///
/// A model receives the URI and then the text. It receives bytes in the same way as an image, audio
/// or a file of the same media type.
///
/// ```
/// use tool_runtime::ToolOutput;
/// use tool_runtime::message::EmbeddedResource;
///
/// let log = EmbeddedResource::text("file:///build.log", "error: no space");
/// let output = ToolOutput::text("The build failed.").with_part(log);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmbeddedResource {
    /// The URI of the resource.
    pub uri: String,
    /// The media type of the resource, such as `text/plain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The content of the resource.
    #[serde(flatten)]
    pub data: ResourceData,
}

/// The content of a resource: text or bytes.
///
/// ```
/// use tool_runtime::message::{EmbeddedResource, ResourceData};
///
/// let resource = EmbeddedResource::base64("file:///a.bin", "AAAA");
/// assert_eq!(resource.data, ResourceData::Base64("AAAA".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceData {
    /// The text of the resource.
    Text(String),
    /// The bytes of the resource, in base64.
    Base64(String),
}

impl ResourceLink {
    /// Creates a link to the resource at `uri`.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: name.into(), description: None, media_type: None, size: None }
    }

    /// Sets the description of what the resource contains.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the media type of the resource.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Sets the size of the resource in bytes.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Returns the text for a model.
    pub(super) fn note(&self) -> String {
        let Self { uri, name, description, media_type, size } = self;
        let facts = [
            Some(name.clone()),
            Some(uri.clone()),
            media_type.clone(),
            size.map(|size| format!("{size} bytes")),
            description.clone(),
        ];
        let facts: Vec<_> = facts.into_iter().flatten().filter(|fact| !fact.is_empty()).collect();
        format!("[link: {}]", facts.join(", "))
    }
}

impl EmbeddedResource {
    /// Creates a resource of text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), media_type: None, data: ResourceData::Text(text.into()) }
    }

    /// Creates a resource of bytes, in base64.
    pub fn base64(uri: impl Into<String>, base64: impl Into<String>) -> Self {
        Self { uri: uri.into(), media_type: None, data: ResourceData::Base64(base64.into()) }
    }

    /// Sets the media type of the resource.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }
}
