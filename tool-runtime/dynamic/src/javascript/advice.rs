//! Advice on names that other environments of JavaScript have.

const IMPORTS: &str = "there are no modules: use the built-in objects of the language";
const TIMERS: &str = "there are no timers";
const BROWSER: &str = "there is no browser";
const BUILT_IN: &str = "only the built-in objects of the language exist";

/// Names that do not exist, or not for each body, with what to do.
const ADVICE: [(&str, &str); 25] = [
    ("call_tool", "name each tool that the body calls in `tools`"),
    ("fetch", "declare the capability `network` in `capabilities`"),
    ("require", IMPORTS),
    ("module", IMPORTS),
    ("exports", IMPORTS),
    ("setTimeout", TIMERS),
    ("setInterval", TIMERS),
    ("setImmediate", TIMERS),
    ("clearTimeout", TIMERS),
    ("clearInterval", TIMERS),
    ("process", "there are no processes and no environment variables: use `args`"),
    ("Deno", "this is not Deno: use `args` and the built-in objects of the language"),
    ("Bun", "this is not Bun: use `args` and the built-in objects of the language"),
    ("Buffer", "this is not Node.js: use `Uint8Array`"),
    ("XMLHttpRequest", "use `fetch`, and declare the capability `network` in `capabilities`"),
    ("window", BROWSER),
    ("document", BROWSER),
    ("localStorage", BROWSER),
    ("URL", BUILT_IN),
    ("URLSearchParams", "use `encodeURIComponent` and `decodeURIComponent`"),
    ("TextEncoder", BUILT_IN),
    ("TextDecoder", BUILT_IN),
    ("crypto", BUILT_IN),
    ("structuredClone", "use `JSON.parse(JSON.stringify(value))`"),
    ("Intl", BUILT_IN),
];

/// Returns what to do about an exception: a name that is not defined, or an import.
pub(super) fn advice(exception: &str, message: &str) -> Option<String> {
    if exception != "ReferenceError" {
        return None;
    }
    if message.starts_with("could not load module") {
        return Some(format!("In this engine, {IMPORTS}."));
    }
    let name = message.strip_suffix(" is not defined")?.trim_matches('\'');
    let (_, advice) = ADVICE.iter().find(|(known, _)| *known == name)?;
    Some(match name {
        "call_tool" | "fetch" => format!("To use `{name}`, {advice}."),
        _ => format!("`{name}` does not exist in this engine: {advice}."),
    })
}

/// Returns what to do about a line that can't be parsed, if it is an import or export.
pub(super) fn line_advice(exception: &str, line: &str) -> Option<String> {
    let is_module_item = line.starts_with("import ") || line.starts_with("export ");
    let is_advised = is_module_item && exception.starts_with("SyntaxError");
    is_advised.then(|| format!("In this engine, {IMPORTS}."))
}
