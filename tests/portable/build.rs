//! Selects the code for systems other than Linux.

fn main() {
    println!("cargo::rustc-cfg=portable");
}
