use tool_runtime::args;

#[args]
struct Login {
    /// By which password.
    #[arg(secret, flatten)]
    password: String,
}

fn main() {}
