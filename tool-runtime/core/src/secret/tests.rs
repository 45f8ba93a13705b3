use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::json;

use super::{PieceRedactor, REDACTED, Redactor};

fn redactor(secrets: &[&str]) -> Redactor {
    Redactor::default().with(secrets.iter().map(|secret| (*secret).to_owned()))
}

fn redact(text: &str, secrets: &[&str]) -> String {
    let mut text = text.to_owned();
    redactor(secrets).redact(&mut text);
    text
}

/// Redacts a text that arrives in pieces of so many characters.
fn redact_in_pieces(text: &str, secrets: &[&str], size: usize) -> String {
    let (redactor, mut pieces) = (redactor(secrets), PieceRedactor::default());
    let chars: Vec<char> = text.chars().collect();
    let mut released = String::new();
    for piece in chars.chunks(size) {
        released += &pieces.push(&redactor, &piece.iter().collect::<String>());
    }
    released + &pieces.finish(&redactor)
}

const SECRETS: [&str; 9] = [
    "hunter22",
    "a\"b\nc\td\\",
    "C:\\new\\u0041",
    "naïve 🔑 key",
    "50%41 off & more",
    "\\n\\n",
    "'q'\0z",
    "p&amp;<ss>\"",
    "correct horse battery",
];

/// Returns the spellings of a text that occur in logs, requests and configuration, by name.
fn spellings(text: &str) -> Vec<(&'static str, String)> {
    let json = |text: &str| json!(text).to_string();
    let percent = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let html = |text: &str| {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        escaped.replace('"', "&quot;").replace('\'', "&#39;")
    };
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let ascii: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    let numbers = |radix: &str| -> String {
        let number = |c: char| match radix {
            "x" => format!("&#x{:x};", u32::from(c)),
            _ => format!("&#{};", u32::from(c)),
        };
        text.chars().map(number).collect()
    };
    let wrapped: Vec<String> = STANDARD
        .encode(text)
        .as_bytes()
        .chunks(4)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    let pairs: Vec<String> = text.bytes().map(|byte| format!("{byte:02X}")).collect();
    vec![
        ("verbatim", text.to_owned()),
        ("json", json(text)),
        ("json twice", json(&json(text))),
        ("json three times", json(&json(&json(text)))),
        ("unicode escapes", ascii.clone()),
        ("unicode escapes in json", json(&ascii)),
        ("debug", format!("{text:?}")),
        ("debug twice", format!("{:?}", format!("{text:?}"))),
        ("bytes escapes", text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()),
        ("percent", percent(text)),
        ("percent twice", percent(&percent(text))),
        ("percent of the percent signs", percent(text).replace('%', "%25")),
        ("percent three times", percent(text).replace('%', "%2525")),
        (
            "form",
            text.bytes()
                .map(|byte| match byte {
                    b' ' => "+".to_owned(),
                    byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
                    byte => format!("%{byte:02X}"),
                })
                .collect(),
        ),
        ("html", html(text)),
        ("html twice", html(&html(text))),
        ("html numbers", numbers("d")),
        ("html hexadecimal numbers", numbers("x")),
        ("html in json", json(&html(text))),
        ("json in html", html(&json(text))),
        ("base64", STANDARD.encode(text)),
        ("base64 without padding", STANDARD_NO_PAD.encode(text)),
        ("base64url", URL_SAFE_NO_PAD.encode(format!("?>{text}"))),
        ("base64 at the second offset", STANDARD.encode(format!("a{text}b"))),
        ("base64 at the third offset", STANDARD.encode(format!("ab{text}cd"))),
        ("basic authorization", format!("Basic {}", STANDARD.encode(format!("ada:{text}")))),
        ("base64 of json", STANDARD.encode(json!({ "password": text }).to_string())),
        ("base64 twice", STANDARD.encode(STANDARD.encode(text))),
        ("base64 of percent", STANDARD.encode(percent(text))),
        ("percent of base64", percent(&STANDARD.encode(text))),
        (
            "base64 in json",
            json(&STANDARD.encode(text)).replace('/', "\\/").replace('+', "\\u002B"),
        ),
        ("wrapped base64", wrapped.join("\n")),
        ("indented base64", wrapped.join("\r\n    ")),
        ("wrapped base64 in json", json(&wrapped.join("\n"))),
        ("base64 behind letters", format!("token/{}", STANDARD.encode(text))),
        ("hex", hex.clone()),
        ("upper hex", hex.to_uppercase()),
        ("hex behind a digit", format!("0{hex}f")),
        ("hex with colons", pairs.join(":")),
        ("hex with spaces", pairs.join(" ")),
        ("base64 of hex", STANDARD.encode(&hex)),
        (
            "hex of base64",
            STANDARD.encode(text).bytes().map(|byte| format!("{byte:02x}")).collect(),
        ),
    ]
}

#[test]
fn secret_is_redacted_in_every_spelling() {
    for secret in SECRETS {
        for (name, spelled) in spellings(secret) {
            // Random bytes contain a short form.
            if secret == "\\n\\n" && !spelled.contains('\\') {
                continue;
            }
            let text = format!("before, {spelled}, after");
            let redacted = redact(&text, &[secret]);
            assert!(redacted.contains(REDACTED), "{name}: {text}");
            assert!(
                redacted.starts_with("before, ") && redacted.ends_with(", after"),
                "{redacted}"
            );
            let left = redacted.len() - REDACTED.len() * redacted.matches(REDACTED).count();
            // The user, quotation marks and padding around the secret.
            assert!(left <= "before, , after".len() + 44, "{name}: {text} → {redacted}");
            for size in [1, 2, 3, 7] {
                let in_pieces = redact_in_pieces(&text, &[secret], size);
                assert_eq!(in_pieces, redacted, "{name} in pieces of {size}: {text}");
            }
        }
    }
}

#[test]
fn text_around_a_secret_is_unchanged() {
    assert_eq!(redact("a hunter22, b", &["hunter22"]), "a [redacted], b");
    assert_eq!(redact("hunter22hunter22 x", &["hunter22"]), "[redacted] x");
    assert_eq!(redact("abcdef", &["abcd", "cdef"]), "[redacted]");
    assert_eq!(redact("é🔑hunter22🔑é", &["hunter22"]), "é🔑[redacted]🔑é");
    for text in [
        "ab hunter2 \\u00zz \\ 5% %zz \\ & &amp; &#; &#x; &#99999999999; %",
        "aHVudGVy MjI= 68756e74 6572 ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "",
    ] {
        assert_eq!(redact(text, &["hunter22"]), text);
    }
    assert_eq!(redact("x \\\\ y", &["\\\\\\\\"]), "x \\\\ y");
    // A short secret of the policy is searched for, but not in random bytes.
    assert_eq!(redact("a 77 b %37%37 c", &["77"]), "a [redacted] b [redacted] c");
    let base64 = STANDARD.encode(SECRETS.concat());
    assert_eq!(
        redact(&base64, &["7"]).replace('7', ""),
        base64.replace('7', REDACTED).replace('7', "")
    );
}

#[test]
fn lines_of_a_secret_are_redacted_alone() {
    let key =
        "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\r\n  hkiG9w0BAQEFAASC\nAb3=\n-----END KEY-----\n";
    for (text, redacted) in [
        (key, "[redacted]"),
        ("first: MIIEvQIBADANBgkq", "first: [redacted]"),
        ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "[redacted]"),
        ("TUlJRXZRSUJBREFOQmdrcQ==", "[redacted]=="),
        // A short line and the name of the format are no secrets.
        ("Ab3= -----BEGIN KEY-----", "Ab3= -----BEGIN KEY-----"),
    ] {
        assert_eq!(redact(text, &[key]), redacted);
        if text == key {
            continue;
        }
        // As in environment variables.
        let escaped = key.replace('\r', "\\r").replace('\n', "\\n");
        for key in [escaped.replace('\\', "\\\\"), escaped] {
            assert_eq!(redact(text, &[&key]), redacted, "{key}");
        }
    }
    // What looks like a line break may be none.
    assert_eq!(redact("ew or", &[r"C:\new or\rest"]), "ew or");
}

#[test]
fn long_secret_is_redacted_to_its_end() {
    let key: String = (0..3_000).map(|number| format!("{number:x}.")).collect();
    for text in [key.clone(), STANDARD.encode(&key), json!(key).to_string().replace('.', "\\u002e")]
    {
        let redacted = redact(&format!("<{text}> after"), &[&key]);
        assert!(redacted.len() < 60, "{redacted}");
        assert!(redacted.starts_with('<'), "{redacted}");
    }
}

/// Words that share beginnings and ends, and text made of them and of parts of them.
fn overlapping() -> impl Strategy<Value = (Vec<String>, String)> {
    let secrets = proptest::collection::vec("[ab\\\\%&]{4,7}|[a-c]{4,9}", 1..40);
    (secrets, "[abc\\\\%&;nu0 ]{0,60}")
}

proptest! {
    #[test]
    fn every_occurrence_of_many_secrets_is_redacted((secrets, text) in overlapping()) {
        let names: Vec<&str> = secrets.iter().map(String::as_str).collect();
        let redacted = redact(&text, &names);
        for secret in &secrets {
            prop_assert!(!redacted.contains(secret), "{secret} in {redacted}");
        }
        // Nothing but secrets is lost.
        for part in redacted.split(REDACTED) {
            prop_assert!(text.contains(part), "{part} of {redacted}");
        }
        for size in 1..5 {
            let in_pieces = redact_in_pieces(&text, &names, size);
            for secret in &secrets {
                prop_assert!(!in_pieces.contains(secret), "{secret} in {in_pieces}");
            }
        }
    }

    #[test]
    fn plain_text_in_pieces_arrives_whole(text in "[ -~é🔑\n]{0,80}", size in 1..9_usize) {
        prop_assert_eq!(redact_in_pieces(&text, &["hunter22", "tr0ub4dor"], size), text);
    }
}

#[test]
fn part_of_a_text_shows_no_part_of_a_secret() {
    let redactor = redactor(&["s3cr3t-k3y"]);
    let text = "é s3cr3t-k3y 🔑 czNjcjN0LWszeQ== end";
    let mut whole = text.to_owned();
    redactor.redact(&mut whole);
    for start in 0..=text.len() {
        for end in start..=text.len() {
            let part = super::floor(text, start)..super::floor(text, end);
            let redacted = redactor.redact_range(text, part.clone());
            let plain = redacted.replace(REDACTED, "");
            assert!(!plain.contains(['3', 'y', 'z', 'j', 'N']), "{part:?}: {redacted}");
            assert!(whole.contains(&plain) || redacted.contains(REDACTED), "{part:?}: {redacted}");
        }
    }
    assert_eq!(redactor.redact_range(text, 0..text.len()), whole);
    assert_eq!(redactor.redact_range(text, 5..7), REDACTED);
}

#[test]
fn unfinished_secret_begins_where_its_first_characters_do() {
    let redactor = redactor(&["s3cr3t-k3y"]);
    for (text, expected) in [
        ("", None),
        ("name? ", None),
        ("ready\n", None),
        ("key: s3c", Some(5)),
        // It may be the start of a longer one.
        ("s3cr3t-k3y", Some(0)),
        ("s3cr3t-k3y s", Some(11)),
        // Base64 of the first four bytes.
        ("key: czNjcg", Some(5)),
    ] {
        assert_eq!(redactor.unfinished_secret(text), expected, "{text}");
    }
}

#[test]
fn words_of_plain_text_are_not_held_back() {
    let (redactor, mut pieces) = (redactor(&["hunter22", "tr0ub4dor&3"]), PieceRedactor::default());
    let (mut whole, mut released) = (String::new(), String::new());
    for word in "The quick brown fox jumps over the lazy dog, and 5 more. ".split_inclusive(' ') {
        // A word whose end may be a hexadecimal digit waits for the next word.
        assert!(released.len() + 4 >= whole.len(), "{released}");
        released += &pieces.push(&redactor, word);
        whole += word;
    }
    assert_eq!(released, whole);
    assert_eq!(pieces.push(&redactor, "hunt"), "");
    assert_eq!(pieces.push(&redactor, "ing "), "hunting ");
}

/// Backslashes may begin an escape, so they are held back until another character follows.
#[test]
fn long_held_text_is_not_searched_at_each_piece() {
    let (redactor, mut pieces) = (redactor(&["hunter22"]), PieceRedactor::default());
    let text = "\\".repeat(20_000);
    let start = std::time::Instant::now();
    let mut released: String =
        text.chars().map(|c| pieces.push(&redactor, &c.to_string())).collect();
    released += &pieces.finish(&redactor);
    assert_eq!(released, text);
    assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
}

/// A model can't make a run forget a secret by many others.
#[test]
fn no_secret_is_evicted_and_the_time_stays_linear() {
    let names: Vec<String> = (0..20_000).map(|number| format!("aaaaaaaa{number:08}")).collect();
    let secrets: Vec<&str> =
        std::iter::once("first secret").chain(names.iter().map(|it| &**it)).collect();
    let text = format!("{} first secret {}", "a".repeat(200_000), names[777]);
    let redactor = redactor(&secrets);
    let start = std::time::Instant::now();
    let mut redacted = text;
    redactor.redact(&mut redacted);
    assert!(redacted.ends_with("a [redacted] [redacted]"));
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}

/// Each of them ends with two hundred others.
#[test]
fn secrets_that_end_with_each_other_take_linear_time() {
    let short = (4..=252).map(|length| "a".repeat(length));
    let long = (0..500).map(|number| format!("{number:03}{}", "a".repeat(252)));
    let secrets: Vec<String> = short.chain(long).collect();
    let start = std::time::Instant::now();
    let redactor = redactor(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
    let mut text = format!("x {} 499{} y", "a".repeat(100_000), "a".repeat(252));
    redactor.redact(&mut text);
    assert_eq!(text, "x [redacted] [redacted] y");
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn keys_are_redacted_and_no_member_is_lost() {
    let redactor = redactor(&["hunter22", "hunter33"]);
    let mut value = json!({"hunter22": 1, "hunter33": {"x hunter22": "hunter33"}, "plain": 2});
    redactor.redact_value(&mut value);
    let expected = json!({
        "[redacted]": 1, "[redacted] 2": {"x [redacted]": "[redacted]"}, "plain": 2,
    });
    assert_eq!(value, expected);
}
