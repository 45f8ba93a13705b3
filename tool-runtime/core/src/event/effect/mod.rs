mod file_change;
mod network_request;
mod process;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Usage, UsedModel};

pub use file_change::{FileChange, FileOp};
pub use network_request::NetworkRequest;
pub use process::{ProcessEnd, ProcessStart};

/// Report of a tool about a call: a mutation that it made, or a signal to the run.
///
/// A tool returns effect records by
/// [`ToolOutput::with_effect`](crate::ToolOutput::with_effect), or reports them during the call by
/// [`ToolContext::record`](crate::ToolContext::record); the latter are kept even if the call fails.
/// Both are in [`ToolExecution::effects`](crate::ToolExecution::effects), and a
/// [`Recorder`](super::Recorder) collects them by turn. The model does not receive them.
///
/// The data of most kinds is a struct with a constructor and setters, and converts into the record:
/// [`FileChange`], [`ProcessStart`], [`ProcessEnd`], [`NetworkRequest`].
///
/// ```
/// use tool_runtime::event::{FileChange, FileOp};
/// use tool_runtime::{Dispatcher, Registry, ToolCall, ToolContext, tool, tools};
///
/// /// Saves a note.
/// #[tool(effect = "write")]
/// async fn save(path: String, ctx: &ToolContext) {
///     ctx.record(FileChange::new(path, FileOp::Create).bytes_after(12));
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![save])?);
/// let call = ToolCall::new("1", "save", r#"{"path": "notes.txt"}"#);
/// let executions = dispatcher.dispatch(vec![call]).await;
/// let created = FileChange::new("notes.txt", FileOp::Create).bytes_after(12);
/// assert_eq!(executions[0].effects, [created.into()]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectRecord {
    /// A file was created, written, removed or renamed.
    FileChanged(FileChange),
    /// A process was started.
    ProcessStarted(ProcessStart),
    /// A process that the tool had started ended.
    ProcessEnded(ProcessEnd),
    /// A request was sent over the network.
    RequestSent(NetworkRequest),
    /// Tools were found that the model is offered from now on.
    ToolsFound {
        /// The full names of the tools, best match first.
        names: Vec<String>,
    },
    /// The tool requested the end of the run, once the other calls of the reply have their results.
    StopRequested {
        /// The reason for the request.
        reason: String,
    },
    /// The tool used a model, which counts toward the usage of the run.
    TokensSpent {
        /// The tokens that were used.
        usage: Usage,
        /// The cost, in the currency of the run's [prices](crate::agent::Limits::max_cost). Without
        /// it, the cost is computed from these prices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// The model, if the tool says which one it used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Box<UsedModel>>,
    },
    /// An effect of a kind that the program defines.
    Other {
        /// The name of the kind.
        name: String,
        /// The data of the effect.
        data: Value,
    },
}

impl EffectRecord {
    /// Creates an effect of a kind that the program defines, from any serializable value.
    ///
    /// # Errors
    /// Returns an error if the value can't be represented as JSON, such as a map whose keys are not
    /// strings.
    ///
    /// ```
    /// use tool_runtime::EffectRecord;
    ///
    /// let sent = EffectRecord::other("mail_sent", &("ada@example.org", 3)).unwrap();
    /// let (to, pages): (String, u32) = sent.other_data("mail_sent").unwrap();
    /// assert_eq!((to.as_str(), pages), ("ada@example.org", 3));
    /// assert_eq!(
    ///     serde_json::to_string(&sent).unwrap(),
    ///     r#"{"kind":"other","name":"mail_sent","data":["ada@example.org",3]}"#,
    /// );
    /// ```
    pub fn other<T: Serialize + ?Sized>(
        name: impl Into<String>,
        data: &T,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self::Other { name: name.into(), data: serde_json::to_value(data)? })
    }

    /// Creates the request of a tool to end the run.
    ///
    /// ```
    /// use tool_runtime::{EffectRecord, ToolContext, tool};
    ///
    /// /// Hands the conversation over to a person.
    /// #[tool]
    /// async fn hand_over(ctx: &ToolContext) {
    ///     ctx.record(EffectRecord::stop("a person takes over"));
    /// }
    /// ```
    pub fn stop(reason: impl Into<String>) -> Self {
        Self::StopRequested { reason: reason.into() }
    }

    /// Decodes the data of an effect that was created by [`other`](Self::other) under this name.
    ///
    /// Returns `None` for another name or kind, or if the data does not decode as a `T`.
    pub fn other_data<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        match self {
            Self::Other { name: effect_name, data } if effect_name == name => {
                T::deserialize(data).ok()
            }
            _ => None,
        }
    }
}

macro_rules! from_data {
    ($($variant:ident($data:ty)),*) => {$(
        impl From<$data> for EffectRecord {
            fn from(data: $data) -> Self {
                Self::$variant(data)
            }
        }
    )*};
}

from_data! {
    FileChanged(FileChange),
    ProcessStarted(ProcessStart),
    ProcessEnded(ProcessEnd),
    RequestSent(NetworkRequest)
}
