//! Servers by HTTPS, with certificates of an authority that only a child process trusts.

use std::net::IpAddr;
use std::sync::Arc;
use std::{env, fs};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tool_runtime::Dispatcher;
use tool_runtime::web::Web;

use super::fixture::{INSIDE, Names, PUBLIC, call, dispatcher, run_in_child};
use super::server::{Reply, Server};

/// The variable by which the verifier of the platform finds the authorities that it trusts.
const AUTHORITIES: &str = "SSL_CERT_FILE";

/// An authority that signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    /// Returns what serves TLS with a certificate for these names and addresses.
    fn acceptor(&self, names: &[&str], expires: i32) -> TlsAcceptor {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(expires, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

async fn serve(address: IpAddr, acceptor: TlsAcceptor) -> Server {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    Server::start_tls(listener, acceptor, |path| match path {
        "/away" => Reply::redirect(302, "https://other.test/"),
        _ => Reply::ok("text/plain", "by TLS"),
    })
}

/// Fetches a URL of a server: the text, and whether a request reached the server.
async fn fetch(dispatcher: &Dispatcher, server: &Server, url: &str) -> (String, bool) {
    let before = server.requests().len();
    let url = url.replace("{port}", &server.port().to_string());
    let execution = call(dispatcher, "http_fetch", serde_json::json!({ "url": url })).await;
    (execution.result.plain_text().into_owned(), server.requests().len() > before)
}

#[tokio::test]
async fn certificates_are_checked_against_the_name_of_the_host() {
    let file = env::temp_dir().join(format!("tool-web-authority-{}", std::process::id()));
    run_in_child("tls::fetch_with_an_authority", vec![(AUTHORITIES, file.clone().into())]).await;
    fs::remove_file(file).unwrap();
}

/// Run by the test above in a process that trusts the authority of the file.
#[tokio::test]
#[ignore = "run by another test"]
async fn fetch_with_an_authority() {
    let authority = Authority::new();
    fs::write(env::var_os(AUTHORITIES).unwrap(), authority.0.pem()).unwrap();
    let good = serve(PUBLIC, authority.acceptor(&["public.test", "*.wide.test"], 2999)).await;
    let expired = serve(PUBLIC, authority.acceptor(&["public.test"], 2021)).await;
    let unknown = serve(PUBLIC, Authority::new().acceptor(&["public.test"], 2999)).await;
    let of_address = serve(PUBLIC, authority.acceptor(&["127.0.0.2"], 2999)).await;
    let mut names = Names::default().with("flips.wide.test", [vec![PUBLIC], vec![INSIDE]]);
    for name in ["public.test", "other.test", "a.wide.test", "a.b.wide.test", "wide.test"] {
        names = names.with(name, [vec![PUBLIC]]);
    }
    let web = Web::new().resolver(names.clone()).allow_net(PUBLIC.to_string()).unwrap();
    let dispatcher = dispatcher(web);
    for (server, url, is_valid) in [
        (&good, "https://public.test:{port}/", true),
        (&good, "https://PUBLIC.TEST:{port}/", true),
        (&good, "https://a.wide.test:{port}/", true),
        (&of_address, "https://127.0.0.2:{port}/", true),
        (&good, "https://other.test:{port}/", false),
        (&good, "https://a.b.wide.test:{port}/", false),
        (&good, "https://wide.test:{port}/", false),
        (&good, "https://127.0.0.2:{port}/", false),
        (&of_address, "https://public.test:{port}/", false),
        (&expired, "https://public.test:{port}/", false),
        (&unknown, "https://public.test:{port}/", false),
    ] {
        let (text, is_received) = fetch(&dispatcher, server, url).await;
        assert_eq!(is_received, is_valid, "{url}: {text}");
        let expected =
            if is_valid { "by TLS" } else { "The certificate of the host is not valid." };
        assert!(text.contains(expected), "{url}: {text}");
    }

    // A name is resolved and checked once for each connection, by TLS as well.
    let (text, _) = fetch(&dispatcher, &good, "https://flips.wide.test:{port}/").await;
    assert!(text.contains("by TLS"), "{text}");
    let (text, is_received) = fetch(&dispatcher, &good, "https://flips.wide.test:{port}/").await;
    assert!(text.contains("may not be contacted") && !is_received, "{text}");
    assert_eq!(names.question_count("flips.wide.test"), 2);
}

#[tokio::test]
async fn authority_that_the_machine_does_not_know_is_refused() {
    let server = serve(PUBLIC, Authority::new().acceptor(&["public.test"], 2999)).await;
    let names = Names::default().with("public.test", [vec![PUBLIC]]);
    let web = Web::new().resolver(names).allow_net(PUBLIC.to_string()).unwrap();
    let (text, is_received) = fetch(&dispatcher(web), &server, "https://public.test:{port}/").await;
    assert!(text.contains("The certificate of the host is not valid."), "{text}");
    assert!(!is_received);
}

#[tokio::test]
async fn loopback_of_ipv6_is_contacted_where_its_network_is_allowed() {
    let Ok(listener) = TcpListener::bind("[::1]:0").await else {
        println!("skipped: this machine has no IPv6");
        return;
    };
    let server = Server::start(listener, |_| Reply::ok("text/plain", "by IPv6"));
    let names = Names::default()
        .with("six.test", [vec!["::1".parse().unwrap()]])
        .with("both.test", [vec!["::1".parse().unwrap(), INSIDE]]);
    let allowed =
        |network: &str| dispatcher(Web::new().resolver(names.clone()).allow_net(network).unwrap());
    for (network, url, is_contacted) in [
        ("::1/128", "http://[::1]:{port}/", true),
        ("::1/128", "http://[0:0:0:0:0:0:0:1]:{port}/", true),
        ("::1/128", "http://six.test:{port}/", true),
        ("::1/128", "http://both.test:{port}/", false),
        ("::1/128", "http://127.0.0.1:{port}/", false),
        ("::1/128", "http://[::ffff:127.0.0.1]:{port}/", false),
        ("::1/128", "http://[::2]:{port}/", false),
        ("127.0.0.0/8", "http://[::1]:{port}/", false),
        ("127.0.0.0/8", "http://six.test:{port}/", false),
    ] {
        let (text, is_received) = fetch(&allowed(network), &server, url).await;
        let expected = if is_contacted { "by IPv6" } else { "may not be contacted" };
        assert!(text.contains(expected), "{url} with {network}: {text}");
        assert_eq!(is_received, is_contacted, "{url} with {network}");
    }
}
