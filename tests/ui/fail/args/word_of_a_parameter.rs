use tool_runtime::args;

#[args]
struct Login {
    /// By which password.
    #[arg(secret, rename = "pass")]
    password: String,
}

fn main() {}
