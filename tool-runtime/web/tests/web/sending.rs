//! Requests that a program sends by itself.

use tool_runtime::ToolErrorKind;
use tool_runtime::http::{HttpMethod, HttpRequest};
use tool_runtime::web::Web;

use super::fixture::{Fixture, PUBLIC};
use super::server::Reply;

/// Returns a client that reaches the public server, also under its second name.
fn web(fixture: &Fixture) -> Web {
    let names = fixture.names.clone().with("other.test", [vec![PUBLIC]]);
    Web::new().resolver(names).allow_net(PUBLIC.to_string()).unwrap()
}

fn get(fixture: &Fixture, path: &str) -> HttpRequest {
    HttpRequest::get(fixture.url(&format!("http://public.test:{{port}}{path}")))
}

#[tokio::test]
async fn response_is_returned_as_it_is() {
    let fixture = Fixture::new(|path| match path {
        "/missing" => Reply::new("404 Not Found", "x-reason: gone", "<p>no</p>"),
        _ => Reply::ok("text/html", "x".repeat(100)),
    })
    .await;
    let response = web(&fixture).send(get(&fixture, "/missing")).await.unwrap();
    assert_eq!((response.status, &response.body[..]), (404, &b"<p>no</p>"[..]));
    assert_eq!(response.headers.get("x-reason"), Some("gone"));
    assert!(response.url.ends_with("/missing") && !response.is_truncated);
    let response = web(&fixture).max_bytes(10).send(get(&fixture, "/")).await.unwrap();
    assert_eq!((response.body.len(), response.is_truncated), (10, true));
}

#[tokio::test]
async fn redirect_to_another_origin_has_no_headers_of_the_request() {
    let fixture = Fixture::new(|path| match path.split_once('?') {
        Some(("/other", port)) => Reply::redirect(302, &format!("http://other.test:{port}/end")),
        Some(("/same", _)) => Reply::redirect(302, "/end"),
        _ => Reply::ok("text/plain", "here"),
    })
    .await;
    for (path, keeps_headers) in [("/same", true), ("/other", false)] {
        let request = get(&fixture, &format!("{path}?{{port}}"));
        let request = request.header("authorization", "Bearer k3y");
        let response = web(&fixture).send(request).await.unwrap();
        assert!(response.url.ends_with("/end"), "{}", response.url);
        let requests = fixture.public.requests();
        let [.., first, last] = requests.as_slice() else { panic!("{requests:?}") };
        assert!(first.contains("Bearer k3y"), "{first}");
        assert_eq!(last.contains("Bearer k3y"), keeps_headers, "{last}");
    }
}

#[tokio::test]
async fn refused_headers_and_addresses_reach_nothing() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "here")).await;
    for name in ["Cookie", "host", "Proxy-Authorization", "Accept-Encoding", "Content-Length"] {
        let error = web(&fixture).send(get(&fixture, "/").header(name, "1")).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::Denied, "{name}");
        assert_eq!(error.text(), format!("The header `{name}` can't be set."));
    }
    let url = fixture.url("http://inside.test:{port}/");
    let post = HttpRequest::new(HttpMethod::Post, url.as_str());
    for request in [HttpRequest::get(url.as_str()), post] {
        let error = web(&fixture).send(request).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::Denied);
    }
    fixture.assert_nothing_inside();
    assert_eq!(fixture.public.requests(), [""; 0]);
}

#[tokio::test]
async fn redirect_of_a_request_that_changes_something_is_returned() {
    let fixture = Fixture::new(|_| Reply::redirect(307, "/second")).await;
    let mut request = get(&fixture, "/").body("data");
    request.method = HttpMethod::Post;
    let response = web(&fixture).send(request).await.unwrap();
    assert_eq!((response.status, response.headers.get("location")), (307, Some("/second")));
    assert_eq!(fixture.public.requests().len(), 1);
}
