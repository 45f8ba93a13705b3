//! What a provider says when it refuses → why, and for how long.

use std::time::Duration;

use serde_json::Value;

use super::transport::Headers;
use crate::models::{Refusal, RefusalKind};

/// Headers by which providers tell how they find a request in their logs.
const REQUEST_IDS: [&str; 4] =
    ["x-request-id", "request-id", "x-goog-request-id", "mistral-correlation-id"];

/// What a refusal with this status, these headers and this body says; `shown` is the body as an error
/// repeats it, and `now` the date for replies that name none.
pub(super) fn refusal(
    url: String,
    status: u16,
    headers: &Headers,
    body: &str,
    shown: String,
    now: &str,
) -> Refusal {
    let said: Value = serde_json::from_str(body).unwrap_or_default();
    let mut refusal = Refusal::new(kind(status, &said), url, status, shown);
    refusal.request_id =
        request_id(headers).or_else(|| Some(said.get("request_id")?.as_str()?.to_owned()));
    refusal.retry_after = retry_after(headers, now).or_else(|| retry_delay(&said));
    refusal
}

/// How the provider finds a request that was answered with these headers.
pub(super) fn request_id(headers: &Headers) -> Option<String> {
    REQUEST_IDS.iter().find_map(|name| headers.get(name).map(ToOwned::to_owned))
}

/// The codes are those of OpenAI's, Anthropic's, Google's and Mistral's lists of errors; the texts are those of
/// servers that have no code for it.
pub(super) fn kind(status: u16, said: &Value) -> RefusalKind {
    let codes = codes(said);
    // In the midst of a stream the status stands in the error.
    let told = said.pointer("/error/code").and_then(Value::as_u64).filter(|_| status == 200);
    let status = told.and_then(|code| u16::try_from(code).ok()).unwrap_or(status);
    let is = |known: &[&str]| codes.iter().any(|code| known.contains(&code.as_str()));
    let begins = |starts: &[&str]| {
        codes.iter().any(|code| starts.iter().any(|start| code.starts_with(start)))
    };
    let text = said.to_string().to_lowercase();
    let tells = |known: &[&str]| known.iter().any(|part| text.contains(part));
    if is(&["insufficient_quota", "billing_error", "billing_hard_limit_reached"]) {
        return RefusalKind::OutOfQuota;
    }
    if is(&["context_length_exceeded", "exceed_context_size_error", "request_too_large"]) {
        return RefusalKind::ContextTooLong;
    }
    if is(&[
        "content_filter",
        "content_policy_violation",
        "ResponsibleAIPolicyViolation",
        "invalid_prompt",
        "bio_policy",
        "image_content_policy_violation",
    ]) {
        return RefusalKind::Filtered;
    }
    if is(&["service_tier_capacity_exceeded"]) {
        return RefusalKind::Overloaded;
    }
    match status {
        401 | 403 => RefusalKind::Auth,
        400 if is(&["API_KEY_INVALID", "invalid_api_key"]) => RefusalKind::Auth,
        402 => RefusalKind::OutOfQuota,
        400 if tells(&["credit balance is too low"]) => RefusalKind::OutOfQuota,
        413 if is(&["rate_limit_exceeded"]) => RefusalKind::RateLimited,
        413 => RefusalKind::ContextTooLong,
        400 | 422
            if tells(&[
                "context length",
                "context size",
                "context window",
                "prompt is too long",
                "input token count",
                "too many tokens",
                "exceed context limit",
                "maximum model length",
            ]) =>
        {
            RefusalKind::ContextTooLong
        }
        429 => RefusalKind::RateLimited,
        408 | 500..=599 => RefusalKind::Overloaded,
        _ if is(&[
            "rate_limit_exceeded",
            "rate_limit_error",
            "rate_limited",
            "RESOURCE_EXHAUSTED",
        ]) =>
        {
            RefusalKind::RateLimited
        }
        _ if is(&["overloaded_error", "server_error", "internal_server_error", "api_error"])
            || is(&["UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "vector_store_timeout"]) =>
        {
            RefusalKind::Overloaded
        }
        _ if is(&["authentication_error", "permission_error"])
            || is(&["PERMISSION_DENIED", "UNAUTHENTICATED"]) =>
        {
            RefusalKind::Auth
        }
        400..=499 => RefusalKind::Invalid,
        _ if is(&["INVALID_ARGUMENT"]) || begins(&["invalid_", "image_", "unsupported_"]) => {
            RefusalKind::Invalid
        }
        _ => RefusalKind::Other,
    }
}

/// Whatever stands as a code, type, status or reason in the error.
fn codes(said: &Value) -> Vec<String> {
    let mut waiting = vec![said];
    let mut codes = Vec::new();
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => {
                let named = members.iter().filter(|(name, _)| {
                    ["code", "type", "status", "reason"].contains(&name.as_str())
                });
                codes.extend(named.filter_map(|(_, code)| Some(code.as_str()?.to_owned())));
                let below = ["error", "innererror", "details"];
                waiting.extend(below.iter().filter_map(|&name| members.get(name)));
            }
            _ => {}
        }
    }
    codes
}

/// RFC 9110, section 10.2.3: seconds or a date, which counts from when the reply was made. OpenAI tells
/// milliseconds beside it.
fn retry_after(headers: &Headers, now: &str) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let millis = headers.get("retry-after-ms").and_then(number).map(|millis| millis / 1_000.0);
    let told = headers.get("retry-after");
    let seconds = millis.filter(|told| *told >= 0.0).or_else(|| told.and_then(number));
    if let Some(seconds) = seconds {
        return pause(seconds);
    }
    let date = |text: &str| httpdate::parse_http_date(text.trim()).ok();
    let from = headers.get("date").and_then(date).or_else(|| date(now))?;
    Some(date(told?)?.duration_since(from).unwrap_or_default())
}

/// None for what is no pause; the longest there is for what is longer.
fn pause(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// Google tells it in the body: `{"@type": "….RetryInfo", "retryDelay": "7.5s"}`.
fn retry_delay(said: &Value) -> Option<Duration> {
    let details = said.get("error")?.get("details")?.as_array()?;
    let told = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    pause(told.strip_suffix('s')?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{kind, refusal};
    use crate::models::RefusalKind;
    use crate::providers::transport::Headers;

    const TOO_LONG: RefusalKind = RefusalKind::ContextTooLong;

    #[test]
    fn why_it_refused() {
        let code = |code: &str| json!({ "error": { "code": code, "message": "No." } });
        let typed = |kind: &str| json!({ "type": "error", "error": { "type": kind } });
        let google = |status: &str| json!({ "error": { "code": 400, "status": status } });
        let text = |text: &str| json!({ "error": { "message": text } });
        for (status, said, expected) in [
            (401, Value::Null, RefusalKind::Auth),
            (403, google("PERMISSION_DENIED"), RefusalKind::Auth),
            (
                400,
                json!({ "error": { "code": 400, "status": "INVALID_ARGUMENT",
                    "details": [{ "reason": "API_KEY_INVALID" }] } }),
                RefusalKind::Auth,
            ),
            (429, Value::Null, RefusalKind::RateLimited),
            (429, typed("rate_limit_error"), RefusalKind::RateLimited),
            (429, typed("service_tier_capacity_exceeded"), RefusalKind::Overloaded),
            (429, code("insufficient_quota"), RefusalKind::OutOfQuota),
            (402, Value::Null, RefusalKind::OutOfQuota),
            (400, code("context_length_exceeded"), RefusalKind::ContextTooLong),
            (
                400,
                text("This model's maximum context length is 8192 tokens."),
                RefusalKind::ContextTooLong,
            ),
            (400, text("prompt is too long: 9 tokens > 8 maximum"), RefusalKind::ContextTooLong),
            (413, typed("request_too_large"), RefusalKind::ContextTooLong),
            (400, code("content_filter"), RefusalKind::Filtered),
            (400, typed("invalid_request_error"), RefusalKind::Invalid),
            (404, Value::Null, RefusalKind::Invalid),
            (422, text("extra field"), RefusalKind::Invalid),
            (500, Value::Null, RefusalKind::Overloaded),
            (503, google("UNAVAILABLE"), RefusalKind::Overloaded),
            (529, typed("overloaded_error"), RefusalKind::Overloaded),
            // In the midst of a stream.
            (200, typed("overloaded_error"), RefusalKind::Overloaded),
            (200, code("rate_limit_exceeded"), RefusalKind::RateLimited),
            (200, typed("rate_limited"), RefusalKind::RateLimited),
            (200, google("DEADLINE_EXCEEDED"), RefusalKind::Overloaded),
            (200, google("UNAUTHENTICATED"), RefusalKind::Auth),
            (200, code("invalid_prompt"), RefusalKind::Filtered),
            (200, code("image_too_large"), RefusalKind::Invalid),
            (200, json!({ "error": { "code": 429 } }), RefusalKind::RateLimited),
            (413, code("rate_limit_exceeded"), RefusalKind::RateLimited),
            (400, text("Your credit balance is too low to access it"), RefusalKind::OutOfQuota),
            (400, text("input length and `max_tokens` exceed context limit: 9"), TOO_LONG),
            (400, text("longer than the maximum model length of 9"), TOO_LONG),
            (200, text("No."), RefusalKind::Other),
            (302, Value::Null, RefusalKind::Other),
        ] {
            assert_eq!(kind(status, &said), expected, "{status} {said}");
        }
    }

    #[test]
    fn for_how_long_and_by_which_id() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:30 GMT");
        let now = "Sun, 06 Nov 1994 08:49:36 GMT";
        let info = json!({ "error": { "details": [{ "retryDelay": "7.5s" }] } });
        for (headers, said, expected) in [
            (&[("Retry-After", "2")][..], Value::Null, Some(2_000)),
            (&[("retry-after", " 0.5 ")], Value::Null, Some(500)),
            (&[("retry-after", "9"), ("retry-after-ms", "250")], Value::Null, Some(250)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), date], Value::Null, Some(7_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), date], Value::Null, Some(0)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Value::Null, Some(1_000)),
            (&[("retry-after", "-1")], Value::Null, None),
            (&[("retry-after-ms", "-1"), ("retry-after", "60")], Value::Null, Some(60_000)),
            (&[("retry-after", "soon")], Value::Null, None),
            (&[], info, Some(7_500)),
            (&[], Value::Null, None),
        ] {
            let headers = Headers::from_iter(headers.iter().copied());
            let told = refusal("u".into(), 429, &headers, &said.to_string(), String::new(), now);
            assert_eq!(told.retry_after, expected.map(Duration::from_millis), "{headers:?}");
        }
        for longest in ["1e20", "inf"] {
            let headers = Headers::from_iter([("retry-after", longest)]);
            let told = refusal("u".into(), 429, &headers, "", String::new(), now);
            assert_eq!(told.retry_after, Some(Duration::MAX));
        }
        let headers = Headers::from_iter([("Request-Id", "req_1")]);
        let told = refusal("u".into(), 429, &headers, "", "No.".into(), now);
        assert_eq!(told.request_id.as_deref(), Some("req_1"));
        assert!(told.to_string().ends_with("status 429: No. (request req_1)"), "{told}");
        let body = r#"{"request_id": "req_2"}"#;
        let told = refusal("u".into(), 429, &Headers::default(), body, String::new(), now);
        assert_eq!(told.request_id.as_deref(), Some("req_2"));
    }
}
