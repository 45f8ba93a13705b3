use tool_runtime::tool;

struct Shop(std::cell::Cell<u32>);

#[tool]
impl Shop {
    /// Counts.
    #[tool(blocking)]
    fn count(&self) -> u32 {
        self.0.get()
    }
}

fn main() {}
