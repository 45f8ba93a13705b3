//! Names whose addresses change between questions.

use std::net::IpAddr;

use crate::fixture::{Fixture, INSIDE, PUBLIC, SECRET};
use crate::server::Reply;

/// Fetches a name many times; returns the number of pages and of refusals.
async fn fetch_often(fixture: &Fixture, name: &str, times: usize) -> (usize, usize) {
    let (mut pages, mut refusals) = (0, 0);
    for _ in 0..times {
        let execution = fixture.fetch(&format!("http://{name}:{{port}}/")).await;
        let text = &execution.result.text;
        assert!(!text.contains(SECRET), "{text}");
        pages += usize::from(execution.is_success());
        refusals += usize::from(execution.failed_with("TOOL_DENIED"));
    }
    (pages, refusals)
}

#[tokio::test]
async fn address_that_was_checked_is_the_one_that_is_dialled() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "public")).await;
    let v6: IpAddr = "::ffff:127.0.0.1".parse().unwrap();
    for (name, answers, expected) in [
        ("flips.test", vec![vec![PUBLIC], vec![INSIDE]], (100, 100)),
        ("flips-back.test", vec![vec![INSIDE], vec![PUBLIC]], (100, 100)),
        ("flips-late.test", vec![vec![PUBLIC], vec![PUBLIC], vec![PUBLIC], vec![v6]], (150, 50)),
        ("grows.test", vec![vec![PUBLIC], vec![PUBLIC, INSIDE]], (100, 100)),
    ] {
        let names = fixture.names.clone().with(name, answers);
        assert_eq!(fetch_often(&fixture, name, 200).await, expected, "{name}");
        // Each request asked once: a second question could have had another answer.
        assert_eq!(names.question_count(name), 200, "{name}");
    }
    fixture.assert_nothing_inside();
}

#[tokio::test]
async fn redirect_to_the_same_name_is_resolved_and_checked_again() {
    let fixture = Fixture::new(|path| match path {
        "/" => Reply::redirect(302, "/next"),
        _ => Reply::ok("text/plain", "public"),
    })
    .await;
    let _names = fixture.names.clone().with("flips.test", [vec![PUBLIC], vec![INSIDE]]);
    for _ in 0..20 {
        let execution = fixture.fetch("http://flips.test:{port}/").await;
        assert!(execution.failed_with("TOOL_DENIED"), "{}", execution.result.text);
    }
    fixture.assert_nothing_inside();
}
