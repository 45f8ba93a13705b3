use tool_runtime::tool;

struct Shop;

#[tool]
impl Default for Shop {
    fn default() -> Self {
        Self
    }
}

fn main() {}
