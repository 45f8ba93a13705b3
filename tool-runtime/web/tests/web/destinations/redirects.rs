//! Redirects, each of which is checked as the first URL is.

use crate::fixture::{Fixture, SECRET};
use crate::server::Reply;

/// Locations that must reach nothing.
const LOCATIONS: [&str; 24] = [
    "http://127.0.0.1:{port}/",
    "//127.0.0.1:{port}/",
    "\\\\127.0.0.1:{port}\\",
    "http:\\\\127.0.0.1:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f.1:{port}/",
    "http://127。0。0。1:{port}/",
    "http://[::1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://0.0.0.0:{port}/",
    "http://inside.test:{port}/",
    "http://INSIDE.test:{port}/",
    "//inside.test:{port}/",
    "https://127.0.0.1:{port}/",
    "http://169.254.169.254/latest/meta-data/",
    "http://public.test@127.0.0.1:{port}/",
    "http://user:password@public.test:{port}/ok",
    "file:///etc/passwd",
    "ftp://127.0.0.1:{port}/",
    "gopher://127.0.0.1:{port}/",
    "data:text/plain,hello",
    "javascript:alert(1)",
    "http://[",
];

#[tokio::test]
async fn redirects_that_lead_inside_reach_nothing() {
    let fixture = Fixture::new(|path| {
        let query = path.split_once('?').map_or("", |(_, query)| query);
        let (status, number) = query.split_once('.').unwrap();
        let (count, number) = number.split_once('.').unwrap();
        let location = LOCATIONS[number.parse::<usize>().unwrap()];
        let count: u32 = count.parse().unwrap();
        let status: u16 = status.parse().unwrap();
        let (_, port) = path.split_once("/port").unwrap();
        let port = port.split('?').next().unwrap();
        let next = format!("/port{port}?{status}.{}.{number}", count.saturating_sub(1));
        let last = location.replace("{port}", port);
        Reply::redirect(status, if count == 0 { &last } else { &next })
    })
    .await;
    let mut cases = 0;
    for (number, location) in LOCATIONS.iter().enumerate() {
        for (status, count) in [(301, 0), (302, 3), (303, 0), (307, 1), (308, 9)] {
            let path = format!("/port{}?{status}.{count}.{number}", fixture.public.port());
            let text = fixture.error(&path).await;
            assert!(text.starts_with("The "), "{location}: {text}");
            assert!(!text.contains("times"), "{location} was not reached: {text}");
            cases += 1;
        }
    }
    assert_eq!(cases, 120);
    fixture.assert_nothing_inside();
}

#[tokio::test]
async fn redirects_between_public_urls_are_followed() {
    let fixture = Fixture::new(|path| match path {
        "/a/b" => Reply::redirect(301, "../c?d=1#e"),
        "/c?d=1" => Reply::ok("text/plain", "arrived"),
        "/other" => Reply::redirect(302, "//public.test:1/"),
        _ => Reply::redirect(302, path),
    })
    .await;
    let text = fixture.text("/a/b").await;
    assert!(text.contains("arrived") && text.contains("/c?d=1"), "{text}");
    assert_eq!(fixture.error("/loop").await, "The server redirects more than 10 times.");
    assert_eq!(fixture.error("/other").await, "The host can't be reached.");
}

#[tokio::test]
async fn status_without_a_location_is_not_a_redirect() {
    let fixture = Fixture::new(|path| match path {
        "/300" => Reply::new("300 Choices", "location: http://127.0.0.1/", "choose"),
        "/304" => Reply::new("304 Not Modified", "location: http://127.0.0.1/", ""),
        _ => Reply::new("302 Found", "content-type: text/plain", "nowhere"),
    })
    .await;
    assert!(fixture.text("/").await.contains("nowhere"));
    assert!(fixture.text("/300").await.contains("choose"));
    assert!(fixture.text("/304").await.contains("Location: http://127.0.0.1/"));
    fixture.assert_nothing_inside();
}

#[tokio::test]
async fn no_cookie_or_credential_follows_a_redirect() {
    let fixture = Fixture::new(|path| match path {
        "/" => Reply::new(
            "302 Found",
            &format!("location: /next\nset-cookie: session={SECRET}\nauthorization: {SECRET}"),
            "",
        ),
        _ => Reply::ok("text/plain", "arrived"),
    })
    .await;
    fixture.text("/?token=in-the-url").await;
    fixture.text("/").await;
    fixture.text("/again").await;
    let requests = fixture.public.requests();
    assert_eq!(requests.len(), 4);
    for request in requests {
        let request = request.to_ascii_lowercase();
        for header in ["cookie:", "referer:", "authorization:", "origin:", "via:", "proxy-"] {
            assert!(!request.contains(&format!("\n{header}")), "{request}");
        }
        assert!(!request.contains(SECRET), "{request}");
    }
}
