use tool_runtime::tool;

struct Shop;

#[tool]
impl Shop {
    /// Finds.
    #[tool]
    async fn find(&self) {}
    /// Finds more.
    #[tool(name = "find")]
    async fn find_more(&self) {}
}

fn main() {}
