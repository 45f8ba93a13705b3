use tool_runtime::tool;

struct Shop;

#[tool]
impl Shop {
    /// Closes it.
    #[tool]
    async fn close(self) {}
}

fn main() {}
