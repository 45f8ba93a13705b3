//! Addresses of pages that a server asks the user to open.

/// The number of characters of the address of a page.
const MAX_URL_CHARS: usize = 2_000;

/// Checks the address of a page that a user is to open. A program may pass it to the system, which
/// runs programs for other schemes.
pub(crate) fn check_page_url(url: &str) -> Result<(), &'static str> {
    if url.chars().count() > MAX_URL_CHARS {
        return Err("the address is too long");
    }
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '\\';
    if !url.chars().all(is_plain) {
        return Err("the address contains spaces or control characters");
    }
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("the address contains credentials");
    }
    let host = authority.strip_prefix('[').map_or_else(
        || authority.split(':').next().unwrap_or_default(),
        |rest| rest.split(']').next().unwrap_or_default(),
    );
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "::1");
    match scheme.to_ascii_lowercase().as_str() {
        _ if host.is_empty() => Err("the address has no host"),
        "https" => Ok(()),
        "http" if is_local => Ok(()),
        _ => Err("the address needs the scheme `https`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_that_a_browser_opens_safely_are_shown() {
        for good in [
            "https://a.example/pay?id=1#top",
            "HTTPS://a.example",
            "http://localhost:80/x",
            "http://[::1]:80/",
            "https://a.example/@me",
        ] {
            assert_eq!(check_page_url(good), Ok(()), "{good}");
        }
        for bad in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "javascript://a.example/%0aalert(1)",
            "data:text/html,x",
            "http://a.example/",
            "https://",
            "https:///path",
            "https://bank.example@evil.example/",
            "https://a.example/ b",
            "https://a.example\\@evil.example/",
            "x-apple:https://a.example",
            "",
        ] {
            assert!(check_page_url(bad).is_err(), "{bad}");
        }
        assert!(check_page_url(&format!("https://a.example/{}", "x".repeat(2_000))).is_err());
    }
}
