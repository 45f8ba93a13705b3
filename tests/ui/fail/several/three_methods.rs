use tool_runtime::tool;

struct Shop;

#[tool]
impl Shop {
    #[tool]
    async fn find(&self) {}
    /// Buys.
    #[tool(efect = "write")]
    fn buy(&self) {}
}

fn main() {}
