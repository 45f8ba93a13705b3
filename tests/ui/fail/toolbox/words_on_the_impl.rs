use tool_runtime::tool;

struct Shop;

#[tool(effect = "read")]
impl Shop {
    /// Finds.
    #[tool]
    async fn find(&self) {}
}

fn main() {}
