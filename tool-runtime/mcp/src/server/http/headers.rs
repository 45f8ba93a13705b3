use axum::http::request::Parts;
use axum::http::{StatusCode, header};

pub(super) const SESSION_ID: &str = "mcp-session-id";

/// The headers that decide about a request. If one is repeated, a proxy may read another value than
/// the server.
const SINGLE: [&str; 6] =
    ["host", "origin", "authorization", "content-type", "mcp-protocol-version", SESSION_ID];

/// Refuses a request that names several hosts, or repeats another header that decides.
///
/// # Errors
/// The status and the text of the response that refuses the request.
pub(super) fn check(request: &Parts) -> Result<(), (StatusCode, String)> {
    let refused = |reason: String| Err((StatusCode::BAD_REQUEST, reason));
    for name in SINGLE {
        if request.headers.get_all(name).iter().nth(1).is_some() {
            return refused(format!("the header `{name}` is repeated"));
        }
    }
    let authority = request.uri.authority().map(|authority| authority.as_str().as_bytes());
    let host = request.headers.get(header::HOST).map(|host| host.as_bytes());
    if let (Some(authority), Some(host)) = (authority, host)
        && !authority.eq_ignore_ascii_case(host)
    {
        return refused("the header `host` differs from the host of the URI".to_owned());
    }
    Ok(())
}
