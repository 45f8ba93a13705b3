use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tool_core::async_trait;

use super::handler::AuthorizationHandler;

/// The maximum size of the head of a request.
const MAX_REQUEST_BYTES: u64 = 16 << 10;

/// How long a browser may take to send a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of connections of browsers at once.
const MAX_CONNECTIONS: usize = 16;

const ANSWER: &str = "You can close this window.";

/// Receives the redirect of a browser on this machine, at a loopback address.
///
/// ```
/// use tool_runtime::mcp::{LoopbackRedirect, McpClient, OAuth};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
/// # runtime.block_on(async {
/// let browser = LoopbackRedirect::bind(|url| println!("Open {url}")).await.unwrap();
/// let oauth = OAuth::authorization_code(browser);
/// let client = McpClient::http("https://example.com/mcp").oauth(oauth);
/// # let _ = client;
/// # });
/// ```
#[derive(Clone)]
pub struct LoopbackRedirect {
    listener: Arc<TcpListener>,
    redirect_uri: Arc<str>,
    open: Arc<dyn Fn(&str) + Send + Sync>,
}

impl LoopbackRedirect {
    /// Listens on a free port. `open` shows a URL to the user, or opens it in a browser.
    ///
    /// # Errors
    /// No port can be bound.
    ///
    /// ```
    /// use tool_runtime::mcp::{AuthorizationHandler, LoopbackRedirect};
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    /// # runtime.block_on(async {
    /// let browser = LoopbackRedirect::bind(|url| println!("Open {url}")).await.unwrap();
    /// assert!(browser.redirect_uri().starts_with("http://127.0.0.1:"));
    /// # });
    /// ```
    pub async fn bind(open: impl Fn(&str) + Send + Sync + 'static) -> io::Result<Self> {
        Self::bind_port(0, open).await
    }

    /// Listens on this port, for a client that is registered with it.
    ///
    /// # Errors
    /// The port can't be bound.
    ///
    /// ```
    /// use tool_runtime::mcp::{AuthorizationHandler, LoopbackRedirect};
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    /// # runtime.block_on(async {
    /// let browser = LoopbackRedirect::bind_port(0, |url| println!("Open {url}")).await.unwrap();
    /// assert!(browser.redirect_uri().ends_with("/callback"));
    /// # });
    /// ```
    pub async fn bind_port(
        port: u16,
        open: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let redirect_uri = format!("http://{}/callback", listener.local_addr()?).into();
        Ok(Self { listener: Arc::new(listener), redirect_uri, open: Arc::new(open) })
    }
}

#[async_trait]
impl AuthorizationHandler for LoopbackRedirect {
    fn redirect_uri(&self) -> String {
        self.redirect_uri.to_string()
    }

    async fn authorize(&self, url: &str) -> io::Result<String> {
        let state = state_of(url).ok_or_else(|| io::Error::other("the URL has no state"))?;
        (self.open)(url);
        let mut requests = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if requests.len() < MAX_CONNECTIONS => {
                    let (stream, _) = accepted?;
                    let (uri, state) = (Arc::clone(&self.redirect_uri), state.clone());
                    let reading = async move { redirect(stream, &uri, &state).await };
                    requests.spawn(timeout(REQUEST_TIMEOUT, reading));
                }
                Some(request) = requests.join_next() => {
                    if let Ok(Ok(Some(redirect))) = request {
                        return Ok(redirect);
                    }
                }
            }
        }
    }
}

fn state_of(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let state = url.query_pairs().find(|(name, _)| name == "state")?.1.into_owned();
    Some(state)
}

/// Returns the URL of a request, if it is the redirect with this state.
async fn redirect(mut stream: TcpStream, redirect_uri: &str, state: &str) -> Option<String> {
    let mut head = Vec::new();
    let (reader, mut writer) = stream.split();
    let mut reader = reader.take(MAX_REQUEST_BYTES);
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        if reader.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8(head).ok()?;
    let path = head.strip_prefix("GET ")?.split(' ').next()?;
    let url = Url::parse(redirect_uri).ok()?.join(path).ok()?.to_string();
    let is_redirect =
        url.split('?').next() == Some(redirect_uri) && state_of(&url).as_deref() == Some(state);
    let (status, body) = if is_redirect { ("200 OK", ANSWER) } else { ("404 Not Found", "") };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    // The redirect counts, even if the browser does not wait for the answer.
    let _ = writer.write_all(answer.as_bytes()).await;
    is_redirect.then_some(url)
}

impl fmt::Debug for LoopbackRedirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let redirect_uri = &self.redirect_uri;
        f.debug_struct("LoopbackRedirect")
            .field("redirect_uri", redirect_uri)
            .finish_non_exhaustive()
    }
}
