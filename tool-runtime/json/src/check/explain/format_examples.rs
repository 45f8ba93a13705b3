//! Examples of string formats, which errors show.

/// Formats of types that tools take, each with an example. Those without an offset belong to
/// chrono.
const EXAMPLES: [(&str, &str); 10] = [
    ("date", "2026-12-24"),
    ("date-time", "2026-12-24T18:30:00Z"),
    ("email", "ada@example.org"),
    ("ip", "192.0.2.1"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("partial-date-time", "2026-12-24T18:30:00"),
    ("partial-time", "18:30:00"),
    ("uri", "https://example.org/"),
    ("uuid", "67e55044-10b1-426f-9247-bb680e5f3b0a"),
];

/// Strings of which types without a declared format often accept one.
pub(in crate::check) const STRINGS: [&str; 14] = [
    "a",
    "A",
    "1",
    "AB",
    "ABC",
    "abc",
    "2026-12-24",
    "2026-12-24T18:30:00Z",
    "ada@example.org",
    "https://example.org/",
    "192.0.2.1",
    "192.0.2.1:80",
    "67e55044-10b1-426f-9247-bb680e5f3b0a",
    "example.org",
];

/// Returns an example of the format, if it is known.
pub(in crate::check) fn example(format: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|(known, _)| *known == format).map(|(_, text)| *text)
}
