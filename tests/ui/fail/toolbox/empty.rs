use tool_runtime::tool;

struct Shop;

#[tool]
impl Shop {
    /// Not marked.
    pub async fn find(&self) {}
}

fn main() {}
