//! Links each dynamic tool with the server of its calls and the names that its body can use.
//!
//! It is compiled once for all tools of a folder, so that a tool itself compiles in seconds.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use schemars::Schema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tool_core::{ToolError, ToolOutput, Tools};
use tool_mcp::McpServer;

pub use serde;

/// Names that a body can use without a path.
pub mod prelude {
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{Map, Value, json};
    pub use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
    pub use tool_core::ToolError;
}

/// Serves the tool on standard input and output until the input is closed.
pub fn serve(tools: Tools) -> ExitCode {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let Ok(runtime) = runtime.enable_all().build() else { return ExitCode::FAILURE };
    match runtime.block_on(McpServer::new(tools).name("dynamic-tool").serve_stdio()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns what a body returned as the text of a result, which is always JSON.
pub fn output(value: impl Serialize) -> Result<ToolOutput, ToolError> {
    Ok(ToolOutput::text(serde_json::to_string(&value)?))
}

/// Returns the default of an argument, whose text was checked against the type when the tool was
/// made.
pub fn default_value<T: DeserializeOwned>(json: &str) -> T {
    match serde_json::from_str(json) {
        Ok(value) => value,
        Err(error) => panic!("the default {json} is invalid: {error}"),
    }
}

/// Returns a transform that adds keywords to schemas within a schema, by their paths.
pub fn limits(
    limits: &'static [(&'static str, &'static str, &'static str)],
) -> impl FnMut(&mut Schema) {
    move |schema| {
        for (path, keyword, limit) in limits {
            let limit = default_value::<Value>(limit);
            if let Some(Value::Object(element)) = schema.pointer_mut(path) {
                element.insert((*keyword).to_owned(), limit);
            }
        }
    }
}
