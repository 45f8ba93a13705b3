use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::Usage;

/// Something that a tool did to the world, told by the tool.
///
/// It is put on the output by [`ToolOutput::with_effect`](crate::ToolOutput::with_effect); or noted by
/// [`ToolContext::record`](crate::ToolContext::record), and then it is kept also where the call fails.
/// Both stand in [`ToolExecution::effects`](crate::ToolExecution::effects), and a
/// [`Recorder`](super::Recorder) gathers those of a turn. The model doesn't read them.
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
        /// Its command line, without its environment, where keys often are.
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
    /// The run is to end, once the calls beside this one have their results.
    StopRequested {
        /// Why.
        reason: String,
    },
    /// A model was asked, and that counts as the run's.
    TokensSpent {
        /// How many tokens it took.
        usage: Usage,
        /// What they cost, in the currency of the run's [prices](crate::agent::Limits::cost); at these prices where it
        /// isn't known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    /// Something of the program's own kind.
    Other {
        /// What its author calls it.
        name: String,
        /// What its author tells of it.
        data: Value,
    },
}

impl EffectRecord {
    /// Something of the program's own kind, told by a type of its own.
    ///
    /// # Errors
    /// The value can't be written as JSON, such as a map with keys that aren't text.
    ///
    /// ```
    /// use tool_runtime::EffectRecord;
    ///
    /// let sent = EffectRecord::other("mail_sent", &("ada@example.org", 3)).unwrap();
    /// let (to, pages): (String, u32) = sent.data_of("mail_sent").unwrap();
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

    /// What was told under this name, where it reads as a `T`.
    pub fn data_of<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        match self {
            Self::Other { name: own, data } if own == name => T::deserialize(data).ok(),
            _ => None,
        }
    }
}
