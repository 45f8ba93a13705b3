//! URLs that must reach nothing: spellings of addresses, ranges, names and schemes.

use std::net::IpAddr;

use serde_json::json;
use tool_runtime::web::Web;

use crate::fixture::{Fixture, INSIDE, PUBLIC, SECRET, call, dispatcher, run_in_child};
use crate::server::Reply;

/// Spellings of the address of the server inside.
const SPELLINGS: [&str; 26] = [
    "http://127.0.0.1:{port}/",
    "http://127.1:{port}/",
    "http://127.0.1:{port}/",
    "http://127.0.0.1.:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f000001:{port}/",
    "http://0X7F.0.0.1:{port}/",
    "http://0x7f.1:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://0177.1:{port}/",
    "http://017700000001:{port}/",
    "http://127.000.000.001:{port}/",
    "http://%31%32%37.0.0.1:{port}/",
    "http://127%2e0%2e0%2e1:{port}/",
    "http://１２７.0.0.1:{port}/",
    "http://①②⑦.⓪.⓪.①:{port}/",
    "http://127。0。0。1:{port}/",
    "http://127．0．0．1:{port}/",
    "http://1\t27.0.0.1:{port}/",
    "http://127.0.0.1\n:{port}/",
    "  HTTP://127.0.0.1:{port}/",
    "http:127.0.0.1:{port}/",
    "http:/127.0.0.1:{port}/",
    "http:\\\\127.0.0.1:{port}\\",
    "http:////127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@public.test/",
];

/// Addresses that no public host has, or that lead to one of them.
const ADDRESSES: [&str; 66] = [
    "http://0.0.0.0:{port}/",
    "http://0:{port}/",
    "http://0x0:{port}/",
    "http://0.1.2.3/",
    "http://127.0.0.3:{port}/",
    "http://127.255.255.254/",
    "http://[::1]:{port}/",
    "http://[0:0:0:0:0:0:0:1]:{port}/",
    "http://[0000:0000::0001]:{port}/",
    "http://[::]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[::FFFF:127.0.0.1]:{port}/",
    "http://[0:0:0:0:0:ffff:7f00:1]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[::7f00:1]:{port}/",
    "http://[::ffff:0:127.0.0.1]:{port}/",
    "http://[::ffff:8.8.8.8]/",
    "http://[64:ff9b::127.0.0.1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://[64:ff9b::8.8.8.8]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:7f00:1::]/",
    "http://[2001::1]/",
    "http://[2001:2::1]/",
    "http://[2001:10::1]/",
    "http://[2001:20::1]/",
    "http://[2001:db8::1]/",
    "http://[2a00:1450:4001:800:0:5efe:7f00:1]/",
    "http://[2a00:1450:4001:800:200:5efe:a00:1]/",
    "http://[3fff::1]/",
    "http://[5f00::1]/",
    "http://[100::1]/",
    "http://[4000::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[ff0e::1]/",
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://3232235521/",
    "http://169.254.169.254/latest/meta-data/",
    "http://0251.0376.0251.0376/",
    "http://2852039166/",
    "http://0xA9FEA9FE/",
    "http://169.254.170.2/",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://192.0.0.192/",
    "http://168.63.129.16/",
    "http://192.0.2.1/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://239.255.255.250/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
];

/// Texts that are not URLs of the web, or that carry credentials.
const INVALID: [&str; 29] = [
    "",
    "/etc/passwd",
    "//127.0.0.1:{port}/",
    "127.0.0.1:{port}",
    "localhost:{port}/",
    "file:///etc/passwd",
    "file://127.0.0.1/etc/passwd",
    "FILE:/etc/passwd",
    "ftp://127.0.0.1:{port}/",
    "gopher://127.0.0.1:{port}/_GET%20/",
    "dict://127.0.0.1:{port}/info",
    "ldap://127.0.0.1:{port}/",
    "tftp://127.0.0.1:{port}/a",
    "ws://127.0.0.1:{port}/",
    "jar:http://127.0.0.1:{port}/!/",
    "view-source:http://127.0.0.1:{port}/",
    "data:text/html,hello",
    "javascript:fetch('http://127.0.0.1:{port}/')",
    "about:blank",
    "http://",
    "http://.:{port}/",
    "http://[::1",
    "http://[fe80::1%25lo]:{port}/",
    "http://127.0.0.1:{port}:80/",
    "http://127.0.0.256:{port}/",
    "http://0x7f.0.0.0.1:{port}/",
    "http://user@127.0.0.1:{port}/",
    "http://public.test@127.0.0.1:{port}/",
    "http://user:password@public.test:{port}/",
];

/// Texts that a parser may take for the server inside, or for no URL at all.
const DOUBTFUL: [&str; 26] = [
    "http://127.0.0.1:{port}#@public.test/",
    "http://127.0.0.1:{port}?@public.test/",
    "http://127.0.0.1:{port}/..//@public.test",
    "http://0x7F.0x0.0x0.0x1:{port}/",
    "http://00000177.0.0.01:{port}/",
    "http://0x7f000001.:{port}/",
    "http://127.0.1.:{port}/",
    "http://4294967297:{port}/",
    "http://127.0.0.1\u{2024}:{port}/",
    "http://127\u{2024}0\u{2024}0\u{2024}1:{port}/",
    "http://\u{ad}127.0.0.1:{port}/",
    "http://127.0.0.1\u{200b}:{port}/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:{port}/",
    "http://localhost%2e:{port}/",
    "http://localhost%00.public.test:{port}/",
    "http://127.0.0.1%00.public.test:{port}/",
    "http://public.test%40127.0.0.1:{port}/",
    "http://public.test%2f@127.0.0.1:{port}/",
    "http://[::ffff:127.0.0.1%25lo]:{port}/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]:{port}/",
    "http://[::127.0.0.1.]:{port}/",
    "http://[127.0.0.1]:{port}/",
    "http://inside.test.:{port}/",
    "http://INSIDE.TEST:{port}/",
    "https://inside.test:{port}/",
    "http://inside。test:{port}/",
];

#[tokio::test]
async fn doubtful_spellings_reach_nothing() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "public")).await;
    for url in DOUBTFUL {
        let execution = fixture.fetch(url).await;
        assert!(execution.is_failure(), "{url}: {}", execution.result.text);
    }
    fixture.assert_nothing_inside();
    assert_eq!(fixture.public.connection_count(), 0);
}

#[tokio::test]
async fn spellings_of_an_inside_address_reach_nothing() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "public")).await;
    for url in SPELLINGS.iter().chain(&ADDRESSES) {
        let execution = fixture.fetch(url).await;
        let text = &execution.result.text;
        assert!(execution.failed_with("TOOL_DENIED"), "{url}: {text}");
        assert!(text.ends_with("which may not be contacted."), "{url}: {text}");
    }
    fixture.assert_nothing_inside();
    assert_eq!(fixture.public.connection_count(), 0);
}

#[tokio::test]
async fn spellings_reach_the_server_where_its_network_is_allowed() {
    let change = |web: Web| web.allow_net("127.0.0.1").unwrap();
    let fixture = Fixture::with_web(|_| Reply::ok("text/plain", "public"), change).await;
    for url in SPELLINGS {
        let execution = fixture.fetch(url).await;
        assert!(execution.result.text.contains(SECRET), "{url}: {}", execution.result.text);
    }
    assert_eq!(fixture.inside.connection_count(), SPELLINGS.len());
}

#[tokio::test]
async fn texts_that_are_no_urls_of_the_web_are_refused() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "public")).await;
    for url in INVALID {
        let execution = fixture.fetch(url).await;
        let text = &execution.result.text;
        assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"), "{url}: {text}");
        assert!(text.starts_with("`url`"), "{url}: {text}");
    }
    let long = format!("http://public.test/{}", "a".repeat(9000));
    assert!(fixture.fetch(&long).await.failed_with("TOOL_INVALID_ARGUMENTS"));
    fixture.assert_nothing_inside();
    assert_eq!(fixture.public.connection_count(), 0);
}

#[tokio::test]
async fn names_that_lead_inside_reach_nothing() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "public")).await;
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    let mut names = fixture.names.clone();
    let cases: [(&str, Vec<IpAddr>); 19] = [
        ("loopback", vec![INSIDE]),
        ("both", vec![PUBLIC, INSIDE]),
        ("both-reversed", vec![INSIDE, PUBLIC]),
        ("this-host", vec![address("0.0.0.0")]),
        ("v6-loopback", vec![address("::1")]),
        ("v6-this-host", vec![address("::")]),
        ("mapped", vec![address("::ffff:127.0.0.1")]),
        ("compatible", vec![address("::127.0.0.1")]),
        ("nat64", vec![address("64:ff9b::7f00:1")]),
        ("six-to-four", vec![address("2002:7f00:1::")]),
        ("teredo", vec![address("2001:0:7f00:1::")]),
        ("isatap", vec![address("2a00::5efe:7f00:1")]),
        ("private", vec![address("10.1.2.3")]),
        ("v6-private", vec![address("fd12::1")]),
        ("link-local", vec![address("fe80::1")]),
        ("metadata", vec![address("169.254.169.254")]),
        ("carrier-grade", vec![address("100.64.1.1")]),
        ("multicast", vec![address("224.0.0.251")]),
        ("one-of-many", vec![PUBLIC, PUBLIC, address("192.168.1.1"), PUBLIC]),
    ];
    for (name, addresses) in &cases {
        names = names.with(&format!("{name}.test"), [addresses.clone()]);
    }
    for (name, _) in cases {
        for url in [
            format!("http://{name}.test:{{port}}/"),
            format!("https://{name}.test:{{port}}/"),
            format!("http://{}.TEST:{{port}}/", name.to_uppercase()),
        ] {
            let execution = fixture.fetch(&url).await;
            let text = &execution.result.text;
            assert!(execution.failed_with("TOOL_DENIED"), "{url}: {text}");
            // The model does not learn the address of a name inside.
            assert!(!text.contains("127.0.0") && !text.contains("10.1"), "{url}: {text}");
        }
    }
    assert!(fixture.fetch("http://localhost:{port}/").await.failed_with("TOOL_DENIED"));
    fixture.assert_nothing_inside();
    assert_eq!(fixture.public.connection_count(), 0);
}

#[tokio::test]
async fn name_without_addresses_is_an_error() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "public")).await;
    let _names = fixture.names.clone().with("empty.test", [vec![]]);
    for name in ["empty.test", "unknown.test"] {
        let execution = fixture.fetch(&format!("http://{name}:{{port}}/")).await;
        let text = &execution.result.text;
        assert!(execution.failed_with("TOOL_TRANSIENT_FAILURE"), "{text}");
        assert_eq!(text, "The host can't be reached.");
    }
}

#[tokio::test]
async fn resolver_of_the_system_is_checked_as_well() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "public")).await;
    let dispatcher = dispatcher(Web::new());
    for url in ["http://localhost:{port}/", "http://LOCALHOST.:{port}/"] {
        let execution = call(&dispatcher, "http_fetch", json!({ "url": fixture.url(url) })).await;
        // Not every system knows the name with a dot.
        assert!(!execution.is_success(), "{url}");
    }
    fixture.assert_nothing_inside();
}

/// Run by the next test in a process whose environment names a proxy.
#[tokio::test]
#[ignore = "run by another test"]
async fn fetch_beside_a_proxy() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "not by a proxy")).await;
    assert!(fixture.text("/").await.contains("not by a proxy"));
}

#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    let fixture = Fixture::new(|_| Reply::ok("text/plain", "public")).await;
    let proxy = fixture.url("http://127.0.0.1:{port}");
    let names = ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"];
    let proxies = names.map(|name| (name, proxy.clone().into())).to_vec();
    run_in_child("destinations::refusals::fetch_beside_a_proxy", proxies).await;
    fixture.assert_nothing_inside();
}
