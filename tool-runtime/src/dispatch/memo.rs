//! What pure tools said: the same arguments give the same output, so they are asked once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::Value;
use tokio::sync::OnceCell;

use crate::registry::Entry;
use crate::tool::{Tool, ToolError, ToolOutput};

/// The most outputs that are remembered; then the oldest goes.
const MOST: usize = 1_000;

/// A tool's full name and its arguments, whose members are sorted.
type Key = (String, String);

/// What is said or being said, and by which tool: another may have taken its place since, and says
/// what it says.
type Said = (Weak<dyn Tool>, Arc<OnceCell<ToolOutput>>);

/// The outputs of the pure tools of one dispatcher, which is one run of an agent. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo(Arc<Mutex<Remembered>>);

#[derive(Debug, Default)]
struct Remembered {
    outputs: HashMap<Key, Said>,
    oldest: VecDeque<Key>,
}

impl Memo {
    /// What the tool said to these arguments, or else what `run` gives, which begins only then, and
    /// whether it was remembered. Calls of the same at the same time wait for the first. An error is
    /// not remembered: the next one tries again.
    pub(super) async fn recall<F>(
        &self,
        entry: &Entry,
        arguments: &Value,
        run: F,
    ) -> (Result<ToolOutput, ToolError>, bool)
    where
        F: Future<Output = Result<ToolOutput, ToolError>>,
    {
        let key = (entry.full_name().to_owned(), arguments.to_string());
        let cell = self.cell(key, Arc::downgrade(entry.tool()));
        let mut ran = false;
        let output = cell
            .get_or_try_init(|| {
                ran = true;
                run
            })
            .await;
        (output.cloned(), !ran)
    }

    fn cell(&self, key: Key, tool: Weak<dyn Tool>) -> Arc<OnceCell<ToolOutput>> {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = remembered.outputs.get_mut(&key) {
            if !known.0.ptr_eq(&tool) {
                *known = (tool, Arc::default());
            }
            return Arc::clone(&known.1);
        }
        if remembered.oldest.len() >= MOST
            && let Some(oldest) = remembered.oldest.pop_front()
        {
            remembered.outputs.remove(&oldest);
        }
        let cell = Arc::default();
        remembered.oldest.push_back(key.clone());
        remembered.outputs.insert(key, (tool, Arc::clone(&cell)));
        cell
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use serde_json::json;

    use super::{MOST, Memo};
    use crate::message::Arguments;
    use crate::registry::{Entry, Registry};
    use crate::tool::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};

    struct Named(ToolDefinition);

    #[async_trait]
    impl Tool for Named {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }

        async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
            Err(ToolError::failed("never called"))
        }
    }

    /// A tool of a provider that has it alone.
    fn tool(provider: &str) -> Entry {
        let registry = Registry::new();
        let definition = ToolDefinition::new("t", "It.", json!({ "type": "object" }));
        registry.register_from(provider, Arc::new(Named(definition))).unwrap();
        registry.snapshot().entry("t").unwrap().clone()
    }

    async fn says(memo: &Memo, tool: &Entry, number: usize) -> bool {
        let run = async { Ok(ToolOutput::text(number.to_string())) };
        let (output, was_remembered) = memo.recall(tool, &json!({ "n": number }), run).await;
        assert_eq!(output.unwrap().as_text(), number.to_string());
        was_remembered
    }

    #[tokio::test]
    async fn the_oldest_is_forgotten_first() {
        let (memo, tool) = (Memo::default(), tool("p"));
        for number in 0..=MOST {
            assert!(!says(&memo, &tool, number).await);
        }
        assert!(says(&memo, &tool, MOST).await && says(&memo, &tool, 1).await);
        assert!(!says(&memo, &tool, 0).await);
    }

    #[tokio::test]
    async fn an_error_is_not_remembered() {
        let (memo, tool) = (Memo::default(), tool("p"));
        let fail = async { Err(ToolError::failed("no")) };
        assert!(!memo.recall(&tool, &json!({ "n": 1 }), fail).await.1);
        assert!(!says(&memo, &tool, 1).await);
        assert!(says(&memo, &tool, 1).await);
    }

    #[tokio::test]
    async fn what_one_tool_said_is_not_said_by_another() {
        let (memo, old, new, other) = (Memo::default(), tool("p"), tool("p"), tool("q"));
        assert!(!says(&memo, &old, 1).await);
        assert!(!says(&memo, &other, 1).await, "models call both `t`");
        assert!(says(&memo, &old, 1).await && says(&memo, &other, 1).await);
        assert!(!says(&memo, &new, 1).await, "it took the place of the old one");
        assert!(says(&memo, &new, 1).await);
    }
}
