//! Bodies that are made to exhaust memory, time or the stack.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use super::fixture::Fixture;
use super::server::Reply;

/// The text of a page that follows what is hostile.
const END: &str = "<p>the end</p>";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn hostile_page(path: &str) -> String {
    match path {
        "/nested-3000" => format!("{}x{}", "<div>".repeat(3_000), END),
        "/nested-100000" => format!("{}x{}", "<div>".repeat(100_000), END),
        "/lists" => format!("{}x{}", "<ul><li>".repeat(50_000), END),
        "/quotes" => {
            format!("{}<pre>{}</pre>{END}", "<blockquote>".repeat(400), "\n".repeat(300_000))
        }
        "/closed" => {
            format!("{}x{}{END}", "<b><i>".repeat(20_000), "</i></b>".repeat(20_000))
        }
        "/formatting" => {
            let open: String = (0..400).map(|number| format!("<b a={number}>")).collect();
            format!("<p>{open}{}{END}", "<p>x</p>".repeat(60_000))
        }
        "/attributes" => {
            let attributes: String = (0..200_000).map(|number| format!(" a{number}")).collect();
            format!("<p{attributes}>x</p>{END}")
        }
        "/templates" => format!("{}x{END}", "<template>".repeat(100_000)),
        "/tables" => format!("{}x{END}", "<table><tr><td>".repeat(10_000)),
        "/foster" => format!("<table>{}</table>{END}", "x<b></b>".repeat(50_000)),
        "/wide-table" => format!(
            "<table><tr>{}</tr>{}</table>{END}",
            "<th>a".repeat(30_000),
            "<tr><td>b".repeat(30_000)
        ),
        "/long-cell" => format!(
            "<table><tr><th>{}</th></tr>{}</table>{END}",
            "a".repeat(500_000),
            "<tr><td>b".repeat(50_000)
        ),
        "/combined" => format!("{}{END}", "<b>x</b>".repeat(60_000)),
        "/options" => {
            format!("<select>{}</select>{END}", "<option selected>x".repeat(50_000))
        }
        "/svg" => format!("<svg>{}</svg>{END}", "<g>".repeat(50_000)),
        "/open-tags" => format!("{END}{}", "<a".repeat(1_000_000)),
        "/comments" => format!("{}{END}", "<!-->".repeat(300_000)),
        "/entities" => format!("{}{END}", "&amp;".repeat(100_000)),
        // Each link repeats the path of the page.
        "/base" => format!(
            "<base href=\"/{}/\">{}{END}",
            "a".repeat(100_000),
            "<a href=b>x</a>".repeat(20_000)
        ),
        // Each paragraph repeats the link that the first one has not closed.
        "/open-link" => format!(
            "<p><a href=\"http://a.test/{}\">x{}{END}",
            "a".repeat(100_000),
            "<p>x".repeat(20_000)
        ),
        "/open-code" => format!(
            "<p><code class=\"language-{}\">x{}{END}",
            "a".repeat(100_000),
            "<pre>x</pre>".repeat(20_000)
        ),
        "/backticks" => {
            let runs: String = (1..1_000).map(|len| "`".repeat(len) + "x").collect();
            format!("<code>{runs}</code>{END}")
        }
        _ => String::new(),
    }
}

/// Several tests, which run at the same time.
macro_rules! hostile_pages_are_converted_in_bounded_time {
    ($($name:ident: $paths:expr)*) => {
        mod hostile_pages_are_converted_in_bounded_time {
            $(#[tokio::test]
            async fn $name() {
                super::assert_bounded_time(&$paths).await;
            })*
        }
    };
}

hostile_pages_are_converted_in_bounded_time! {
    with_deep_elements: [
        "/nested-3000", "/nested-100000", "/lists", "/quotes", "/closed", "/templates", "/tables",
        "/svg",
    ]
    with_open_formatting: ["/formatting", "/combined"]
    // The parser takes quadratic time, and ends at its limit of three seconds.
    with_many_attributes: ["/attributes"]
    with_misplaced_content: ["/foster"]
    with_large_tables: ["/wide-table", "/long-cell"]
    with_many_tags: ["/options", "/open-tags"]
    with_many_comments_and_entities: ["/comments", "/entities"]
    with_repeated_texts: ["/base", "/open-link", "/open-code", "/backticks"]
}

async fn assert_bounded_time(paths: &[&str]) {
    const LIMIT: Duration = Duration::from_secs(12);
    let fixture = Fixture::new(|path| Reply::ok("text/html", hostile_page(path))).await;
    for path in paths {
        let execution = fixture.fetch(&format!("http://public.test:{{port}}{path}")).await;
        assert!(execution.is_success(), "{path}: {}", execution.result.text);
        println!("{path}: {:?}", execution.duration);
        assert!(execution.duration < LIMIT, "{path}: {:?}", execution.duration);
        let page = execution.result.structured.unwrap();
        let total = page["total"].as_u64().unwrap();
        let source = hostile_page(path).len() as u64;
        assert!(total <= 8 * source, "{path} grew from {source} to {total} bytes");
    }
}

#[tokio::test]
async fn indentation_of_hostile_json_is_bounded() {
    let depth = 100;
    let values = "1,".repeat(500_000);
    let json = format!("{}{values}1{}", "[".repeat(depth), "]".repeat(depth));
    let source = json.len() as u64;
    let fixture = Fixture::new(move |_| Reply::ok("application/json", json.clone())).await;
    let execution = fixture.fetch("http://public.test:{port}/").await;
    let page = execution.structured_value().unwrap();
    let total = page["total"].as_u64().unwrap();
    assert!(total <= 8 * source, "it grew from {source} to {total} bytes");
    assert_eq!(page["kind"], "JSON");
}

#[tokio::test]
async fn size_may_be_unlimited() {
    let reply = |_: &str| {
        let headers = "content-type: text/plain\ncontent-encoding: gzip";
        Reply::new("200 OK", headers, gzip(b"all of it"))
    };
    let fixture = Fixture::with_web(reply, |web| web.max_bytes(usize::MAX)).await;
    assert!(fixture.text("/").await.contains("all of it"));
}

#[tokio::test]
async fn nesting_of_browsers_keeps_its_structure() {
    let fixture = Fixture::new(|path| {
        let depth: usize = path[1..].parse().unwrap();
        let page = format!("{}<h2>Deep</h2>{}", "<div>".repeat(depth), "</div>".repeat(depth));
        Reply::ok("text/html", page)
    })
    .await;
    assert!(fixture.text("/480").await.contains("## Deep"));
    let text = fixture.text("/600").await;
    assert!(text.contains("only its text") && text.contains("\nDeep"), "{text}");
}

#[tokio::test]
async fn compressed_bomb_is_cut_at_the_limit() {
    let bomb = gzip(&vec![b'a'; 16 * 1024 * 1024]);
    assert!(bomb.len() < 100_000);
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![b'b'; 16 * 1024 * 1024]).unwrap();
    let deflated = encoder.finish().unwrap();
    let fixture = Fixture::new(move |path| {
        let (encoding, body) = match path {
            "/gzip" => ("gzip", bomb.clone()),
            "/deflate" => ("deflate", deflated.clone()),
            "/twice" => ("gzip, gzip", gzip(&bomb)),
            _ => ("br", b"unknown".to_vec()),
        };
        let headers = format!("content-type: text/plain\ncontent-encoding: {encoding}");
        Reply::new("200 OK", &headers, body)
    })
    .await;
    for path in ["/gzip", "/deflate"] {
        let execution = fixture.fetch(&format!("http://public.test:{{port}}{path}")).await;
        let page = execution.result.structured.unwrap();
        assert_eq!(page["total"], 8 * 1024 * 1024, "{path}");
        assert!(execution.result.text.contains("its rest was not read"), "{path}");
    }
    for path in ["/twice", "/br"] {
        let text = fixture.error(path).await;
        assert_eq!(text, "The server sent a compression that was not asked for.");
    }
}

/// Each member takes 20 bytes, and about as much time as 10 kB of content.
#[tokio::test]
async fn compressed_body_of_many_members_is_cut() {
    let fixture = Fixture::new(|path| {
        let members: usize = path[1..].parse().unwrap();
        let body = [gzip(b"a").repeat(members), gzip(b"the end")].concat();
        Reply::new("200 OK", "content-type: text/plain\ncontent-encoding: gzip", body)
    })
    .await;
    let text = fixture.text("/999").await;
    assert!(text.contains("athe end") && !text.contains("was not read"), "{text}");
    let execution = fixture.fetch("http://public.test:{port}/300000").await;
    assert!(execution.result.text.contains("its rest was not read"), "{}", execution.result.text);
    assert_eq!(execution.result.structured.unwrap()["total"], 1_000);
    assert!(execution.duration < Duration::from_secs(5), "{:?}", execution.duration);
}

#[tokio::test]
async fn compressed_body_is_decoded() {
    let fixture = Fixture::new(|path| {
        let whole = gzip("Tromsø, ".repeat(1000).as_bytes());
        let (encoding, body) = match path {
            "/gzip" => ("gzip", whole),
            "/cut" => ("gzip", whole[..whole.len() - 10].to_vec()),
            _ => ("gzip", b"not compressed".to_vec()),
        };
        let headers = format!("content-type: text/plain\ncontent-encoding: {encoding}");
        Reply::new("200 OK", &headers, body)
    })
    .await;
    assert!(fixture.text("/gzip").await.contains("Tromsø, Tromsø"));
    let text = fixture.text("/cut").await;
    assert!(text.contains("Tromsø") && text.contains("its rest was not read"), "{text}");
    assert!(fixture.error("/damaged").await.contains("can't be decompressed"));
}

#[tokio::test]
async fn endless_body_is_cut_at_the_limit() {
    let fixture = Fixture::with_web(
        |_| {
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n".to_vec();
            Reply::Endless(head, vec![b'x'; 64 * 1024])
        },
        |web| web.max_bytes(100_000),
    )
    .await;
    let execution = fixture.fetch("http://public.test:{port}/").await;
    assert!(execution.result.text.contains("its rest was not read"), "{}", execution.result.text);
    assert_eq!(execution.result.structured.unwrap()["total"], 100_000);
}

#[tokio::test]
async fn endless_headers_are_an_error() {
    let fixture = Fixture::new(|_| {
        Reply::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"x-header: value\r\n".repeat(1000))
    })
    .await;
    assert_eq!(fixture.error("/").await, "The host can't be reached.");
}

#[tokio::test]
async fn stalled_server_times_out() {
    let fixture = Fixture::with_web(
        |path| {
            Reply::Stalled(match path {
                "/silent" => Vec::new(),
                "/headers" => b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n".to_vec(),
                _ => b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfive".to_vec(),
            })
        },
        |web| web.timeout(Duration::from_millis(300)),
    )
    .await;
    for path in ["/silent", "/headers", "/body"] {
        let execution = fixture.fetch(&format!("http://public.test:{{port}}{path}")).await;
        let text = &execution.result.text;
        assert!(execution.failed_with("TOOL_TIMEOUT"), "{path}: {text}");
        assert_eq!(text, "The server took more than 300ms.", "{path}");
    }
}

#[tokio::test]
async fn broken_responses_are_errors() {
    let fixture = Fixture::new(|path| {
        Reply::Bytes(match path {
            "/empty" => Vec::new(),
            "/other-protocol" => b"220 mail.example ESMTP\r\n".to_vec(),
            "/short" => b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort".to_vec(),
            _ => b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n".to_vec(),
        })
    })
    .await;
    for path in ["/empty", "/other-protocol", "/short", "/chunk"] {
        assert_eq!(fixture.error(path).await, "The host can't be reached.", "{path}");
    }
}
