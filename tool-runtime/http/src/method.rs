//! Methods of HTTP requests.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Method of an HTTP request.
///
/// ```
/// use tool_http::HttpMethod;
///
/// assert_eq!(HttpMethod::Delete.to_string(), "DELETE");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum HttpMethod {
    /// Requests a representation of a resource.
    Get,
    /// Requests the headers of a GET response alone.
    Head,
    /// Submits the body to a resource.
    #[default]
    Post,
    /// Replaces a resource with the body.
    Put,
    /// Changes a resource as the body describes.
    Patch,
    /// Deletes a resource on the server.
    Delete,
    /// Requests the options of communication with a resource.
    Options,
}

impl HttpMethod {
    /// Returns the method as it is sent, in upper case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }
}

impl fmt::Display for HttpMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
