use tool_runtime::tool;

struct Shop;

#[tool]
impl Shop {
    /// Opens it.
    #[tool]
    async fn open(&self) {
        let hour = ;
    }
}

fn main() {
    let _ = Shop;
}
