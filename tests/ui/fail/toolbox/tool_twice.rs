use tool_runtime::tool;

struct Clock;

#[tool]
impl Clock {
    /// Tells the time.
    #[tool(effect = "read")]
    #[tool(idempotent)]
    async fn now(&self) -> &'static str {
        "noon"
    }
}

fn main() {}
