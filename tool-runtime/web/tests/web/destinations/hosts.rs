//! Requests that are limited to some hosts with ports.

use serde_json::json;
use tool_runtime::ToolErrorKind;
use tool_runtime::http::{HttpMethod, HttpRequest};
use tool_runtime::web::{AddressParseError, Web};

use crate::fixture::{Fixture, PUBLIC, SECRET};
use crate::server::Reply;

/// A limit, and URLs that it allows or refuses.
const CASES: [(&str, &[&str], &[&str]); 8] = [
    (
        "docs.example",
        &[
            "http://docs.example/",
            "https://docs.example/a?b",
            "http://docs.example:80/",
            "https://docs.example:443/",
            "https://DOCS.example./",
            "https://docs%2Eexample/",
            "http:\\\\docs.example\\a",
        ],
        &[
            "http://docs.example:443/",
            "https://docs.example:80/",
            "https://docs.example:8443/",
            "https://www.docs.example/",
            "https://example/",
            "https://xdocs.example/",
            "https://docs.example.evil.test/",
            "https://evil.test/docs.example",
            "https://evil.test/?docs.example",
            "https://evil.test#docs.example",
            "https://evil.test\\@docs.example/",
            "https://93.184.215.14/",
        ],
    ),
    (
        "docs.example:8443",
        &["https://docs.example:8443/", "http://docs.example:8443/"],
        &["https://docs.example/", "http://docs.example/", "https://docs.example:84430/"],
    ),
    ("docs.example:443", &["https://docs.example/"], &["http://docs.example/"]),
    ("docs.example:80", &["http://docs.example/"], &["https://docs.example/"]),
    ("Bücher.example", &["https://xn--bcher-kva.example/"], &["https://bucher.example/"]),
    ("93.184.215.14", &["https://93.184.215.14/", "https://1572394766/"], &["https://8.8.8.8/"]),
    ("[2606:4700::1]:81", &["http://[2606:4700:0::1]:81/"], &["http://[2606:4700::1]/"]),
    ("xn--bcher-kva.example", &["https://b%C3%BCcher.example/"], &["https://bcher.example/"]),
];

#[test]
fn limit_allows_its_host_with_its_port_in_each_spelling() {
    for (host, allowed, refused) in CASES {
        let web = Web::new().only_hosts([host]).unwrap();
        let preview = |url: &&str| {
            web.preview_of("http_fetch", &json!({ "url": url })).expect("a preview of the call")
        };
        for url in allowed {
            assert!(preview(url).starts_with("GET "), "{host}: {url}: {}", preview(url));
        }
        for url in refused {
            let text = preview(url);
            // Some URLs are refused before.
            let is_refused = text.contains("which may not be contacted; allowed: `")
                || text.contains("is not a valid URL")
                || text.contains("user name");
            assert!(is_refused, "{host}: {url}: {text}");
        }
    }
}

#[test]
fn private_address_is_contacted_if_the_program_names_it_with_its_port() {
    let web = Web::new().only_hosts(["127.0.0.1:8080", "[::1]:8080", "localhost:8080"]).unwrap();
    for (url, is_allowed) in [
        ("http://127.0.0.1:8080/a", true),
        ("http://0x7f.1:8080/", true),
        ("http://[::1]:8080/", true),
        ("http://127.0.0.1/", false),
        ("http://127.0.0.1:8081/", false),
        ("http://127.0.0.2:8080/", false),
        ("http://[::ffff:127.0.0.1]:8080/", false),
    ] {
        let preview = web.preview_of("http_fetch", &json!({ "url": url })).unwrap();
        assert_eq!(preview.starts_with("GET "), is_allowed, "{url}: {preview}");
    }
    let twice = web.only_hosts(["docs.example"]).unwrap();
    let url = json!({ "url": "http://127.0.0.1:8080/" });
    assert!(!twice.preview_of("http_fetch", &url).unwrap().starts_with("GET "));
}

#[tokio::test]
async fn name_does_not_lead_to_a_private_address_of_the_list() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", SECRET)).await;
    let port = fixture.public.port();
    let loopback = PUBLIC;
    let web = Web::new()
        .resolver(fixture.names.clone().with("other.test", [vec![loopback]]))
        .only_hosts([format!("{loopback}:{port}"), format!("other.test:{port}")])
        .unwrap();
    let by_name = web.send(HttpRequest::get(format!("http://other.test:{port}/"))).await;
    assert_eq!(by_name.unwrap_err().kind(), ToolErrorKind::Denied);
    assert_eq!(fixture.public.connection_count(), 0);
    let by_address = web.send(HttpRequest::get(format!("http://{loopback}:{port}/"))).await;
    assert_eq!(by_address.unwrap().body, SECRET.as_bytes());
}

#[test]
fn text_that_is_not_a_host_is_an_error() {
    for text in [
        "",
        ":80",
        "docs.example:",
        "docs.example:x",
        "docs.example:65536",
        "docs.example/",
        "docs.example/a",
        "https://docs.example",
        "user@docs.example",
        "docs.example?a",
        "docs.example#a",
        "*.docs.example",
        "docs.example evil.test",
        "docs.example\n",
        "[::1",
        "\\docs.example",
    ] {
        let error = Web::new().only_hosts([text]).unwrap_err();
        assert_eq!(error, AddressParseError::Host(text.to_owned()));
    }
}

#[test]
fn further_list_limits_the_hosts_further() {
    let web = Web::new().only_hosts(["a.test", "b.test"]).unwrap().only_hosts(["b.test"]).unwrap();
    let preview =
        |url: &str| web.preview_of("http_fetch", &json!({ "url": url })).unwrap_or_default();
    assert_eq!(preview("https://b.test/"), "GET https://b.test/");
    let refused = "`url` leads to `a.test`, which may not be contacted; allowed: `b.test`.";
    assert_eq!(preview("https://a.test/"), refused);
    let none = web.clone().only_hosts([""; 0]).unwrap();
    let text = none.preview_of("http_fetch", &json!({ "url": "https://b.test/" })).unwrap();
    assert_eq!(text, "`url` leads to `b.test`, which may not be contacted; allowed: no host.");
}

/// The first path redirects to the location, through up to nine further redirects.
async fn limited(location: &'static str) -> Fixture {
    let reply = move |path: &str| {
        let (count, port) = path.trim_start_matches('/').split_once('/').unwrap_or(("0", "0"));
        let count: u32 = count.parse().unwrap_or_default();
        match count {
            0 => Reply::redirect(302, &location.replace("{port}", port)),
            count => Reply::redirect(307, &format!("/{}/{port}", count - 1)),
        }
    };
    Fixture::with_web(reply, |web| web).await
}

#[tokio::test]
async fn each_redirect_has_to_lead_to_an_allowed_host_and_port() {
    for location in [
        "http://other.test:{port}/",
        "//other.test:{port}/",
        "\\\\other.test:{port}\\",
        "http://public.test/",
        "http://public.test:1/",
        "https://public.test/",
        "http://127.0.0.2:{port}/",
        "http://127.1:{port}/",
        "http://public.test.evil.test:{port}/",
    ] {
        let fixture = limited(location).await;
        let names = fixture.names.clone().with("other.test", [vec![PUBLIC]]);
        let port = fixture.public.port();
        let web = Web::new().resolver(names.clone()).allow_net("127.0.0.0/8").unwrap();
        let web = web.only_hosts([format!("public.test:{port}")]).unwrap();
        for count in [0, 1, 9] {
            let url = format!("http://public.test:{port}/{count}/{port}");
            let error = web.send(HttpRequest::get(url)).await.unwrap_err();
            assert_eq!(error.kind(), ToolErrorKind::Denied, "{location}: {error}");
            assert!(error.text().starts_with("The redirect leads to `"), "{location}: {error}");
        }
        assert_eq!(names.question_count("other.test"), 0, "{location}");
        fixture.assert_nothing_inside();
    }
}

#[tokio::test]
async fn redirect_between_allowed_hosts_is_followed() {
    let fixture = Fixture::new(|path| match path {
        "/a" => Reply::redirect(302, "/b"),
        _ => Reply::ok("text/plain", SECRET),
    })
    .await;
    let port = fixture.public.port();
    let web = Web::new().resolver(fixture.names.clone()).allow_net(PUBLIC.to_string()).unwrap();
    let web = web.only_hosts(["docs.example".to_owned(), format!("public.test:{port}")]).unwrap();
    let response = web.send(HttpRequest::get(format!("http://public.test:{port}/a"))).await;
    assert_eq!(response.unwrap().body, SECRET.as_bytes());
}

#[tokio::test]
async fn request_that_changes_something_is_limited_too() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "done")).await;
    let web = Web::new().resolver(fixture.names.clone()).allow_net(PUBLIC.to_string()).unwrap();
    let web = web.only_hosts(["public.test"]).unwrap();
    let request = HttpRequest::new(HttpMethod::Post, fixture.url("http://public.test:{port}/"));
    let error = web.send(request).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Denied, "{error}");
    assert_eq!(fixture.public.connection_count(), 0);
}
