//! Loops of built-in functions, which the engine can't interrupt.

use std::time::{Duration, Instant};

use tool_dynamic::{JavaScript, ToolBackend, ToolSpec};
use tool_runtime::{ToolContext, ToolErrorKind};

use super::{Attack, all_at_once, violations};
use crate::fixture::{run, script};

/// Bodies whose loops would run in native code for hours.
const NATIVE: &[Attack] = &[
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
        "search in an iterator",
        "Array.prototype.values.call({ length: 2 ** 53 - 1 }).includes(1);",
        "time limit",
    ),
    (
        "search behind items",
        "Array.prototype.values.call({ length: 2 ** 53 - 1 }).includes(1, Infinity);",
        "time limit",
    ),
    (
        "joined iterator",
        "Array.prototype.values.call({ length: 2 ** 53 - 1 }).join('');",
        "time limit",
    ),
    (
        "set of holes",
        "new Set(Array.prototype.values.call({ length: 2 ** 53 - 1 }));",
        "time limit",
    ),
    ("search", "'a'.repeat(2e5).indexOf('a'.repeat(1e5) + 'b');", "limited to"),
    (
        "search for an object",
        "'a'.repeat(2e5).split({ toString: () => 'a'.repeat(1e5) + 'b' });",
        "limited to",
    ),
    ("search backwards", "'a'.repeat(2e5).lastIndexOf('b' + 'a'.repeat(1e5));", "limited to"),
    ("replacement", "'a'.repeat(2e5).replaceAll('a'.repeat(1e5) + 'b', '');", "limited to"),
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
    ("ordered characters", "'\\u0301\\u0327'.repeat(1e5).normalize();", "limited to 30000"),
    (
        "compared characters",
        "'\\u0301\\u0327'.repeat(1e5).localeCompare('');",
        "`localeCompare` is limited to 30000",
    ),
    (
        "comparison with characters",
        "''.localeCompare({ toString: () => '\\u0301\\u0327'.repeat(1e5) });",
        "`localeCompare` is limited to 30000",
    ),
    (
        "replaced text",
        "'a'.repeat(1e5).replaceAll('a', '$$'.repeat(1e5));",
        "`replaceAll` is limited",
    ),
    (
        "replaced pattern",
        "'a'.repeat(1e5).replace(/a/g, '$$'.repeat(1e5));",
        "`replace` is limited",
    ),
    (
        "replaced by an object",
        "/a/g[Symbol.replace]('a'.repeat(1e5), { toString: () => '$$'.repeat(1e5) });",
        "`replace` is limited",
    ),
    ("sum of keys", "Math.sumPrecise(Array.prototype.keys.call({ length: 2 ** 53 - 1 }));", "time"),
];

/// Outputs and texts whose conversion would take hours.
const OUTPUTS: [&str; 6] = [
    "const a = []; a.length = 2 ** 32 - 1; return [a, a, a];",
    "const a = []; a.length = 2 ** 32 - 1; console.log(a);",
    "const a = Array(2e5).fill(''); const b = Array(2e5).fill(a); return b;",
    "const o = {}; for (let i = 0; i < 1e4; i++) o['k' + i] = 1;
     return JSON.stringify(Array(1e5).fill(o), Array.from({ length: 1e5 }, (_, i) => 'k' + i));",
    "return String.raw({ raw: { length: 2 ** 53 - 1 } });",
    "return '\u{301}\u{327}'.repeat(2e6).normalize('NFC');",
];

/// Calls of a method with keys that never end.
const SETS: [&str; 6] = [
    "new Set().union(endless)",
    "new Set([1]).intersection(endless)",
    "new Set([1]).difference(endless)",
    "new Set().symmetricDifference(endless)",
    "new Set([undefined]).isSupersetOf(endless)",
    "new Set([1]).isDisjointFrom(endless)",
];

/// Changes of what guards could use.
const POLLUTION: &str = "
    const change = (target, name, value) => {
        try { Object.defineProperty(target, name, { value, writable: true }); } catch {}
    };
    for (const name of ['apply', 'getOwnPropertyDescriptor', 'defineProperty']) {
        change(Reflect, name, () => ({ value: 1 }));
    }
    change(Object, 'hasOwn', () => true);
    change(Object, 'getOwnPropertyDescriptor', () => ({ value: 1 }));
    change(Array, 'isArray', () => false);
    change(Function.prototype, 'apply', () => 1);
    change(Object.prototype, 'value', 1);
    change(Object.prototype, 'length', 1);
    change(Number, Symbol.hasInstance, () => true);
    change(globalThis, 'RangeError', function () { return {}; });
    change(globalThis, 'Number', () => 1);
    change(RegExp.prototype, 'flags', '');
    change(globalThis, 'Object', v => v);
";

/// Runs a body, and returns it if it succeeds or if its thread does not end.
async fn unstopped(body: String) -> Option<String> {
    let backend = JavaScript::new().max_concurrent(1);
    let build = async |spec: ToolSpec| backend.build(&spec.check().unwrap()).await.unwrap();
    let next = build(script("return 6 * 7;")).await;
    let endless = build(script(&body).timeout_seconds(1)).await;
    if endless.call("{}".into(), &ToolContext::default()).await.is_ok() {
        return Some(format!("it returned: {}", body.replace(POLLUTION, "")));
    }
    // A script can run when the thread of the other one has ended.
    let end = Instant::now() + Duration::from_secs(60);
    while let Err(error) = next.call("{}".into(), &ToolContext::default()).await {
        assert_eq!(error.kind(), ToolErrorKind::TransientFailure, "{error}");
        if Instant::now() >= end {
            return Some(format!("its thread is stuck: {}", body.replace(POLLUTION, "")));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    None
}

/// Runs bodies, and returns those that are not stopped.
async fn all_unstopped(bodies: impl IntoIterator<Item = String>) -> Vec<String> {
    all_at_once(bodies.into_iter().map(unstopped)).await
}

#[tokio::test]
async fn native_loops_are_refused_or_interrupted() {
    let violations = violations(NATIVE).await;
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[tokio::test]
async fn native_loops_leave_no_thread_behind() {
    let keys = "() => Array.prototype.values.call({ length: 2 ** 53 - 1 })";
    let sets = SETS
        .map(|call| format!("const endless = {{ size: 0, has() {{}}, keys: {keys} }}; {call};"));
    let iterators = ["includes(1)", "join('')"]
        .map(|call| format!("Array.prototype.values.call({{ length: 2 ** 53 - 1 }}).{call};"));
    let bodies = OUTPUTS.map(str::to_owned).into_iter().chain(sets).chain(iterators);
    let unstopped = all_unstopped(bodies).await;
    assert!(unstopped.is_empty(), "{}", unstopped.join("\n"));
}

#[tokio::test]
async fn changed_built_ins_do_not_open_the_guards() {
    let harmless = run(&script(&format!("{POLLUTION}return 6 * 7;")), "{}").await.unwrap();
    assert_eq!(harmless.as_text(), "42");
    let bodies = NATIVE.iter().map(|(_, body, _)| format!("{POLLUTION}{body}"));
    let unstopped = all_unstopped(bodies).await;
    assert!(unstopped.is_empty(), "{}", unstopped.join("\n"));
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
        ("[...[1, 2, 3, 4].values().map(n => n + 1).filter(n => n > 2).take(2)]", "[3,4]"),
        ("[...[1, 2, 3].values().flatMap((n, at) => [n, at])]", "[1,0,2,1,3,2]"),
        ("[...[1, 2, 3].values().chunks(2)]", "[[1,2],[3]]"),
        ("[...[1, 2, 3].values().windows(2)]", "[[1,2],[2,3]]"),
        ("[...Iterator.concat([1], new Set([2]), [3].values().map(n => n * 2))]", "[1,2,6]"),
        (
            "[...Iterator.from('ab'), ...Iterator.from([1]), ...Iterator.from([2].values())]",
            r#"["a","b",1,2]"#,
        ),
        (
            "(() => { let n = 0; const it = { next: () => ({ done: n > 1, value: n++ }), return: () => \
             ({ n }) }; return [...Iterator.from(it).map(n => n * 2), Iterator.from(it).return().n]; })()",
            "[0,2,3]",
        ),
        ("(() => { const all = [1].values(); return Iterator.from(all) === all; })()", "true"),
        (
            "(() => { const log = []; const all = { __proto__: Iterator.prototype, next: () => ({ done: \
             false, value: 1 }), return: () => (log.push('closed'), {}) }; all.take(1).toArray(); \
             all.map(n => n).return(); return log; })()",
            r#"["closed","closed"]"#,
        ),
        (
            "[5, null, {}, ''].map(item => { try { Iterator.from(item); return 1; } catch (e) { return \
             e.name; } })",
            r#"["TypeError","TypeError",1,1]"#,
        ),
        ("[[1, 2].values().includes(2), [2, 1].values().includes(2, 1)]", "[true,false]"),
        ("[[1, null, 'a'].values().join('-'), [1, 2].values().join()]", r#"["1--a","1,2"]"#),
        (
            "(() => { const all = [1, 2, 3].values(); return [all.includes(2), ...all]; })()",
            "[true,3]",
        ),
        (
            "(() => { const all = (function* () { try { yield 1; yield 2; } finally { log.push(0); \
             } })(); const log = []; return [all.includes(1), all.next().done, log]; })()",
            "[true,true,[0]]",
        ),
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
        ("['a'.localeCompare('b'), 'é'.localeCompare('e\\u0301')]", "[-1,0]"),
        (
            "['a.b'.replace(/\\.(.)/, '$1$1-$$'), 'aa'.replace(/a/g, c => c + 'x')]",
            r#"["abb-$","axax"]"#,
        ),
        ("[...new Set([1, 2]).union(new Set([3]))]", "[1,2,3]"),
        ("[...new Set([1, 2]).intersection(new Map([[2, 'x']]))]", "[2]"),
        ("[...new Set([1, 2]).difference(new Set([2, 3]))]", "[1]"),
        ("[...new Set([1, 2]).symmetricDifference(new Set([2, 3]))]", "[1,3]"),
        (
            "['isSubsetOf', 'isSupersetOf', 'isDisjointFrom'].map(it => new Set([1])[it](new Set([1, 2])))",
            "[true,false,false]",
        ),
        ("Math.sumPrecise(new Set([0.1, 0.2, 1e20, -1e20]))", "0.30000000000000004"),
        ("['abab'.replaceAll('a', m => m + 'x'), 'a1'.replace(/\\d/g, '_')]", r#"["axbaxb","a_"]"#),
    ] {
        let output = run(&script(&format!("return {expression};")), "{}").await.unwrap();
        assert_eq!(output.as_text(), expected, "{expression}");
    }
}
