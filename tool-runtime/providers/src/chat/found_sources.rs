//! Sources that a server sends beside the message of a reply: Perplexity and xAI send the URLs, and
//! Perplexity their titles as well.

use serde_json::Value;

use crate::shared::source_list;
use tool_core::{AssistantPart, ChatReply};

/// Sources that are members of a body, or of each chunk of a stream.
#[derive(Default)]
pub(super) struct FoundSources {
    citations: Option<Value>,
    search_results: Option<Value>,
}

impl FoundSources {
    /// Takes the values of a body or chunk. Each chunk repeats them.
    pub(super) fn merge(&mut self, citations: Option<Value>, search_results: Option<Value>) {
        self.citations = citations.or_else(|| self.citations.take());
        self.search_results = search_results.or_else(|| self.search_results.take());
    }

    /// Adds the sources to a reply: the results of the search, or the mere URLs if there are none.
    pub(super) fn add_to(self, mut reply: ChatReply) -> ChatReply {
        let mut found: Vec<_> = source_list(self.search_results.as_ref()).collect();
        if found.is_empty() {
            found.extend(source_list(self.citations.as_ref()));
        }
        reply.parts.extend(found.into_iter().map(AssistantPart::Source));
        reply
    }
}
