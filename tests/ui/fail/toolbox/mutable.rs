use tool_runtime::tool;

struct Shop(u32);

#[tool]
impl Shop {
    /// Sells one.
    #[tool]
    async fn sell(&mut self) {
        self.0 -= 1;
    }
}

fn main() {}
