//! What pure tools said: the same arguments give the same output, so they are asked once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::OnceCell;

use crate::tool::{ToolError, ToolOutput};

/// The most outputs that are remembered; then the oldest goes.
const MOST: usize = 1_000;

/// A tool's name and its arguments, whose members are sorted.
type Key = (String, String);

/// The outputs of the pure tools of one dispatcher, which is one run of an agent. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo(Arc<Mutex<Remembered>>);

#[derive(Debug, Default)]
struct Remembered {
    outputs: HashMap<Key, Arc<OnceCell<ToolOutput>>>,
    oldest: VecDeque<Key>,
}

impl Memo {
    /// What the tool said to these arguments, or else what `run` gives, which begins only then, and whether it was
    /// remembered. Calls of the same at the same time wait for the first. An error is not
    /// remembered: the next one tries again.
    pub(super) async fn recall<F>(
        &self,
        tool: &str,
        arguments: &Value,
        run: F,
    ) -> (Result<ToolOutput, ToolError>, bool)
    where
        F: Future<Output = Result<ToolOutput, ToolError>>,
    {
        let cell = self.cell((tool.to_owned(), arguments.to_string()));
        let mut ran = false;
        let output = cell
            .get_or_try_init(|| {
                ran = true;
                run
            })
            .await;
        (output.cloned(), !ran)
    }

    fn cell(&self, key: Key) -> Arc<OnceCell<ToolOutput>> {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = remembered.outputs.get(&key) {
            return Arc::clone(cell);
        }
        if remembered.oldest.len() >= MOST
            && let Some(oldest) = remembered.oldest.pop_front()
        {
            remembered.outputs.remove(&oldest);
        }
        let cell = Arc::default();
        remembered.oldest.push_back(key.clone());
        remembered.outputs.insert(key, Arc::clone(&cell));
        cell
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MOST, Memo};
    use crate::tool::{ToolError, ToolOutput};

    async fn says(memo: &Memo, number: usize) -> bool {
        let run = async { Ok(ToolOutput::text(number.to_string())) };
        let (output, was_remembered) = memo.recall("t", &json!({ "n": number }), run).await;
        assert_eq!(output.unwrap().as_text(), number.to_string());
        was_remembered
    }

    #[tokio::test]
    async fn the_oldest_is_forgotten_first() {
        let memo = Memo::default();
        for number in 0..=MOST {
            assert!(!says(&memo, number).await);
        }
        assert!(says(&memo, MOST).await && says(&memo, 1).await);
        assert!(!says(&memo, 0).await);
    }

    #[tokio::test]
    async fn an_error_is_not_remembered() {
        let memo = Memo::default();
        let fail = async { Err(ToolError::failed("no")) };
        assert!(!memo.recall("t", &json!({ "n": 1 }), fail).await.1);
        assert!(!says(&memo, 1).await);
        assert!(says(&memo, 1).await);
    }
}
