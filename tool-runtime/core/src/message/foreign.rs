//! Validation of untrusted media and URIs.

/// The schemes of links that are passed on.
const LINKS: [&str; 2] = ["https://", "http://"];

/// The schemes that do something when they are opened, or name what is on this machine.
const REFUSED_SCHEMES: [&str; 14] = [
    "about",
    "blob",
    "chrome",
    "data",
    "file",
    "filesystem",
    "intent",
    "jar",
    "javascript",
    "livescript",
    "mhtml",
    "mocha",
    "vbscript",
    "view-source",
];

/// How a URI from outside is passed on.
#[derive(Debug, PartialEq, Eq)]
pub enum UriUse {
    /// The URI is a link, which programs may show and follow.
    Link,
    /// The URI is text: the name of a resource, or of something that only some programs open.
    Text,
    /// The URI is left out because of this scheme.
    Refused(String),
}

/// Decides how a URI is passed on.
pub fn uri_use(uri: &str) -> UriUse {
    // Browsers ignore these in a scheme, too.
    let visible = |c: &char| !c.is_whitespace() && !c.is_control();
    let normal: String = uri.chars().filter(visible).collect::<String>().to_ascii_lowercase();
    if LINKS.iter().any(|link| normal.starts_with(link)) && normal.len() == uri.len() {
        return UriUse::Link;
    }
    // What is before the first colon is a scheme only if no path begins there.
    let Some((scheme, _)) = normal.split_once(':') else { return UriUse::Text };
    if scheme.contains(['/', '?', '#']) {
        return UriUse::Text;
    }
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if !is_scheme {
        return UriUse::Refused("?".to_owned());
    }
    if REFUSED_SCHEMES.contains(&scheme) {
        UriUse::Refused(scheme.to_owned())
    } else {
        UriUse::Text
    }
}

/// The kind of binary data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    /// Data of the type `image`.
    Image,
    /// Data of the type `audio`.
    Audio,
    /// Data of any type.
    Other,
}

/// Returns why data can't be passed on, if they can't: a model API refuses the whole request
/// because of them.
pub fn media_refusal(kind: MediaKind, media_type: &str, base64: &str) -> Option<&'static str> {
    let (main, sub) = media_type.split_once('/').unwrap_or_default();
    let is_token = |text: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c);
        !text.is_empty() && text.chars().all(allowed)
    };
    // Parameters, such as a character set, follow a semicolon.
    let sub = sub.split(';').next().unwrap_or_default();
    let is_of_kind = match kind {
        MediaKind::Image => main.eq_ignore_ascii_case("image"),
        MediaKind::Audio => main.eq_ignore_ascii_case("audio"),
        MediaKind::Other => true,
    };
    if !is_token(main) || !is_token(sub) || !is_of_kind {
        return Some("its media type is invalid");
    }
    if base64.is_empty() {
        return Some("it is empty");
    }
    (!is_base64(base64)).then_some("its data are not base64")
}

/// Returns true for base64 in the standard alphabet, with padding.
fn is_base64(text: &str) -> bool {
    let data = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - data.len() <= 2
        && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_pages_are_links_and_active_schemes_are_refused() {
        let refused = |scheme: &str| UriUse::Refused(scheme.to_owned());
        for (uri, expected) in [
            ("https://example.com/a?b#c", UriUse::Link),
            ("HTTP://example.com", UriUse::Link),
            ("demo://resource/1", UriUse::Text),
            ("note:7", UriUse::Text),
            ("mailto:a@example.com", UriUse::Text),
            ("https:example.com", UriUse::Text),
            ("//example.com/a", UriUse::Text),
            ("/etc/passwd:1", UriUse::Text),
            ("?a=javascript:1", UriUse::Text),
            ("", UriUse::Text),
            ("javascript:alert(1)", refused("javascript")),
            ("JaVaScRiPt:alert(1)", refused("javascript")),
            (" \t javascript:alert(1)", refused("javascript")),
            ("java\nscript:alert(1)", refused("javascript")),
            ("java\u{0}script:alert(1)", refused("javascript")),
            ("javascript://%0aalert(1)", refused("javascript")),
            ("file:///etc/passwd", refused("file")),
            ("FILE:C:\\a", refused("file")),
            ("data:text/html,<script>", refused("data")),
            ("vbscript:msgbox", refused("vbscript")),
            ("blob:https://a/b", refused("blob")),
            ("view-source:javascript:1", refused("view-source")),
            ("java script%3A:1", refused("?")),
            ("\u{ff4a}avascript:1", refused("?")),
            (":a", refused("?")),
        ] {
            assert_eq!(uri_use(uri), expected, "{uri:?}");
        }
    }

    #[test]
    fn data_need_a_media_type_of_their_kind_and_base64() {
        use MediaKind::{Audio, Image, Other};
        for (kind, media_type, base64, is_good) in [
            (Image, "image/png", "aGVsbG8=", true),
            (Image, "IMAGE/svg+xml", "aGVsbA==", true),
            (Audio, "audio/wav; codecs=1", "aGVs", true),
            (Other, "application/vnd.a.b+json", "aGVs", true),
            (Image, "text/html", "aGVs", false),
            (Image, "audio/wav", "aGVs", false),
            (Audio, "image/png", "aGVs", false),
            (Image, "image", "aGVs", false),
            (Image, "image/", "aGVs", false),
            (Image, "image/png\n", "aGVs", false),
            (Other, "a b/c", "aGVs", false),
            (Other, "", "aGVs", false),
            (Image, "image/png", "", false),
            (Image, "image/png", "aGVsbG8", false),
            (Image, "image/png", "aGVs\naGVs", false),
            (Image, "image/png", "aGV_", false),
            (Image, "image/png", "a===", false),
            (Image, "image/png", "=aGV", false),
            (Image, "image/png", "data:image/png;base64,aGVs", false),
            (Image, "image/png", "https://example.com/a.png", false),
        ] {
            let refusal = media_refusal(kind, media_type, base64);
            assert_eq!(refusal.is_none(), is_good, "{media_type} {base64}: {refusal:?}");
        }
    }
}
