use tool_runtime::tool;

struct Shop;

impl Shop {
    /// Finds.
    #[tool]
    async fn find(&self, name: String) -> String {
        name
    }
}

fn main() {}
