//! Reads the names that a Rust file declares: items, members, parameters, bindings of patterns.

use regex_lite::Regex;

use super::source::without_literals;

/// Returns the declared names of a Rust file with their lines.
pub(crate) fn declared(text: &str) -> Vec<(usize, String)> {
    let code = without_literals(text);
    let mut found = typed_names(&code);
    for (start, pattern) in patterns(&code) {
        found.extend(bindings(pattern).map(|(at, name)| (start + at, name)));
    }
    for (start, pattern) in closure_parameters(&code) {
        // `it` is a good name of the only parameter of a short closure.
        let names = bindings(pattern).filter(|(_, name)| *name != "it");
        found.extend(names.map(|(at, name)| (start + at, name)));
    }
    found.sort_unstable();
    found.dedup();
    let (mut line, mut from) = (1, 0);
    let with_line = |(at, name): (usize, &str)| {
        line += code[from..at].matches('\n').count();
        from = at;
        (line, name.to_owned())
    };
    found.into_iter().map(with_line).collect()
}

/// Text of the code, with its position.
type Found<'c> = Vec<(usize, &'c str)>;

/// Returns the first group of all matches. What follows a group may start the next match.
fn captures<'c>(expression: &str, code: &'c str) -> Found<'c> {
    let expression = Regex::new(expression).expect("an expression");
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(group) = expression.captures_at(code, from).and_then(|it| it.get(1)) {
        found.push((group.start(), group.as_str()));
        from = group.end().max(from + 1);
    }
    found
}

/// Returns the names of items, and names with a type: fields and parameters. A member with a
/// constructor, as in `A { b: Some(c) }`, looks like a field and is one.
fn typed_names(code: &str) -> Found<'_> {
    let item = r"\b(?:fn|struct|enum|trait|type|const|static|mod|macro_rules!)\s+(?:mut\s+)?(\w+)";
    let typed = concat!(
        r"(?:^|[(,{|\n]|\bpub|\bmut|\))\s*(\w+):\s*",
        r"(?:[&*'\[(A-Z]|(?:[a-z_]\w*::)+[A-Z]\w*[a-z]|fn\(|(?:impl|dyn|bool|char|str|[iuf]\d+|[iu]size)\b[^:])",
    );
    [captures(item, code), captures(typed, code)].concat()
}

/// Returns the patterns of `let`, `for`, `matches!`, arms of `match` and destructured parameters.
fn patterns(code: &str) -> Found<'_> {
    let mut found = captures(r"\blet\s+([^=;]+)", code);
    found.extend(captures(r"\bfor\s+((?:[^{};]|\{[^{};]*\})*?)\sin\b", code));
    found.extend(captures(r"\bfn\s[^(]*\((\([^()]*\)):", code));
    for (at, _) in code.match_indices("=>") {
        let start = arm_start(&code[..at]);
        found.push((start, without_guard(&code[start..at])));
    }
    for (at, call) in code.match_indices("matches!(") {
        let start = at + call.len();
        let end = start + balanced_len(&code[start..], |c| c == ')');
        let value = balanced_len(&code[start..end], |c| c == ',');
        let pattern = code.get(start + value + 1..end).unwrap_or_default();
        found.push((end - pattern.len(), without_guard(pattern)));
    }
    found
}

fn closure_parameters(code: &str) -> Found<'_> {
    captures(r"(?:[(,=&{;:]\s*|\b(?:move|async|return|else)\s+|=>\s*)\|([^|;]*)\|", code)
}

/// Returns the length of the text before the first delimiter outside brackets.
fn balanced_len(text: &str, is_delimiter: impl Fn(char) -> bool) -> usize {
    let mut depth = 0_usize;
    let delimiter = text.find(|c: char| {
        if depth == 0 && is_delimiter(c) {
            return true;
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        false
    });
    delimiter.unwrap_or(text.len())
}

/// Returns where the pattern starts that ends the text: after the block or the comma of the arm
/// before it, or after the bracket that opens the `match`.
fn arm_start(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().rev() {
        match c {
            '}' if depth == 0 && ends_block(&text[at + 1..]) => return at + 1,
            '(' | '{' | '[' | ',' | ';' if depth == 0 => return at + 1,
            ')' | '}' | ']' => depth += 1,
            '(' | '{' | '[' => depth -= 1,
            _ => {}
        }
    }
    0
}

/// Returns whether a pattern starts after a bracket, which is thus not part of a pattern itself.
fn ends_block(after: &str) -> bool {
    let after = after.trim_start();
    !after.is_empty() && !after.starts_with(['|', ',', ')']) && !after.starts_with("if ")
}

/// Removes the condition of a pattern, and the future of a branch of `select!`.
fn without_guard(pattern: &str) -> &str {
    let end = [" if ", "\nif ", " = "].into_iter().filter_map(|mark| pattern.find(mark)).min();
    &pattern[..end.unwrap_or(pattern.len())]
}

/// Returns the names that a pattern binds with their positions: not paths, and not the members
/// that it renames.
fn bindings(pattern: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    pattern.split_inclusive(move |c| !is_word(c)).filter_map(move |part| {
        let start = at;
        at += part.len();
        let name = part.trim_end_matches(|c| !is_word(c));
        let is_first = pattern[..start].trim_start_matches("mut ").trim().is_empty();
        let after = pattern[start + name.len()..].trim_start();
        let is_path = after.starts_with("::") || pattern[..start].ends_with("::");
        let is_member = after.starts_with(':') && !is_first;
        let is_binding = name.starts_with(|c: char| c.is_lowercase()) && name != "mut";
        let is_binding = is_binding && !is_path && !is_member;
        is_binding.then_some((start, name))
    })
}

#[test]
fn declarations_are_read_at_every_depth() {
    for (code, expected) in [
        ("fn f(a: u8, b: serde_json::Value) {}", &["f", "a", "b"][..]),
        ("fn f((a, b): (u8, u8)) {}", &["f", "a", "b"]),
        ("struct A { b: io::Result<u8>, c: fn(u8) }", &["A", "b", "c"]),
        ("let (mut a, [b, ..]) = f();", &["a", "b"]),
        ("let Some(A { b: Some(c), d, .. }) = e else { return };", &["b", "c", "d"]),
        ("if let Ok((a, _)) = f() && let B(c) = d {}", &["a", "c"]),
        ("for (a, B { c: (d, _) }) in e {}", &["a", "c", "d"]),
        ("a.map(|(b, C { d: Some(e), f })| b)", &["b", "d", "e", "f"]),
        ("A { a: |b| b, c: d }", &["b"]),
        (
            "match a { Some(b) => c, D { e: Some(f), g } => h, (i, [j, ..]) => k }",
            &["b", "e", "f", "g", "i", "j"],
        ),
        (
            "match a { B(c) => { d } E { f } | G { f } if h(i) => j,\n k @ L => k }",
            &["c", "f", "f", "k"],
        ),
        ("assert!(matches!(a(b, c), Some(D { e: f, .. }) if g == 1))", &["f"]),
        ("select! { a = b.c() => d, else => e }", &["a", "else"]),
        ("a(b.c); D { e: f.g }; h = i; j => k", &["j"]),
    ] {
        let names: Vec<_> = declared(code).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, expected, "{code}");
    }
    assert_eq!(declared("a(\"\n\n\");\nlet b = 1;"), [(4, "b".to_owned())]);
}
