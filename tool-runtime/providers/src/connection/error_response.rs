//! Error response of a provider → its kind and the time to wait.

use std::time::Duration;

use serde_json::Value;

use tool_core::models::{ApiError, ApiErrorKind};
use tool_http::Headers;

/// Headers with the id under which a provider logs a request.
const REQUEST_IDS: [&str; 4] =
    ["x-request-id", "request-id", "x-goog-request-id", "mistral-correlation-id"];

/// Converts an error response. `excerpt` is the body as the error displays it, and `now` replaces a
/// missing `Date` header.
pub(crate) fn error_response(
    url: String,
    status: u16,
    headers: &Headers,
    body: &str,
    excerpt: String,
    now: &str,
) -> ApiError {
    let error: Value = serde_json::from_str(body).unwrap_or_default();
    let mut refusal = ApiError::new(kind(status, &error), url, status, excerpt);
    refusal.request_id =
        request_id(headers).or_else(|| Some(error.get("request_id")?.as_str()?.to_owned()));
    refusal.retry_after = retry_after(headers, now).or_else(|| retry_delay(&error));
    refusal.should_retry = should_retry(headers);
    refusal.rejected_output = rejected_output(&error);
    refusal
}

/// Returns the hint of the provider about retries, which takes precedence over the status.
fn should_retry(headers: &Headers) -> Option<bool> {
    headers.get("x-should-retry")?.trim().to_ascii_lowercase().parse().ok()
}

/// Returns what the model wrote if the server could not read it as a call. Groq sends it with the
/// error.
pub(crate) fn rejected_output(error: &Value) -> Option<String> {
    let error = error.get("error")?;
    let is_rejected = error.get("code").is_some_and(|code| code == "tool_use_failed");
    let output = error.get("failed_generation").filter(|_| is_rejected)?.as_str()?;
    (!output.trim().is_empty()).then(|| output.to_owned())
}

/// Returns the id under which the provider logged the request.
pub(crate) fn request_id(headers: &Headers) -> Option<String> {
    REQUEST_IDS.iter().find_map(|name| headers.get(name).map(ToOwned::to_owned))
}

/// Returns the message of an error that a provider reported.
pub(crate) fn error_message(error: &Value) -> String {
    match error.get("message").unwrap_or(error) {
        Value::String(message) => message.clone(),
        _ => error.to_string(),
    }
}

/// Classifies an error. The codes are those of the error lists of OpenAI, Anthropic, Google and
/// Mistral; the texts are those of servers that have no code.
pub(crate) fn kind(status: u16, error: &Value) -> ApiErrorKind {
    let codes = codes(error);
    // In the middle of a stream the status is in the error.
    let status_in_error =
        error.pointer("/error/code").and_then(Value::as_u64).filter(|_| status == 200);
    let status = status_in_error.and_then(|code| u16::try_from(code).ok()).unwrap_or(status);
    let has_code = |known: &[&str]| codes.iter().any(|code| known.contains(&code.as_str()));
    let begins = |starts: &[&str]| {
        codes.iter().any(|code| starts.iter().any(|start| code.starts_with(start)))
    };
    let text = error.to_string().to_lowercase();
    let mentions = |known: &[&str]| known.iter().any(|part| text.contains(part));
    if codes.iter().any(|code| is_unpaid(code)) || exceeds_daily_quota(error) {
        return ApiErrorKind::OutOfQuota;
    }
    if has_code(&[
        "context_length_exceeded",
        "exceed_context_size_error",
        "max_tokens_per_request",
        "request_too_large",
    ]) {
        return ApiErrorKind::ContextTooLong;
    }
    if has_code(&[
        "content_filter",
        "content_policy_violation",
        "ResponsibleAIPolicyViolation",
        "invalid_prompt",
        "bio_policy",
        "image_content_policy_violation",
    ]) {
        return ApiErrorKind::Filtered;
    }
    if has_code(&["service_tier_capacity_exceeded"]) {
        return ApiErrorKind::Overloaded;
    }
    match status {
        400 | 403 | 429 if mentions(&UNPAID_TEXTS) => ApiErrorKind::OutOfQuota,
        401 | 403 => ApiErrorKind::Auth,
        400 if has_code(&["API_KEY_INVALID", "invalid_api_key"]) => ApiErrorKind::Auth,
        402 => ApiErrorKind::OutOfQuota,
        413 if has_code(&["rate_limit_exceeded"]) => ApiErrorKind::RateLimited,
        413 => ApiErrorKind::ContextTooLong,
        400 | 422
            if mentions(&[
                "context length",
                "context size",
                "context window",
                "prompt is too long",
                "input token count",
                "too many tokens",
                "exceed context limit",
                "maximum model length",
                // Of texts to embed.
                "batch size",
                "in one batch",
                "too many inputs",
            ]) =>
        {
            ApiErrorKind::ContextTooLong
        }
        // llama.cpp, of a text to embed.
        500 if mentions(&["too large to process"]) => ApiErrorKind::ContextTooLong,
        429 if has_code(&["server_is_overloaded"]) => ApiErrorKind::Overloaded,
        429 => ApiErrorKind::RateLimited,
        408 | 500..=599 => ApiErrorKind::Overloaded,
        _ if has_code(&[
            "rate_limit_exceeded",
            "rate_limit_error",
            "rate_limited",
            "slow_down",
            "RESOURCE_EXHAUSTED",
        ]) =>
        {
            ApiErrorKind::RateLimited
        }
        _ if has_code(&[
            "overloaded_error",
            "server_error",
            "server_is_overloaded",
            "internal_server_error",
            "api_error",
        ]) || has_code(&[
            "UNAVAILABLE",
            "INTERNAL",
            "DEADLINE_EXCEEDED",
            "vector_store_timeout",
        ]) =>
        {
            ApiErrorKind::Overloaded
        }
        _ if has_code(&["authentication_error", "permission_error"])
            || has_code(&["PERMISSION_DENIED", "UNAUTHENTICATED"]) =>
        {
            ApiErrorKind::Auth
        }
        400..=499 => ApiErrorKind::InvalidRequest,
        _ if has_code(&["INVALID_ARGUMENT"]) || begins(&["invalid_", "image_", "unsupported_"]) => {
            ApiErrorKind::InvalidRequest
        }
        _ => ApiErrorKind::Failed,
    }
}

/// The parts of codes for a credit, or a quota that money buys, that is used up. Providers add
/// codes of this kind, such as one for each level at which a limit of spending can be set.
const UNPAID: [&str; 9] = [
    "billing",
    "budgetexceeded",
    "credit",
    "insufficientbalance",
    "insufficientfunds",
    "insufficientquota",
    "paymentrequired",
    "spendlimit",
    "usagelimit",
];

/// Texts that say so where there is no code.
const UNPAID_TEXTS: [&str; 4] = [
    "all available credits",
    "credit balance is too low",
    "monthly spending limit",
    "run out of credits",
];

/// Returns whether waiting does not help after an error with this code, because something has to be
/// paid.
fn is_unpaid(code: &str) -> bool {
    let letters = code.chars().filter(char::is_ascii_alphanumeric);
    let code = letters.collect::<String>().to_ascii_lowercase().replace("spending", "spend");
    UNPAID.iter().any(|part| code.contains(part))
}

/// Returns whether Google names a quota per day, which no client waits for.
fn exceeds_daily_quota(error: &Value) -> bool {
    let details = error.pointer("/error/details").and_then(Value::as_array);
    let violations =
        details.into_iter().flatten().filter_map(|it| it.get("violations")?.as_array());
    let mut quotas = violations.flatten().filter_map(|it| it.get("quotaId")?.as_str());
    quotas.any(|quota| quota.contains("PerDay"))
}

/// Collects the codes, types, statuses and reasons of an error.
fn codes(error: &Value) -> Vec<String> {
    let mut waiting = vec![error];
    let mut codes = Vec::new();
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => {
                let named = members.iter().filter(|(name, _)| {
                    ["code", "error_code", "type", "status", "reason"].contains(&name.as_str())
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

/// Returns the delay of the header `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date
/// relative to that of the response. OpenAI sends milliseconds in a separate header.
pub(crate) fn retry_after(headers: &Headers, now: &str) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let millis = headers.get("retry-after-ms").and_then(number).map(|millis| millis / 1_000.0);
    let value = headers.get("retry-after");
    let seconds = millis.filter(|seconds| *seconds >= 0.0).or_else(|| value.and_then(number));
    if let Some(seconds) = seconds {
        return delay(seconds);
    }
    let date = |text: &str| httpdate::parse_http_date(text.trim()).ok();
    let from = headers.get("date").and_then(date).or_else(|| date(now))?;
    Some(date(value?)?.duration_since(from).unwrap_or_default())
}

/// Converts seconds into a delay. Negative values have none; too large values become the longest
/// delay.
fn delay(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// Returns the delay in a body of Google's: `{"@type": "….RetryInfo", "retryDelay": "7.5s"}`.
fn retry_delay(error: &Value) -> Option<Duration> {
    let details = error.get("error")?.get("details")?.as_array()?;
    let text = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    delay(text.strip_suffix('s')?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{error_response, kind};
    use tool_core::models::ApiErrorKind;
    use tool_http::Headers;

    const TOO_LONG: ApiErrorKind = ApiErrorKind::ContextTooLong;

    #[test]
    fn errors_are_classified() {
        let code = |code: &str| json!({ "error": { "code": code, "message": "No." } });
        let typed = |kind: &str| json!({ "type": "error", "error": { "type": kind } });
        let google = |status: &str| json!({ "error": { "code": 400, "status": status } });
        let text = |text: &str| json!({ "error": { "message": text } });
        let quota = |id: &str| {
            json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED",
                "details": [{ "violations": [{ "quotaId": id }] }, { "retryDelay": "34s" }] } })
        };
        for (status, error, expected) in [
            (401, Value::Null, ApiErrorKind::Auth),
            (403, google("PERMISSION_DENIED"), ApiErrorKind::Auth),
            (
                400,
                json!({ "error": { "code": 400, "status": "INVALID_ARGUMENT",
                    "details": [{ "reason": "API_KEY_INVALID" }] } }),
                ApiErrorKind::Auth,
            ),
            (429, Value::Null, ApiErrorKind::RateLimited),
            (429, typed("rate_limit_error"), ApiErrorKind::RateLimited),
            (429, typed("service_tier_capacity_exceeded"), ApiErrorKind::Overloaded),
            (429, code("insufficient_quota"), ApiErrorKind::OutOfQuota),
            (402, Value::Null, ApiErrorKind::OutOfQuota),
            (429, code("billing_hard_limit_reached"), ApiErrorKind::OutOfQuota),
            (429, code("credit_balance_exhausted"), ApiErrorKind::OutOfQuota),
            (429, code("organization_spend_limit_exceeded"), ApiErrorKind::OutOfQuota),
            (429, code("organization_usage_limit_exceeded"), ApiErrorKind::OutOfQuota),
            (429, code("project_spend_limit_exceeded"), ApiErrorKind::OutOfQuota),
            (429, code("workspace_spend_limit_exceeded"), ApiErrorKind::OutOfQuota),
            (200, code("credit_balance_exhausted"), ApiErrorKind::OutOfQuota),
            (403, typed("billing_error"), ApiErrorKind::OutOfQuota),
            (429, code("credits_exhausted"), ApiErrorKind::OutOfQuota),
            (429, code("InsufficientCredits"), ApiErrorKind::OutOfQuota),
            (429, code("team-spending-limit-reached"), ApiErrorKind::OutOfQuota),
            (429, typed("budget_exceeded"), ApiErrorKind::OutOfQuota),
            (429, code("insufficientFunds"), ApiErrorKind::OutOfQuota),
            (
                429,
                json!({ "code": "Some resource has been exhausted",
                    "error": "Your team 1 has either used all available credits or reached …" }),
                ApiErrorKind::OutOfQuota,
            ),
            (403, text("You have run out of credits."), ApiErrorKind::OutOfQuota),
            (403, code("account_suspended"), ApiErrorKind::Auth),
            (429, code("invalid_credentials"), ApiErrorKind::RateLimited),
            (429, text("Your credit balance is too low to access it"), ApiErrorKind::OutOfQuota),
            (
                429,
                json!({ "type": "error", "error": { "type": "rate_limit_error",
                    "details": { "error_code": "credit_balance_exhausted" } } }),
                ApiErrorKind::OutOfQuota,
            ),
            (429, quota("GenerateRequestsPerDayPerProjectPerModel"), ApiErrorKind::OutOfQuota),
            (429, quota("GenerateRequestsPerMinutePerProject"), ApiErrorKind::RateLimited),
            (429, code("slow_down"), ApiErrorKind::RateLimited),
            (200, code("slow_down"), ApiErrorKind::RateLimited),
            (503, code("server_is_overloaded"), ApiErrorKind::Overloaded),
            (200, code("server_is_overloaded"), ApiErrorKind::Overloaded),
            (400, code("context_length_exceeded"), ApiErrorKind::ContextTooLong),
            (
                400,
                text("This model's maximum context length is 8192 tokens."),
                ApiErrorKind::ContextTooLong,
            ),
            (400, text("prompt is too long: 9 tokens > 8 maximum"), ApiErrorKind::ContextTooLong),
            (413, typed("request_too_large"), ApiErrorKind::ContextTooLong),
            (400, code("content_filter"), ApiErrorKind::Filtered),
            (400, typed("invalid_request_error"), ApiErrorKind::InvalidRequest),
            (404, Value::Null, ApiErrorKind::InvalidRequest),
            (422, text("extra field"), ApiErrorKind::InvalidRequest),
            (500, Value::Null, ApiErrorKind::Overloaded),
            (503, google("UNAVAILABLE"), ApiErrorKind::Overloaded),
            (529, typed("overloaded_error"), ApiErrorKind::Overloaded),
            // Errors in the middle of a stream.
            (200, typed("overloaded_error"), ApiErrorKind::Overloaded),
            (200, code("rate_limit_exceeded"), ApiErrorKind::RateLimited),
            (200, typed("rate_limited"), ApiErrorKind::RateLimited),
            (200, google("DEADLINE_EXCEEDED"), ApiErrorKind::Overloaded),
            (200, google("UNAUTHENTICATED"), ApiErrorKind::Auth),
            (200, code("invalid_prompt"), ApiErrorKind::Filtered),
            (200, code("image_too_large"), ApiErrorKind::InvalidRequest),
            (200, json!({ "error": { "code": 429 } }), ApiErrorKind::RateLimited),
            (413, code("rate_limit_exceeded"), ApiErrorKind::RateLimited),
            (400, text("Your credit balance is too low to access it"), ApiErrorKind::OutOfQuota),
            (400, text("input length and `max_tokens` exceed context limit: 9"), TOO_LONG),
            (400, text("longer than the maximum model length of 9"), TOO_LONG),
            (200, text("No."), ApiErrorKind::Failed),
            (302, Value::Null, ApiErrorKind::Failed),
        ] {
            assert_eq!(kind(status, &error), expected, "{status} {error}");
        }
    }

    #[test]
    fn delays_and_request_ids_are_decoded() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:30 GMT");
        let now = "Sun, 06 Nov 1994 08:49:36 GMT";
        let info = json!({ "error": { "details": [{ "retryDelay": "7.5s" }] } });
        for (headers, error, expected) in [
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
            let refusal =
                error_response("u".into(), 429, &headers, &error.to_string(), String::new(), now);
            assert_eq!(refusal.retry_after, expected.map(Duration::from_millis), "{headers:?}");
        }
        for longest in ["1e20", "inf"] {
            let headers = Headers::from_iter([("retry-after", longest)]);
            let refusal = error_response("u".into(), 429, &headers, "", String::new(), now);
            assert_eq!(refusal.retry_after, Some(Duration::MAX));
        }
        for (value, expected) in
            [("true", Some(true)), (" False ", Some(false)), ("maybe", None), ("", None)]
        {
            let headers = Headers::from_iter([("x-should-retry", value)]);
            let refusal = error_response("u".into(), 429, &headers, "", String::new(), now);
            assert_eq!(refusal.should_retry, expected, "{value:?}");
        }
        let headers = Headers::from_iter([("Request-Id", "req_1")]);
        let refusal = error_response("u".into(), 429, &headers, "", "No.".into(), now);
        assert_eq!(refusal.request_id.as_deref(), Some("req_1"));
        assert!(refusal.to_string().ends_with("status 429: No. (request req_1)"), "{refusal}");
        let body = r#"{"request_id": "req_2"}"#;
        let refusal =
            error_response("u".into(), 429, &Headers::default(), body, String::new(), now);
        assert_eq!(refusal.request_id.as_deref(), Some("req_2"));
    }
}
