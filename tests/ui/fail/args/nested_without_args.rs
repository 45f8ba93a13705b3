use tool_runtime::args;

struct Inner {
    city: String,
}

#[args]
struct Outer {
    inner: Inner,
}

fn main() {
    let _ = |outer: Outer| outer.inner.city;
}
