use std::io;

use tool_core::async_trait;

/// Lets the user authorize access in a browser.
///
/// [`LoopbackRedirect`](super::LoopbackRedirect) is a handler for programs on the machine of the
/// user. A web application implements the trait with one of its endpoints.
///
/// ```
/// use tool_runtime::async_trait;
/// use tool_runtime::mcp::AuthorizationHandler;
///
/// /// Prints the URL and reads the address that the browser ended at.
/// struct Prompt;
///
/// #[async_trait]
/// impl AuthorizationHandler for Prompt {
///     fn redirect_uri(&self) -> String {
///         "http://127.0.0.1:8123/callback".to_owned()
///     }
///
///     async fn authorize(&self, url: &str) -> std::io::Result<String> {
///         println!("Open {url} and paste the address of the page that can't be loaded:");
///         let mut address = String::new();
///         std::io::stdin().read_line(&mut address)?;
///         Ok(address.trim().to_owned())
///     }
/// }
/// ```
#[async_trait]
pub trait AuthorizationHandler: Send + Sync {
    /// Returns the URI that the authorization server redirects the browser to.
    fn redirect_uri(&self) -> String;

    /// Opens the URL of the authorization server in a browser, and returns the complete URL that
    /// the browser is redirected to. The client validates it.
    ///
    /// # Errors
    /// The user can't be asked or does not agree. After an error, the client does not ask again for
    /// 10 minutes.
    async fn authorize(&self, url: &str) -> io::Result<String>;
}
