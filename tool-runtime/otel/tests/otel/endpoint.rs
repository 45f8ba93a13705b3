//! An endpoint on this machine that collects what an exporter sends by OTLP over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as OtlpValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Map, Value};

/// The bodies of requests, each with its path.
type Received = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

pub(crate) struct Endpoint {
    address: String,
    received: Received,
}

impl Endpoint {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received = Received::default();
        let requests = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let requests = Arc::clone(&requests);
                thread::spawn(move || serve(&stream.unwrap(), &requests));
            }
        });
        Self { address, received }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    /// Returns the spans that have arrived.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let requests = self.bodies("/v1/traces");
        let decoded = requests.iter().map(|body| ExportTraceServiceRequest::decode(&**body));
        let resources = decoded.flat_map(|request| request.unwrap().resource_spans);
        resources.flat_map(|spans| spans.scope_spans).flat_map(|spans| spans.spans).collect()
    }

    /// Returns the metrics that have arrived.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let requests = self.bodies("/v1/metrics");
        let decoded = requests.iter().map(|body| ExportMetricsServiceRequest::decode(&**body));
        let resources = decoded.flat_map(|request| request.unwrap().resource_metrics);
        resources.flat_map(|metrics| metrics.scope_metrics).flat_map(|it| it.metrics).collect()
    }

    fn bodies(&self, path: &str) -> Vec<Vec<u8>> {
        let received = self.received.lock().unwrap();
        received.iter().filter(|(to, _)| to == path).map(|(_, body)| body.clone()).collect()
    }
}

/// Answers the requests of a connection.
fn serve(stream: &TcpStream, received: &Received) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut path, mut length) = (None, 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            path = path.or_else(|| line.split(' ').nth(1).map(str::to_owned));
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        received.lock().unwrap().push((path.unwrap(), body));
        let reply = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\n\
                     content-length: 0\r\n\r\n";
        (&*stream).write_all(reply.as_bytes()).unwrap();
    }
}

/// Returns attributes as JSON, in which integers, floats and texts differ.
pub(crate) fn json(attributes: &[KeyValue]) -> Map<String, Value> {
    let member = |attribute: &KeyValue| (attribute.key.clone(), value(attribute.value.as_ref()));
    let members: Map<_, _> = attributes.iter().map(member).collect();
    assert_eq!(members.len(), attributes.len(), "an attribute occurs twice: {attributes:?}");
    members
}

fn value(any: Option<&AnyValue>) -> Value {
    match any.and_then(|any| any.value.as_ref()).expect("a value") {
        OtlpValue::StringValue(text) => text.as_str().into(),
        OtlpValue::BoolValue(value) => (*value).into(),
        OtlpValue::IntValue(number) => (*number).into(),
        OtlpValue::DoubleValue(number) => (*number).into(),
        OtlpValue::ArrayValue(list) => list.values.iter().map(|item| value(Some(item))).collect(),
        other => panic!("{other:?}"),
    }
}
