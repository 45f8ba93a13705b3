//! Objects within objects, whose functions would overflow the stack of the thread, and so end the
//! program.

use super::{Attack, violations};

/// Iterators of iterators, whose native functions call each other.
const ITERATORS: &[Attack] = &[
    (
        "taken",
        "let it = [1].values(); for (let i = 0; i < 4e4; i++) it = it.take(9); it.next();",
        "",
    ),
    (
        "dropped",
        "let it = [1].values(); for (let i = 0; i < 4e4; i++) it = it.drop(0); it.next();",
        "",
    ),
    (
        "mapped",
        "let it = [1].values(); for (let i = 0; i < 4e4; i++) it = it.map(n => n); [...it];",
        "",
    ),
    (
        "filtered",
        "let it = [1].values(); for (let i = 0; i < 4e4; i++) it = it.filter(Boolean); it.toArray();",
        "",
    ),
    (
        "in chunks",
        "let it = [1].values(); for (let i = 0; i < 4e4; i++) it = it.chunks(1); it.next();",
        "",
    ),
    (
        "in windows",
        "let it = [1].values(); for (let i = 0; i < 4e4; i++) it = it.windows(1); it.next();",
        "",
    ),
    (
        "concatenated",
        "let it = [1].values(); for (let i = 0; i < 4e4; i++) it = Iterator.concat(it); it.next();",
        "",
    ),
    (
        "flattened",
        "let it = (function* () { for (;;) yield 1; })(); for (let i = 0; i < 4e4; i++) { const inner \
         = it; it = [inner].values().flatMap(n => n); it.next(); }",
        "",
    ),
    (
        "wrapped",
        "let it = Iterator.from({ next: () => ({ done: false, value: 1 }) }); const { next } = it; \
         for (let i = 0; i < 4e4; i++) { Object.setPrototypeOf(it, { __proto__: null, next }); \
         it = Iterator.from(it); } it.next();",
        "",
    ),
    (
        "closed",
        "let it = [1].values(); for (let i = 0; i < 4e4; i++) it = it.take(9); it.return(); \
         it.next().value.x;",
        "",
    ),
    (
        "generated",
        "let it = [1].values(); for (let i = 0; i < 4e4; i++) { const inner = it; it = (function* () \
         { for (const n of inner) yield n; })(); } it.next();",
        "",
    ),
];

#[tokio::test]
async fn nested_iterators_do_not_overflow_the_stack() {
    let violations = violations(ITERATORS).await;
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}
