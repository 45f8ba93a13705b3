struct Desk;

#[tool_runtime::tool]
impl Desk {
    /// Tells what lies on it.
    #[tool]
    async fn look(&self) -> &'static str {
        "a pen"
    }
}

fn main() {
    let _ = tool_runtime::tools![Desk];
}
