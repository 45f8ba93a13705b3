//! Bodies that attack the program. None gets through, and none stops it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tool_dynamic::{JavaScript, Pieces, ToolBackend};
use tool_runtime::{ToolContext, ToolErrorKind};

use super::fixture::{run, script};

/// Bodies that have to fail, with a part of the text that the model receives.
const STOPPED: &[(&str, &str, &str)] = &[
    ("infinite loop", "while (true) {}", "time limit"),
    ("loop that catches", "while (true) { try { while (true) {} } catch {} }", "time limit"),
    ("loop in finally", "try { while (true) {} } finally { while (true) {} }", "time limit"),
    ("regular expression", "return /^(a+)+$/.test('a'.repeat(40) + '!');", "time limit"),
    ("endless microtasks", "const f = () => Promise.resolve().then(f); await f();", ""),
    (
        "forking microtasks",
        "const f = () => { Promise.resolve().then(f); Promise.resolve().then(f); }; f(); await new \
         Promise(() => {});",
        "",
    ),
    (
        "loop in a microtask",
        "Promise.resolve().then(() => { while (true) {} }); await 0;",
        "time limit",
    ),
    ("promise that never resolves", "await new Promise(() => {});", "never resolves"),
    ("list bomb", "const a = []; while (true) a.push(new Array(1000).fill(7));", ""),
    ("text bomb", "let s = 'x'; while (true) s += s;", ""),
    ("long text", "return 'x'.repeat(2 ** 28);", ""),
    ("large buffer", "return new ArrayBuffer(2 ** 30).byteLength;", ""),
    ("large shared buffer", "return new SharedArrayBuffer(2 ** 30).byteLength;", ""),
    ("many buffers", "const a = []; while (true) a.push(new ArrayBuffer(1e6));", ""),
    ("large integer", "let n = 7n; while (true) n *= n;", ""),
    ("sort bomb", "return Array.from({ length: 3e6 }, (_, i) => -i).sort().length;", ""),
    ("deep recursion", "const f = n => f(n + 1) + 1; return f(0);", "stack"),
    (
        "deep recursion of a getter",
        "const o = { get a() { return this.a; } }; return o.a;",
        "stack",
    ),
    ("deep JSON", "return JSON.parse('['.repeat(1e6));", ""),
    ("deep output", "let a = []; for (let i = 0; i < 1000; i++) a = [a]; return a;", ""),
    ("cyclic output", "const a = {}; a.a = a; return a;", "circular"),
    ("giant output", "return 'x'.repeat(300000);", "at most 262144"),
    ("giant object", "return Array(100000).fill('xyz');", "at most 262144"),
    ("getter in the output", "return { get a() { while (true) {} } };", "time limit"),
    ("getter that throws", "return { get a() { throw new Error('got'); } };", "got"),
    (
        "proxy in the output",
        "return new Proxy({}, { ownKeys() { while (true) {} } });",
        "Proxy is not defined",
    ),
    ("toJSON loop", "return { toJSON() { while (true) {} } };", "time limit"),
    ("then in the output", "return { then() { while (true) {} } };", "time limit"),
    ("hostile error", "throw { toString() { while (true) {} } };", "time limit"),
    (
        "hostile message",
        "const e = new Error(''); Object.defineProperty(e, 'message', { get() { while (true) {} } \
         }); throw e;",
        "time limit",
    ),
    ("giant message", "throw new Error('x'.repeat(1e6));", ""),
    ("lone surrogate", "return { a: '\\ud800' };", "JSON"),
    ("blocking wait", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9);", ""),
    ("import of a module", "return await import('fs');", ""),
    ("import of a file", "return await import('/etc/passwd');", ""),
    // Native loops, which the engine can't interrupt.
    ("reversed object", "Array.prototype.reverse.call({ length: 2 ** 53 - 1 });", "limited to"),
    ("joined object", "Array.prototype.join.call({ length: 2 ** 53 - 1 }, '');", "limited to"),
    ("shifted object", "Array.prototype.shift.call({ length: 2 ** 53 - 1 });", "limited to"),
    (
        "object with two lengths",
        "let n = 0; Array.prototype.reverse.call({ get length() { return n++ ? 2 ** 53 - 1 : 1; } });",
        "limited to",
    ),
    (
        "length that is an object",
        "let n = 0; Array.prototype.reverse.call({ length: { valueOf: () => n++ ? 2 ** 53 - 1 : 1 } });",
        "limited to",
    ),
    (
        "inherited descriptor",
        "Object.prototype.value = 5; let n = 0; Array.prototype.reverse.call({ get length() { return \
         n++ ? 2 ** 53 - 1 : 1; } });",
        "limited to",
    ),
    ("sorted hole", "const a = []; a.length = 2 ** 32 - 1; a.sort();", "limited to"),
    ("spliced hole", "const a = []; a.length = 2 ** 32 - 1; a.splice(0, 2 ** 31);", "limited to"),
    ("concatenated hole", "const a = []; a.length = 2 ** 32 - 1; [].concat(a);", "time limit"),
    ("flattened hole", "const a = []; a.length = 2 ** 32 - 1; [a].flat();", "time limit"),
    ("mapped hole", "const a = []; a.length = 2 ** 32 - 1; a.flatMap(n => n);", "time limit"),
    ("filtered hole", "const a = []; a.length = 2 ** 32 - 1; a.filter(n => n);", "time limit"),
    (
        "skipped items",
        "Array.prototype.values.call({ length: 2 ** 53 - 1 }).drop(2 ** 53 - 2).next();",
        "limited to",
    ),
    (
        "set of holes",
        "new Set(Array.prototype.values.call({ length: 2 ** 53 - 1 }));",
        "time limit",
    ),
    ("search", "'a'.repeat(8e6).indexOf('a'.repeat(4e6) + 'b');", "limited to"),
    (
        "search for an object",
        "'a'.repeat(8e6).split({ toString: () => 'a'.repeat(4e6) + 'b' });",
        "limited to",
    ),
    ("search backwards", "'a'.repeat(8e6).lastIndexOf('b' + 'a'.repeat(4e6));", "limited to"),
    ("replacement", "'a'.repeat(8e6).replaceAll('a'.repeat(4e6) + 'b', '');", "limited to"),
    (
        "output of holes",
        "const a = []; a.length = 2 ** 32 - 1; return { a: [[a]] };",
        "`stringify` is limited to",
    ),
    (
        "text of holes",
        "const a = []; a.length = 2 ** 32 - 1; JSON.stringify({ a }, ['a']);",
        "`stringify` is limited to",
    ),
    (
        "holes of a replacer",
        "const a = []; a.length = 2 ** 32 - 1; JSON.stringify([1], (key, item) => key ? a : item);",
        "`stringify` is limited to",
    ),
    ("raw text", "String.raw({ raw: { length: 2 ** 53 - 1 } });", ""),
    ("ordered characters", "'\\u0301\\u0327'.repeat(1e6).normalize();", "limited to 30000"),
    ("console loop", "console.log({ toJSON() { while (true) {} } });", "time limit"),
];

#[tokio::test]
async fn hostile_bodies_are_stopped() {
    let mut violations = Vec::new();
    for (name, body, expected) in STOPPED {
        let started = Instant::now();
        let result = run(&script(body).timeout_seconds(1), "{}").await;
        let text = match &result {
            Ok(output) => format!("returned {}", output.as_text().len()),
            Err(error) => error.text().to_owned(),
        };
        let is_slow = started.elapsed() > Duration::from_secs(30);
        if result.is_ok() || !text.contains(expected) || text.len() > 4_000 || is_slow {
            violations.push(format!("{name} after {:?}: {text}", started.elapsed()));
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[tokio::test]
async fn body_finds_no_way_out() {
    for name in [
        "require",
        "process",
        "fetch",
        "XMLHttpRequest",
        "WebSocket",
        "Worker",
        "Deno",
        "Bun",
        "std",
        "os",
        "bjson",
        "print",
        "load",
        "loadScript",
        "scriptArgs",
        "WebAssembly",
        "setTimeout",
        "call_tool",
    ] {
        let pieces = script(&format!("return typeof globalThis['{name}'];"));
        assert_eq!(run(&pieces, "{}").await.unwrap().as_text(), "undefined", "{name}");
    }
}

#[tokio::test]
async fn changed_built_ins_do_not_reach_the_host() {
    let pollution = "
        Object.prototype.then = function (f) { f('stolen'); };
        Array.prototype.includes = () => true;
        String.prototype.toString = () => 'wipe';
        Map.prototype.get = Set.prototype.has = () => true;
        JSON.stringify = () => '{\"n\": 1}';
        Promise.prototype.then = null;
        try { globalThis.call_tool = () => 1; } catch {}
        try { console.log = () => 1; } catch {}
        try { call_tool.tools = ['wipe']; } catch {}
    ";
    let attempt = "try { return await call_tool('wipe'); } catch (e) { return e.message; }";
    let body = format!("{pollution} {attempt}");
    let pieces = script(&body).tool("double").timeout_seconds(1);
    let result = run(&pieces, "{}").await;
    let text = result.map_or_else(|error| error.text().to_owned(), |output| output.into_text());
    assert!(text.contains("can't be called"), "{text}");
}

#[tokio::test]
async fn program_continues_after_every_attack() {
    for (name, body, _) in STOPPED.iter().filter(|(name, ..)| name.contains("bomb")) {
        run(&script(body).timeout_seconds(1), "{}").await.expect_err(name);
        let output = run(&script("return 6 * 7;"), "{}").await.unwrap();
        assert_eq!(output.as_text(), "42");
    }
}

/// Bodies whose loops would run in native code for hours.
const ENDLESS: [&str; 6] = [
    "const a = []; a.length = 2 ** 32 - 1; return [a, a, a];",
    "const a = []; a.length = 2 ** 32 - 1; console.log(a);",
    "const a = Array(2e5).fill(''); const b = Array(2e5).fill(a); return b;",
    "const o = {}; for (let i = 0; i < 1e4; i++) o['k' + i] = 1;
     return JSON.stringify(Array(1e5).fill(o), Array.from({ length: 1e5 }, (_, i) => 'k' + i));",
    "return String.raw({ raw: { length: 2 ** 53 - 1 } });",
    "return '\u{301}\u{327}'.repeat(2e6).normalize('NFC');",
];

#[tokio::test]
async fn native_loops_leave_no_thread_behind() {
    let backend = JavaScript::new().max_running(1);
    let build = async |pieces: Pieces| backend.build(&pieces.check().unwrap()).await.unwrap();
    let next = build(script("return 6 * 7;")).await;
    for body in ENDLESS {
        let endless = build(script(body).timeout_seconds(1)).await;
        let result = endless.call("{}".into(), &ToolContext::default()).await;
        assert!(result.is_err(), "{body}");
        // A script can run when the thread of the other one has ended.
        let end = Instant::now() + Duration::from_secs(60);
        while let Err(error) = next.call("{}".into(), &ToolContext::default()).await {
            assert_eq!(error.kind(), ToolErrorKind::Transient, "{error}");
            assert!(Instant::now() < end, "a thread is stuck: {body}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn console_keeps_a_part_of_values_that_share_a_text() {
    // 1 TB, if all of it was kept.
    let body = "console.log(...Array(60000).fill('x'.repeat(1 << 24))); return 1;";
    let output = run(&script(body), "{}").await.unwrap();
    assert_eq!(output.as_text(), "1");
    let console = output.parts()[0].as_text().unwrap();
    assert!(console.len() < 9_000 && console.ends_with("(the rest is omitted)"), "{console}");
}

#[tokio::test]
async fn guarded_built_ins_do_what_they_did() {
    for (expression, expected) in [
        ("[3, 1, 10, undefined].sort()", "[1,10,3,null]"),
        ("[3, 1, 10].toSorted((a, b) => a - b)", "[1,3,10]"),
        ("[1].concat([2, [3]], 4)", "[1,2,[3],4]"),
        ("[1, [2, [3]]].flat()", "[1,2,[3]]"),
        ("[1, [2, [[3]]]].flat(Infinity)", "[1,2,3]"),
        ("[1, 2].flatMap(n => [n, [n]])", "[1,[1],2,[2]]"),
        ("[1, 2, 3].splice(1, 1)", "[2]"),
        ("[[1, [2, 3]].join('-'), `${[1, [2]]}`]", r#"["1-2,3","1,2"]"#),
        ("Array.prototype.slice.call('abc', 1)", r#"["b","c"]"#),
        ("(function () { return Array.prototype.slice.call(arguments, 1); })(1, 2)", "[2]"),
        ("[...[1, 2, 3].values().drop(1)]", "[2,3]"),
        ("['abc'.indexOf('c'), 'abc'.includes('b', 2), 'aXbX'.lastIndexOf('X')]", "[2,false,3]"),
        ("['a-b'.split('-'), 'ab'.split(''), 'a'.split()]", r#"[["a","b"],["a","b"],["a"]]"#),
        ("String.raw`a${1}\\n${[2]}`", "a1\\n2"),
        ("String.raw({ raw: 'abc' }, 1, 2, 3)", "a1b2c"),
        ("'e\\u0301'.normalize().length + 'x'.normalize('NFD')", "1x"),
        (
            "JSON.stringify({ a: [undefined, () => 1, NaN], b: undefined })",
            r#"{"a":[null,null,null]}"#,
        ),
        (
            "JSON.stringify({ b: 1, a: { c: 2, a: [{ a: 3, b: 4 }] } }, ['a', 'b', 'a'])",
            r#"{"a":{"a":[{"a":3,"b":4}]},"b":1}"#,
        ),
        (
            "JSON.stringify({ a: new Number(1), b: new Date(0), c: [new String('x')] }, ['c', 'a', 'b'])",
            r#"{"c":["x"],"a":1,"b":"1970-01-01T00:00:00.000Z"}"#,
        ),
        ("JSON.stringify({ 1: 5, b: 1 }, [1, {}, null])", r#"{"1":5}"#),
        (
            "JSON.stringify({ a: 1, b: [2] }, function (key, item) { return key === 'a' ? this.b : item; })",
            r#"{"a":[2],"b":[2]}"#,
        ),
        ("JSON.stringify({ a: [1] }, null, 1)", "{\n \"a\": [\n  1\n ]\n}"),
        (
            "[JSON.stringify(undefined), JSON.stringify('x'), JSON.stringify.name]",
            r#"[null,"\"x\"","stringify"]"#,
        ),
        ("['abab'.replaceAll('a', m => m + 'x'), 'a1'.replace(/\\d/g, '_')]", r#"["axbaxb","a_"]"#),
    ] {
        let output = run(&script(&format!("return {expression};")), "{}").await.unwrap();
        assert_eq!(output.as_text(), expected, "{expression}");
    }
}

/// Each of the nested iterators skips items in native code, which takes minutes.
const STUCK: &str = "
    let items = Array.prototype.values.call({ length: 2 ** 53 - 1 });
    for (let i = 0; i < 200; i++) items = items.drop(1e5);
    return items.next().done;";

const CHILD: &str = "TOOL_DYNAMIC_STUCK_CHILD";

#[tokio::test]
#[ignore = "the process that the test below starts"]
async fn child_leaves_a_thread_behind() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let started = Instant::now();
    let error = run(&script(STUCK).timeout_seconds(1), "{}").await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Timeout, "{error}");
    // An interrupt would have ended the script at its time limit.
    assert!(started.elapsed() > Duration::from_millis(1_900), "the script was not stuck");
    assert_eq!(run(&script("return 6 * 7;"), "{}").await.unwrap().as_text(), "42");
}

#[test]
fn call_and_program_end_while_a_thread_is_stuck() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hostile::child_leaves_a_thread_behind", "--ignored"])
        .env(CHILD, "1")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            panic!("the program did not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(status.success());
}
