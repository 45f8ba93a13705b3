//! Bodies that attack the program. None gets through, and none stops it.

mod native_loops;
mod nesting;
mod stuck;
mod values;
mod ways_out;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::fixture::{run, script};

/// The name of an attack, its body, and a part of the text that the model receives.
type Attack = (&'static str, &'static str, &'static str);

/// How many attacks run at the same time. Those that the time limit of a second ends take so long,
/// however many they are.
const AT_ONCE: usize = 24;

/// Endless loops and bombs.
const ENDLESS: &[Attack] = &[
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
    ("blocking wait", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9);", ""),
    ("import of a module", "return await import('fs');", ""),
    ("import of a file", "return await import('/etc/passwd');", ""),
    ("endless generator", "for (const n of (function* () { while (true) yield 1; })()) {}", "time"),
    ("list of a generator", "return [...(function* () { while (true) yield 'x'; })()];", ""),
    (
        "endless asynchronous generator",
        "for await (const n of (async function* () { while (true) yield 1; })()) {}",
        "time limit",
    ),
    ("generator of itself", "function* f() { yield* f(); } return [...f()];", ""),
    ("flood of promises", "const all = []; while (true) all.push(Promise.reject(1));", ""),
    ("chain of promises", "let p = Promise.resolve(); while (true) p = p.then(() => p);", ""),
    ("flood of microtasks", "const f = () => { while (true) queueMicrotask(f); }; f();", ""),
    ("promise of a hostile object", "const t = { then(r) { r(t); } }; await t;", "time limit"),
    ("nested groups", "new RegExp('('.repeat(1e6));", ""),
    ("repeated groups", "/^(?:(?:a*)*)*$/.test('a'.repeat(1e4) + '!');", "time limit"),
    ("growing buffer", "return new ArrayBuffer(8, { maxByteLength: 2 ** 40 }).maxByteLength;", ""),
    ("power of integers", "return 7n ** 7n ** 20n;", ""),
    ("shifted integer", "return 1n << (1n << 40n);", ""),
    ("integer in words", "while (true) (7n ** 9000n).toString();", "time limit"),
    ("deep prototypes", "let o = {}; while (true) o = Object.create(o);", ""),
    ("cloned functions", "const all = []; while (true) all.push(Function('return 1'));", ""),
];

/// Runs attacks, and returns those whose bodies returned, took long, or failed with another text.
async fn violations(attacks: &[Attack]) -> Vec<String> {
    all_at_once(attacks.iter().map(|attack| violation(*attack))).await
}

/// Runs futures, [`AT_ONCE`] of them at the same time, and returns what they found.
async fn all_at_once(
    futures: impl IntoIterator<Item = impl Future<Output = Option<String>> + Send + 'static>,
) -> Vec<String> {
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let in_slot = |future| {
        let slots = Arc::clone(&slots);
        async move {
            let _slot = slots.acquire().await.unwrap();
            future.await
        }
    };
    let running: JoinSet<_> = futures.into_iter().map(in_slot).collect();
    running.join_all().await.into_iter().flatten().collect()
}

async fn violation((name, body, expected): Attack) -> Option<String> {
    let started = Instant::now();
    // The others end by themselves, also on a busy machine.
    let seconds = if expected.is_empty() || expected.starts_with("time") { 1 } else { 20 };
    let result = run(&script(body).tool("x").timeout_seconds(seconds), "{}").await;
    let text = match &result {
        Ok(output) => format!("returned {}", output.as_text().len()),
        Err(error) => error.text().to_owned(),
    };
    let is_slow = started.elapsed() > Duration::from_secs(30);
    let is_held = result.is_err() && text.contains(expected) && text.len() <= 4_000 && !is_slow;
    (!is_held).then(|| format!("{name} after {:?}: {text}", started.elapsed()))
}

#[tokio::test]
async fn endless_bodies_are_stopped() {
    let violations = violations(ENDLESS).await;
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[tokio::test]
async fn program_continues_after_every_attack() {
    for (name, body, _) in ENDLESS.iter().filter(|(name, ..)| name.contains("bomb")) {
        run(&script(body).timeout_seconds(1), "{}").await.expect_err(name);
        let output = run(&script("return 6 * 7;"), "{}").await.unwrap();
        assert_eq!(output.as_text(), "42");
    }
}
