//! The tools `file_list`, `glob` and `grep`.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};
use tool_runtime::tools;

use super::fixture::Fixture;

fn sources() -> Fixture {
    let fixture = Fixture::new();
    for (path, content) in [
        ("Cargo.toml", "[package]\nname = \"demo\"\n"),
        ("src/lib.rs", "mod deep;\n\npub fn total() -> u32 {\n    deep::sum()\n}\n"),
        ("src/deep/mod.rs", "pub fn sum() -> u32 {\n    7\n}\n"),
        ("src/notes.md", "The SUM of all parts.\n"),
        ("target/out.rs", "fn sum() {}\n"),
        (".hidden.rs", "fn sum() {}\n"),
        (".gitignore", "/target\n*.log\n!keep.log\n"),
        ("run.log", "sum\n"),
        ("keep.log", "sum\n"),
        ("src/.ignore", "*.tmp\n"),
        ("src/a.tmp", "sum\n"),
        ("a.tmp", "sum\n"),
        ("binary", "sum\0sum\n"),
    ] {
        fixture.write(path, content);
    }
    fixture
}

#[tokio::test]
async fn folder_is_listed_by_levels() {
    let fixture = sources();
    let list = fixture.text("file_list", json!({ "path": "src" })).await;
    let expected = "path: src/.ignore | type: file | bytes: 6\n\
                    path: src/a.tmp | type: file | bytes: 4\n\
                    path: src/deep | type: folder\n\
                    path: src/lib.rs | type: file | bytes: 53\n\
                    path: src/notes.md | type: file | bytes: 22";
    assert_eq!(list, expected);
    let arguments = json!({ "path": "src", "depth": 2, "output": "json" });
    let json: Value = serde_json::from_str(&fixture.text("file_list", arguments).await).unwrap();
    assert_eq!(json[3], json!({ "path": "src/deep/mod.rs", "type": "file", "bytes": 30 }));
}

#[tokio::test]
async fn patterns_match_names_or_paths() {
    let fixture = sources();
    for (arguments, expected) in [
        (json!({ "pattern": "*.rs" }), &["src/deep/mod.rs", "src/lib.rs"][..]),
        (json!({ "pattern": "src/*.rs" }), &["src/lib.rs"]),
        (json!({ "pattern": "/src/**" }), &["src/deep/mod.rs", "src/lib.rs", "src/notes.md"]),
        (json!({ "pattern": "*.rs", "path": "src/deep" }), &["src/deep/mod.rs"]),
        (json!({ "pattern": "deep/*", "path": "src" }), &["src/deep/mod.rs"]),
        (json!({ "pattern": "*.{log,tmp}" }), &["a.tmp", "keep.log"]),
        (json!({ "pattern": "*.tmp", "path": "src" }), &[]),
        (json!({ "pattern": "*.log", "all": true }), &["keep.log", "run.log"]),
        (json!({ "pattern": ".hidden*", "all": true }), &[".hidden.rs"]),
        (json!({ "pattern": "!*.{rs,toml,log}" }), &["a.tmp", "binary", "src/notes.md"]),
        (json!({ "pattern": "!deep/**", "path": "src" }), &["src/lib.rs", "src/notes.md"]),
    ] {
        let execution = fixture.call("glob", arguments.clone()).await;
        let rows = execution.structured_value().unwrap();
        let paths: Vec<_> =
            rows.as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect();
        assert_eq!(paths, expected, "{arguments}");
    }
    let error = fixture.error("glob", json!({ "pattern": "[" })).await;
    let expected = "`pattern` is not a valid pattern: unclosed character class; missing ']'.";
    assert_eq!(error, expected);
    for pattern in ["../*.rs", "src/../../*", "!../*"] {
        let error = fixture.error("glob", json!({ "pattern": pattern })).await;
        assert_eq!(error, "`pattern` contains `..`: send a pattern of paths below `path`.");
    }
}

#[tokio::test]
async fn pattern_of_hidden_files_is_answered_by_how_to_include_them() {
    let fixture = sources();
    fixture.write(".github/ci.yml", "sum\n");
    let note = "no results\n[hidden files are left out: set `all` to include them]";
    for (tool, arguments) in [
        ("glob", json!({ "pattern": ".hidden*" })),
        ("glob", json!({ "pattern": ".github/**" })),
        ("grep", json!({ "pattern": "sum", "glob": ".github/*" })),
    ] {
        assert_eq!(fixture.text(tool, arguments.clone()).await, note, "{arguments}");
        let mut arguments = arguments;
        arguments["all"] = true.into();
        assert!(fixture.text(tool, arguments.clone()).await.starts_with("path: ."), "{arguments}");
    }
    for pattern in ["./no*", "!.*", "*.no"] {
        let arguments = json!({ "pattern": pattern, "path": "src/deep" });
        let text = fixture.text("glob", arguments).await;
        assert!(!text.contains("hidden"), "{pattern}: {text}");
    }
}

#[tokio::test]
async fn metadata_of_git_is_searched_only_if_the_path_leads_there() {
    let fixture = sources();
    fixture.write(".git/config", "sum\n");
    fixture.write("src/.git/config", "sum\n");
    for (arguments, expected) in [
        (json!({ "pattern": "sum", "path": ".git", "all": true }), true),
        (json!({ "pattern": "sum", "path": "src/.git/config" }), true),
        (json!({ "pattern": "sum", "all": true }), false),
        (json!({ "pattern": "sum", "path": "src", "all": true }), false),
    ] {
        let text = fixture.text("grep", arguments.clone()).await;
        assert_eq!(text.contains(".git/config"), expected, "{arguments}: {text}");
    }
}

#[tokio::test]
async fn ignore_file_may_begin_with_a_byte_order_mark() {
    let fixture = sources();
    fixture.write(".gitignore", "\u{feff}/target\r\n*.log\r\n");
    let paths = fixture.text("glob", json!({ "pattern": "*.{rs,log}" })).await;
    assert_eq!(paths, "path: src/deep/mod.rs\npath: src/lib.rs");
}

#[tokio::test]
async fn matches_are_listed_with_context_and_filters() {
    let fixture = sources();
    for (arguments, expected) in [
        (
            json!({ "pattern": "fn \\w+", "type": "rust" }),
            "path: src/deep/mod.rs | line: 1 | text: pub fn sum() -> u32 {\n\
             path: src/lib.rs | line: 3 | text: pub fn total() -> u32 {",
        ),
        (
            json!({ "pattern": "7", "context": 1 }),
            "path: src/deep/mod.rs | line: 1 | text: pub fn sum() -> u32 { | context: true\n\
             path: src/deep/mod.rs | line: 2 | text: \"    7\"\n\
             path: src/deep/mod.rs | line: 3 | text: } | context: true",
        ),
        (
            json!({ "pattern": "sum", "ignore_case": true, "glob": "*.md" }),
            "path: src/notes.md | line: 1 | text: The SUM of all parts.",
        ),
        (
            json!({ "pattern": "()", "literal": true, "files_only": true }),
            "path: src/deep/mod.rs | matches: 1\npath: src/lib.rs | matches: 2",
        ),
        (
            json!({ "pattern": "sum", "path": "src/lib.rs" }),
            "path: src/lib.rs | line: 4 | text: \"    deep::sum()\"",
        ),
        // The filters select files of a folder.
        (
            json!({ "pattern": "sum", "path": "src/lib.rs", "glob": "*.rs", "type": "rust" }),
            "path: src/lib.rs | line: 4 | text: \"    deep::sum()\"",
        ),
        (
            json!({ "pattern": "SUM", "path": "src/notes.md", "glob": "src/*", "type": "rust" }),
            "path: src/notes.md | line: 1 | text: The SUM of all parts.",
        ),
        (
            json!({ "pattern": "sum", "ignore_case": true, "path": "src", "glob": "!*.rs" }),
            "path: src/notes.md | line: 1 | text: The SUM of all parts.",
        ),
        (json!({ "pattern": "no such text" }), "no results"),
    ] {
        assert_eq!(fixture.text("grep", arguments.clone()).await, expected, "{arguments}");
    }
    let json = fixture.text("grep", json!({ "pattern": "7", "output": "json" })).await;
    assert_eq!(json, r#"[{"path":"src/deep/mod.rs","line":2,"text":"    7"}]"#);
    for (arguments, expected) in [
        (
            json!({ "pattern": "(" }),
            "`pattern` is not a valid regular expression: unclosed group. Set `literal` ",
        ),
        (
            json!({ "pattern": r"a\nb" }),
            "`pattern` can't contain a line break, which no line has: ",
        ),
        (
            json!({ "pattern": "a\nb", "literal": true }),
            "`pattern` can't contain a line break, which no line has: ",
        ),
        (json!({ "pattern": "a", "type": "no" }), "`type`: `no` is unknown; "),
    ] {
        let error = fixture.error("grep", arguments).await;
        assert!(error.starts_with(expected), "{error}");
    }
}

impl Fixture {
    /// Returns the numbers of the lines that a call of `grep` lists.
    async fn matching_lines(&self, arguments: Value) -> Vec<u64> {
        let rows = self.call("grep", arguments).await.structured_value().unwrap();
        rows.as_array().unwrap().iter().map(|row| row["line"].as_u64().unwrap()).collect()
    }
}

#[tokio::test]
async fn anchors_match_at_each_line() {
    let fixture = Fixture::new();
    fixture.write("unix.txt", "use a;\n  use b;\nuse c\nuse d;");
    fixture.write("windows.txt", "use a;\r\n  use b;\r\nuse c\r\nuse d;\r\n");
    for (pattern, expected) in [
        ("^use", [1, 3, 4]),
        (";$", [1, 2, 4]),
        ("^.*;$", [1, 2, 4]),
        (r"^\s*use [a-c];?$", [1, 2, 3]),
    ] {
        for path in ["unix.txt", "windows.txt"] {
            let arguments = json!({ "pattern": pattern, "path": path });
            let lines = fixture.matching_lines(arguments).await;
            assert_eq!(lines, expected, "{pattern} in {path}");
        }
    }
    fixture.write("blank.txt", "one\n\ntwo\r\n\r\n");
    for (pattern, expected) in
        [("^$", [2, 4]), ("\r", [3, 4]), (r"\r", [3, 4]), (r"\r$", [3, 4]), (r"^\s*$", [2, 4])]
    {
        let arguments = json!({ "pattern": pattern, "path": "blank.txt" });
        assert_eq!(fixture.matching_lines(arguments).await, expected, "{pattern:?}");
    }
}

#[tokio::test]
async fn lists_are_cut_in_order_and_say_so() {
    let fixture = Fixture::new();
    for file in 0..300 {
        fixture.write(&format!("{file:03}.txt"), "match\nother\nmatch\n");
    }
    let text = fixture.text("grep", json!({ "pattern": "match", "limit": 5 })).await;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[4], "path: 002.txt | line: 1 | text: match");
    let advice = "send a narrower `pattern`, `path`, `glob` or `type`";
    let note = format!("[595 of 600 are omitted: {advice}, or a larger `limit`]");
    assert_eq!(lines[5], note);
    // A larger limit would not help.
    fixture.write("many.txt", "other match\n".repeat(5000));
    let arguments = json!({ "pattern": "other match", "limit": 1000 });
    let text = fixture.text("grep", arguments).await;
    assert!(text.ends_with(&format!(" of 5000 are omitted: {advice}]")), "{text}");
    fixture.write("many.txt", format!("other match{}\n", "x".repeat(280)).repeat(5000));
    let arguments = json!({ "pattern": "other match", "limit": 900 });
    let text = fixture.text("grep", arguments).await;
    assert!(text.ends_with(&format!(" of 5000 are omitted: {advice}]")), "{text}");
    fixture.write("wide.txt", format!("{}needle{}", "x".repeat(9000), "y".repeat(9000)));
    let text = fixture.text("grep", json!({ "pattern": "needle" })).await;
    assert!(text.contains("needle") && text.len() < 500, "{text}");
}

#[tokio::test]
async fn lines_near_an_omitted_match_are_omitted() {
    let fixture = Fixture::new();
    let lines: Vec<_> = (1..=20).map(|line| if line % 9 == 1 { "x" } else { "-" }).collect();
    for name in ["a.txt", "b.txt"] {
        fixture.write(name, lines.join("\n"));
    }
    for (limit, expected) in [
        (1, vec![1, 2, 3]),
        (2, vec![1, 2, 3, 8, 9, 10, 11, 12]),
        (4, vec![1, 2, 3, 8, 9, 10, 11, 12, 17, 18, 19, 20, 1, 2, 3]),
    ] {
        let arguments = json!({ "pattern": "x", "context": 2, "limit": limit });
        assert_eq!(fixture.matching_lines(arguments).await, expected, "{limit}");
    }
    // The lines around two matches overlap.
    let arguments = json!({ "pattern": "x", "context": 5, "path": "a.txt", "limit": 2 });
    let expected: Vec<_> = (1..=15).collect();
    assert_eq!(fixture.matching_lines(arguments).await, expected);
}

#[tokio::test]
async fn output_of_lists_has_the_schema_of_its_json() {
    let fixture = sources();
    let registry = tool_runtime::Registry::try_from(tools![..fixture.files.clone()]).unwrap();
    for (tool, arguments) in [
        ("file_list", json!({})),
        ("glob", json!({ "pattern": "*" })),
        ("grep", json!({ "pattern": "sum", "context": 1 })),
        ("grep", json!({ "pattern": "sum", "files_only": true })),
    ] {
        let definition = registry.snapshot().definition(tool).unwrap().clone();
        let schema = definition.output.expect("a schema");
        for output in ["json", "labeled"] {
            let mut arguments = arguments.clone();
            arguments["output"] = output.into();
            let value = fixture.call(tool, arguments).await.structured_value().unwrap();
            assert!(!value.as_array().unwrap().is_empty());
            assert!(schema.check(&value).is_empty(), "{tool} {output}: {value}");
        }
    }
}

/// Compares with ripgrep, if it is installed.
#[tokio::test]
async fn results_equal_those_of_ripgrep() {
    let fixture = sources();
    fixture.write("src/deep/.gitignore", "*.gen\n!a.gen\n/only\nsub/\n");
    for path in
        ["src/deep/b.gen", "src/deep/a.gen", "src/deep/only", "src/deep/x/only", "src/deep/sub/a"]
    {
        fixture.write(path, "sum\n");
    }
    let Ok(ripgrep) = Command::new("rg")
        .args(["--files", "--no-require-git", "--no-ignore-parent", "--no-ignore-global"])
        .current_dir(fixture.path(""))
        .output()
    else {
        return;
    };
    let expected: BTreeSet<_> =
        String::from_utf8(ripgrep.stdout).unwrap().lines().map(str::to_owned).collect();
    let value = fixture.call("glob", json!({ "pattern": "*" })).await.structured_value().unwrap();
    let rows = value.as_array().unwrap().iter();
    let paths: BTreeSet<_> = rows.map(|row| row["path"].as_str().unwrap().to_owned()).collect();
    assert_eq!(paths, expected);
}

#[tokio::test]
async fn pattern_that_takes_much_memory_is_refused() {
    let fixture = sources();
    let error = fixture.error("grep", json!({ "pattern": r"(\w{20}){20}" })).await;
    assert!(error.contains("exceeds size limit of 10485760"), "{error}");
    fixture.text("grep", json!({ "pattern": r"\w{20}|\pL+" })).await;
}
