//! Access beyond what a body is given.

use crate::fixture::{run, script};

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
        let spec = script(&format!("return typeof globalThis['{name}'];"));
        assert_eq!(run(&spec, "{}").await.unwrap().as_text(), "undefined", "{name}");
    }
}

/// Expressions that reach another scope or realm where an engine lets them, and their values.
const SCOPES: [(&str, &str); 10] = [
    ("Function('return typeof process + typeof request + typeof waiting')()", "undefined"),
    ("(async () => {}).constructor('return typeof settle + typeof body')()", "undefined"),
    ("(function* () {}).constructor('yield typeof log')().next().value", "undefined"),
    ("(0, eval)('typeof request_fetch + typeof stringify')", "undefined"),
    ("eval('typeof NativePromise')", "undefined"),
    ("(() => { try { return arguments.callee; } catch { return 'undefined'; } })()", "undefined"),
    ("Function('return this')() === globalThis && typeof globalThis.call_tool", "undefined"),
    ("(function () { return `${this}`; })()", "undefined"),
    ("`${Object.getOwnPropertyNames(console.log).includes('caller')}undefined`", "undefined"),
    ("typeof Intl + typeof SharedWorker + typeof gc + typeof WeakRef.prototype.realm", "undefined"),
];

#[tokio::test]
async fn generated_code_reaches_no_other_scope() {
    for (expression, expected) in SCOPES {
        let body = format!("return String(await ({expression}));");
        let output = run(&script(&body), "{}").await.unwrap();
        let rest = output.as_text().replace(expected, "").replace("false", "");
        assert_eq!(rest, "", "{expression}");
    }
}

/// The global names of a body without tools that are not part of ECMAScript.
const OTHER_GLOBALS: &str =
    "atob btoa console DOMException InternalError performance queueMicrotask";

/// The global names of ECMAScript 2026.
const STANDARD_GLOBALS: &str = "\
    AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array \
    BigUint64Array Boolean DataView Date decodeURI decodeURIComponent DisposableStack encodeURI \
    encodeURIComponent Error escape eval EvalError FinalizationRegistry Float16Array \
    Float32Array Float64Array Function globalThis Infinity Int16Array Int32Array Int8Array \
    isFinite isNaN Iterator JSON Map Math NaN Number Object parseFloat parseInt Promise \
    RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String SuppressedError Symbol \
    SyntaxError TypeError Uint16Array Uint32Array Uint8Array Uint8ClampedArray undefined \
    unescape URIError WeakMap WeakRef WeakSet";

#[tokio::test]
async fn globals_are_those_of_the_language() {
    let body = "return Object.getOwnPropertyNames(globalThis);";
    let output = run(&script(body), "{}").await.unwrap();
    let names: Vec<String> = serde_json::from_str(output.as_text()).unwrap();
    let known: Vec<_> =
        [STANDARD_GLOBALS, OTHER_GLOBALS].join(" ").split(' ').map(str::to_owned).collect();
    let unknown: Vec<_> = names.iter().filter(|name| !known.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
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
    let spec = script(&body).tool("double").timeout_seconds(1);
    let result = run(&spec, "{}").await;
    let text = result.map_or_else(|error| error.text().to_owned(), |output| output.into_text());
    assert!(text.contains("can't be called"), "{text}");
}
