//! The redirect with which an authorization server answers the browser of the user.

use reqwest::Url;
use rmcp::transport::auth::AuthorizationCallback;

use super::flow_error::FlowError;

/// The parameters of a redirect that the client reads.
const PARAMETERS: [&str; 5] = ["code", "state", "iss", "error", "error_description"];

/// Returns the parameters of a redirect. The SDK compares the state and the issuer.
///
/// # Errors
/// The redirect is not to the URI of the client, has a parameter more than once, so that two
/// readers could see different ones, or reports an error.
pub(super) fn read_redirect(
    redirect: &str,
    redirect_uri: &str,
) -> Result<AuthorizationCallback, FlowError> {
    let parse = |text: &str| {
        Url::parse(text)
            .map_err(|error| FlowError::failed(&format!("invalid redirect URI: {error}")))
    };
    let (redirected, expected) = (parse(redirect)?, parse(redirect_uri)?);
    let pairs: Vec<_> = redirected.query_pairs().into_owned().collect();
    let has_own_query = expected.query_pairs().into_owned().all(|pair| pairs.contains(&pair));
    if address(&redirected) != address(&expected) || !has_own_query {
        // Without the query, which may hold a code.
        let reason = format!(
            "the browser was redirected to `{}`: expected `{redirect_uri}`",
            address(&redirected)
        );
        return Err(FlowError::failed(&reason));
    }
    let values = |name: &'static str| {
        pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value)
    };
    if let Some(name) = PARAMETERS.into_iter().find(|name| values(name).nth(1).is_some()) {
        return Err(FlowError::failed(&format!("the redirect has `{name}` more than once")));
    }
    if let Some(error) = values("error").next() {
        let text = match values("error_description").next() {
            Some(description) => format!("{error}: {description}"),
            None => error.clone(),
        };
        return Err(match error.as_str() {
            "access_denied" => FlowError::denied(&text),
            _ => FlowError::failed(&text),
        });
    }
    Ok(AuthorizationCallback::from_redirect_url(redirect)?)
}

/// Returns a URL without what an authorization server adds.
fn address(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    const URI: &str = "http://127.0.0.1:8123/callback";

    #[test]
    fn redirect_to_the_uri_of_the_client_is_read() {
        for redirect in [
            format!("{URI}?code=a&state=b&iss=https%3A%2F%2Fauth.example"),
            format!(
                "{URI}?state=b&session_state=1&session_state=2&iss=https://auth.example&code=a"
            ),
            format!("{URI}?code=a&state=b&iss=https://auth.example#_=_"),
        ] {
            let callback = read_redirect(&redirect, URI).unwrap();
            assert_eq!((&*callback.code, &*callback.csrf_token), ("a", "b"), "{redirect}");
            assert_eq!(callback.issuer.as_deref(), Some("https://auth.example"), "{redirect}");
        }
        let with_query = "https://app.example/callback?tenant=1";
        let redirect = format!("{with_query}&code=a&state=b");
        assert_eq!(read_redirect(&redirect, with_query).unwrap().code, "a");
        let redirect = "app:/callback?code=a&state=b";
        assert_eq!(read_redirect(redirect, "app:/callback").unwrap().code, "a");
    }

    #[test]
    fn redirect_to_another_uri_is_refused() {
        for redirect in [
            "http://127.0.0.1:8124/callback?code=a&state=b",
            "http://127.0.0.1/callback?code=a&state=b",
            "https://127.0.0.1:8123/callback?code=a&state=b",
            "http://127.0.0.1:8123/callback/?code=a&state=b",
            "http://127.0.0.1:8123/other?code=a&state=b",
            "http://127.0.0.1:8123/callback/../other?code=a&state=b",
            "http://localhost:8123/callback?code=a&state=b",
            "http://127.0.0.1:8123@evil.example/callback?code=a&state=b",
            "http://user@127.0.0.1:8123/callback?code=a&state=b",
            "app:/callback?code=a&state=b",
            "/callback?code=a&state=b",
            "",
        ] {
            let refused = read_redirect(redirect, URI);
            assert!(matches!(refused, Err(FlowError::Failed(_))), "{redirect}: {refused:?}");
        }
        let refused = read_redirect("https://evil.example/?code=hidden&state=b", URI).unwrap_err();
        let FlowError::Failed(reason) = refused else { panic!("{refused:?}") };
        assert_eq!(
            reason,
            format!("the browser was redirected to `https://evil.example/`: expected `{URI}`")
        );
        let with_query = "https://app.example/callback?tenant=1";
        let redirect = "https://app.example/callback?tenant=2&code=a&state=b";
        assert!(read_redirect(redirect, with_query).is_err());
    }

    #[test]
    fn parameter_that_is_repeated_is_refused() {
        for query in [
            "code=a&code=b&state=c",
            "code=a&state=c&code=a",
            "code=a&%63ode=b&state=c",
            "code=a&state=c&state=d",
            "code=a&state=c&iss=x&iss=y",
            "error=x&error=access_denied&state=c",
            "code=a&state=c&code",
        ] {
            let refused = read_redirect(&format!("{URI}?{query}"), URI).unwrap_err();
            let FlowError::Failed(reason) = refused else { panic!("{query}: {refused:?}") };
            assert!(reason.ends_with("more than once"), "{query}: {reason}");
        }
    }

    #[test]
    fn code_beside_an_error_is_not_used() {
        let refused = read_redirect(&format!("{URI}?code=a&state=b&error=access_denied"), URI);
        assert!(matches!(refused, Err(FlowError::Denied(_))), "{refused:?}");
    }
}
