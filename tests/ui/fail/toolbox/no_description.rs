use tool_runtime::tool;

struct Shop;

#[tool]
impl Shop {
    #[tool]
    async fn find(&self) {}
}

fn main() {}
