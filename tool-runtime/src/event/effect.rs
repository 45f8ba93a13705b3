use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that a tool did to the world, told by the tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectRecord {
    /// A file was written.
    FileWritten {
        /// Which.
        path: String,
    },
    /// A program was started.
    ProcessStarted {
        /// Its command line.
        command: String,
    },
    /// A request was sent.
    RequestSent {
        /// Such as `POST`.
        method: String,
        /// Where to.
        url: String,
    },
    /// Tools were found that the model is to be offered from now on.
    ToolsFound {
        /// Their full names, best first.
        names: Vec<String>,
    },
    /// Something of the program's own kind.
    Other {
        /// What its author calls it.
        name: String,
        /// What its author tells of it.
        data: Value,
    },
}
