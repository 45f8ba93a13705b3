//! Rust source code without comments, literals and tests.

/// Returns the code of a file. String and character literals are emptied, test modules removed.
pub fn code(text: &str) -> String {
    let mut code = without_literals(text);
    let mut from = 0;
    while let Some(at) = code[from..].find("#[cfg(test)]").map(|at| from + at) {
        let after = code[at..].find(']').map_or(code.len(), |end| at + end + 1);
        let item = code[after..].trim_start();
        match item.starts_with("mod ").then(|| item.find([';', '{'])).flatten() {
            Some(start) => {
                let start = code.len() - item.len() + start;
                code.replace_range(at..end_of_block(&code, start), "");
                from = at;
            }
            None => from = after,
        }
    }
    code
}

/// Returns the end of the block or `;` that begins at `start`.
fn end_of_block(code: &str, start: usize) -> usize {
    let mut depth = 0;
    for (at, c) in code[start..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return start + at + c.len_utf8();
        }
    }
    code.len()
}

/// Returns the code of a file with its tests. Literals are emptied; lines keep their numbers.
pub fn without_literals(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    loop {
        let plain = rest.bytes().position(|byte| b"/\"r'".contains(&byte)).unwrap_or(rest.len());
        code.push_str(&rest[..plain]);
        rest = &rest[plain..];
        let Some(c) = rest.chars().next() else { return code };
        let (replacement, len) = match c {
            '/' if rest.starts_with("//") => ("", rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (" ", block_comment(rest)),
            '"' => ("\"\"", quoted(rest, '"')),
            'r' if !ends_in_word(&code) && raw_text(rest).is_some() => {
                ("\"\"", raw_text(rest).unwrap_or(rest.len()))
            }
            '\'' if is_char(rest) => ("' '", quoted(rest, '\'')),
            _ => (&rest[..c.len_utf8()], c.len_utf8()),
        };
        code.push_str(replacement);
        if replacement != &rest[..len] {
            code.extend(rest[..len].matches('\n'));
        }
        rest = &rest[len..];
    }
}

fn ends_in_word(code: &str) -> bool {
    // The `b` of `br""` is a prefix.
    let word = code.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    !matches!(word, "" | "b" | "c")
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let step = match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => 1,
            [b'*', b'/', ..] => -1,
            _ => 0,
        };
        depth += step;
        at += if step == 0 { 1 } else { 2 };
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn raw_text(text: &str) -> Option<usize> {
    let hashes = text[1..].bytes().take_while(|byte| *byte == b'#').count();
    let inner = text[1 + hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inner.find(&close).map_or(inner.len(), |end| end + close.len());
    Some(text.len() - inner.len() + end)
}

/// Whether a quote begins a character literal; a lifetime has no closing quote.
fn is_char(text: &str) -> bool {
    let mut inner = text.chars().skip(1);
    matches!((inner.next(), inner.next()), (Some('\\'), _) | (_, Some('\'')))
}

#[test]
fn code_keeps_everything_but_comments_literals_and_tests() {
    for (text, expected) in [
        ("use a; // use b", "use a; "),
        ("/* a /* b */ c */use d;", " use d;"),
        (r#"x("http://a", '"', '\'', b"\"//"); y"#, r#"x("", ' ', ' ', b""); y"#),
        ("x(r#\"a \" // \"#, br\"\\\"); y", "x(\"\", b\"\"); y"),
        ("fn f<'a>(x: &'a str) {} // '", "fn f<'a>(x: &'a str) {} "),
        ("for r in bar {}", "for r in bar {}"),
        ("#[cfg(test)]\nconst X: u8 = 1;\nuse a;", "#[cfg(test)]\nconst X: u8 = 1;\nuse a;"),
        ("#[cfg(test)]\nmod hostile;\nuse a;", "\nuse a;"),
        ("#[cfg(test)]\nmod tests { fn f() { \"}\" } }\nuse a;", "\nuse a;"),
    ] {
        assert_eq!(code(text), expected, "{text}");
    }
}
