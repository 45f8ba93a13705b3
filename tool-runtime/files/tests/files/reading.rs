//! The tool `file_read`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::Command;

use serde_json::{Value, json};
use tool_runtime::{Policy, ToolCall};

use super::fixture::Fixture;

#[tokio::test]
async fn lines_are_numbered_and_limited() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\ntwo\nthree\n");
    for (arguments, expected) in [
        (json!({ "path": "a.txt" }), "1\tone\n2\ttwo\n3\tthree"),
        (
            json!({ "path": "./a.txt", "offset": 2, "limit": 1 }),
            "2\ttwo\n[more lines follow: continue with `offset` 3]",
        ),
        (json!({ "path": "a.txt", "offset": 3 }), "3\tthree"),
        (json!({ "path": "a.txt", "column": 3, "limit": 3 }), "1\te\n2\to\n3\tree"),
    ] {
        assert_eq!(fixture.text("file_read", arguments.clone()).await, expected, "{arguments}");
    }
    let error = fixture.error("file_read", json!({ "path": "a.txt", "offset": 9 })).await;
    assert_eq!(error, "`a.txt` has 3 lines: send a smaller `offset`.");
}

#[tokio::test]
async fn content_is_decoded_or_refused() {
    let fixture = Fixture::new();
    let utf16: Vec<_> = "\u{FEFF}Tromsø\nBodø".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, content, expected) in [
        ("empty", &b""[..], "[the file is empty]"),
        ("bom", b"\xEF\xBB\xBFa", "1\ta"),
        ("utf16", &utf16, "1\tTromsø\n2\tBodø\n[decoded from UTF-16LE]"),
        (
            "latin",
            b"D\xE9j\xE0 vu \xE0 l'\xE9t\xE9, tr\xE8s fran\xE7ais",
            "1\tDéjà vu à l'été, très français\n[decoded from windows-1252]",
        ),
        ("crlf", b"a\r\nb\r\n", "1\ta\n2\tb\n[lines end with CRLF]"),
        ("crlf_at_last", b"a\r\nb", "1\ta\n2\tb\n[lines end with CRLF]"),
        ("mixed", b"a\r\nb\nc\r\n", "1\ta\n2\tb\n3\tc\n[line ends are mixed: CRLF and LF]"),
        ("no_break", b"a\nb", "1\ta\n2\tb"),
    ] {
        fixture.write(name, content);
        assert_eq!(fixture.text("file_read", json!({ "path": name })).await, expected, "{name}");
    }
    fixture.write("program", b"\x7FELF\x02\x01\x01\0\0");
    let error = fixture.error("file_read", json!({ "path": "program" })).await;
    assert_eq!(error, "`program` is a binary file of 9 bytes, not text.");
    let error = fixture.error("file_read", json!({ "path": "." })).await;
    assert_eq!(error, "`.` is a folder, not a file.");
    let error = fixture.error("file_read", json!({ "path": "missing" })).await;
    assert_eq!(error, "`missing` does not exist.");
}

#[tokio::test]
async fn images_are_parts_for_the_model() {
    let fixture = Fixture::new();
    fixture.write("chart.png", b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR");
    let execution = fixture.call("file_read", json!({ "path": "chart.png" })).await;
    assert_eq!(execution.result.text, "chart.png: image/png, 16 bytes");
    let part = serde_json::to_value(&execution.result.parts[0]).unwrap();
    let image =
        json!({ "type": "image", "media_type": "image/png", "base64": "iVBORw0KGgoAAAANSUhEUg==" });
    assert_eq!(part, image);
}

#[tokio::test]
async fn long_files_and_lines_say_how_to_continue() {
    let fixture = Fixture::new();
    fixture.write("long.txt", "x\n".repeat(5000));
    let mut offset = 1;
    let mut lines = 0;
    loop {
        let arguments = json!({ "path": "long.txt", "offset": offset });
        let text = fixture.text("file_read", arguments).await;
        lines += text.lines().filter(|line| !line.starts_with('[')).count();
        let Some(next) = text.split("continue with `offset` ").nth(1) else { break };
        offset = next.trim_end_matches(']').parse().unwrap();
    }
    assert_eq!(lines, 5000);
    fixture.write("wide.txt", format!("{}end", "ø".repeat(4000)));
    let text = fixture.text("file_read", json!({ "path": "wide.txt" })).await;
    let note = "[line 1 has 2003 more characters: continue with `offset` 1, `limit` 1 and \
                `column` 2001]";
    assert_eq!(text.lines().last(), Some(note));
    let arguments = json!({ "path": "wide.txt", "offset": 1, "limit": 1, "column": 4001 });
    assert_eq!(fixture.text("file_read", arguments).await, "1\tend");
}

#[tokio::test]
async fn secret_is_not_returned_in_parts() {
    let fixture = Fixture::new();
    let secret = "k3y-0f-th3-h0us3";
    fixture.write("a.txt", format!("{}{secret}{}", "-".repeat(3000), "+".repeat(3000)));
    let policy = Policy::new().secrets([secret]);
    let dispatcher = super::fixture::dispatcher(&fixture.files, policy);
    let text = async |tool: &str, arguments: Value| {
        let call = ToolCall::new("1", tool, arguments.to_string());
        let execution = dispatcher.dispatch(vec![call]).await.remove(0);
        assert!(execution.is_success(), "{}", execution.result.text);
        execution.result.text
    };
    for column in (990..1030).chain(2990..3030) {
        let read = text("file_read", json!({ "path": "a.txt", "column": column })).await;
        let line = read.lines().next().unwrap().replace("[redacted]", "");
        assert!(!line.contains(char::is_alphabetic), "{column}: {line}");
    }
    // The excerpt begins 100 bytes before the match.
    for length in (80..110).chain(180..220) {
        let after = "+".repeat(length);
        fixture
            .write("b.txt", format!("{:-<900}{secret}{after}MATCH{after}{secret}{:-<900}", "", ""));
        let lines = text("grep", json!({ "path": "b.txt", "pattern": "MATCH" })).await;
        let line = lines.split("text: ").last().unwrap();
        let line = line.replace("[redacted]", "").replace("MATCH", "");
        assert!(!line.contains(char::is_alphabetic), "{length}: {line}");
    }
}

/// Returns the most memory that the process has had, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn reset_peak_memory() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

async fn read_large_file(bytes: u64) {
    let fixture = Fixture::new();
    let mut file = BufWriter::new(File::create(fixture.path("large.log")).unwrap());
    let lines = bytes / 512;
    for line in 0..lines {
        writeln!(file, "{line:0511}").unwrap();
    }
    drop(file);
    fixture.write("wide.log", "");
    let wide = File::create(fixture.path("wide.log")).unwrap();
    wide.set_len(0).unwrap();
    let mut wide = BufWriter::new(wide);
    for _ in 0..bytes / 65_536 {
        wide.write_all(&[b'x'; 65_536]).unwrap();
    }
    drop(wide);
    reset_peak_memory();
    let before = peak_memory();
    let arguments = json!({ "path": "large.log", "offset": lines - 1 });
    let text = fixture.text("file_read", arguments).await;
    let (first, last) = (lines - 2, lines - 1);
    assert_eq!(text, format!("{last}\t{first:0511}\n{lines}\t{last:0511}"));
    let text = fixture.text("file_read", json!({ "path": "wide.log" })).await;
    let characters = bytes - 2000;
    assert!(text.contains(&format!("line 1 has {characters} more characters")), "{text}");
    let memory_growth = peak_memory() - before;
    assert!(memory_growth < 48 * 1024, "{memory_growth} KiB for {bytes} bytes");
    println!("{bytes} bytes: {memory_growth} KiB");
}

#[tokio::test]
#[ignore = "another test runs it, in a process without other tests"]
async fn large_file_is_read_alone() {
    read_large_file(64 * 1024 * 1024).await;
}

#[test]
fn large_file_is_read_in_constant_memory() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "reading::large_file_is_read_alone", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains(" bytes: "), "{text}");
}

#[tokio::test]
#[ignore = "writes two files of 1 GB"]
async fn gigabyte_is_read_in_constant_memory() {
    read_large_file(1024 * 1024 * 1024).await;
}
