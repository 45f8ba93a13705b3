use tool_runtime::ToolContext;
use tool_runtime::tool;

/// Tells its name.
#[tool]
async fn own_name(ctx: &mut ToolContext) -> String {
    ctx.tool_name().to_owned()
}

fn main() {}
