//! The tools, as a model sees them.

use std::sync::Arc;

use tool_core::{ToolContext, ToolError, tool};

use crate::Web;
use crate::fetch::fetch;
use crate::recent::Fetched;
use crate::section::SectionOutput;
use crate::target;

#[tool]
impl Web {
    /// Fetches a web page as Markdown, JSON as indented JSON, an image, a PDF document or a text.
    #[tool(effect = "read", idempotent)]
    async fn http_fetch(
        &self,
        /// Absolute URL.
        url: &str,
        /// Position to continue a long text at, from the result of the previous call.
        #[arg(default = 0)]
        offset: u64,
        ctx: &ToolContext,
    ) -> Result<SectionOutput, ToolError> {
        let client = self.client();
        let url = target::parse(url, &client.allowed)?;
        let key = url.to_string();
        // The next section is one of the same text, even if the server has another by now.
        let redact = |text: &str, part| ctx.redact_part(text, part);
        let known = if offset > 0 { self.recent().get(ctx.run_id(), &key) } else { None };
        let fetched = match known {
            Some(fetched) => fetched,
            None => fetch(&client, url, &redact).await?,
        };
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let Fetched { document, url, status } = &*fetched;
        let section = SectionOutput::new(document, url, *status, offset, &redact)?;
        self.recent().put(ctx.run_id(), &key, Arc::clone(&fetched));
        Ok(section)
    }
}
