//! Authorizations and refreshes at the same time.

use std::io;
use std::sync::Arc;

use tokio::sync::Notify;
use tool_mcp::{AuthorizationHandler, McpClient, OAuth, Tokens};
use tool_runtime::async_trait;
use tool_runtime::records::{MemoryRecords, RecordQuery, Records};

use super::{Behavior, Browser, connect, start, succeeds, write_for_calls};

/// The collection of the tokens.
const TOKENS: &str = "mcp_tokens";

/// Waits in the second authorization until it is notified.
struct SlowUser {
    browser: Browser,
    prompted: Arc<Notify>,
    agrees: Arc<Notify>,
}

#[async_trait]
impl AuthorizationHandler for SlowUser {
    fn redirect_uri(&self) -> String {
        self.browser.redirect_uri()
    }

    async fn authorize(&self, url: &str) -> io::Result<String> {
        if !self.browser.opened.lock().unwrap().is_empty() {
            self.prompted.notify_one();
            self.agrees.notified().await;
        }
        self.browser.authorize(url).await
    }
}

/// Waits until a token for writing is stored.
async fn token_for_writing(store: &MemoryRecords) {
    let mut since = 0;
    loop {
        let tokens = store.list(TOKENS, RecordQuery::all()).await.unwrap();
        if tokens.records.iter().any(|record| record.value.contains("read write")) {
            break;
        }
        since = store.changed(TOKENS, since).await.unwrap();
    }
}

#[tokio::test]
async fn refresh_that_ends_after_a_step_up_keeps_the_newer_token() {
    let gates: Arc<[Notify; 2]> = Arc::default();
    let behavior = Behavior { holds_refresh: Some(Arc::clone(&gates)), ..Behavior::default() };
    let (authority, resource, browser) = start(behavior, write_for_calls).await;
    let (prompted, agrees) = (Arc::<Notify>::default(), Arc::<Notify>::default());
    let user = SlowUser { browser, prompted: Arc::clone(&prompted), agrees: Arc::clone(&agrees) };
    let store = MemoryRecords::new();
    let oauth = OAuth::authorization_code(user).tokens(Tokens::plaintext(store.clone()));
    let (registry, _) = connect(McpClient::http(&resource.url).oauth(oauth)).await.unwrap();

    let steps_up = tokio::spawn({
        let registry = registry.clone();
        async move { succeeds(&registry).await }
    });
    prompted.notified().await;
    // The user is asked for the write scope. Meanwhile, the token for reading is refreshed.
    authority.revoke();
    let refreshes = tokio::spawn({
        let registry = registry.clone();
        async move { succeeds(&registry).await }
    });
    let [refresh_requested, released] = &*gates;
    refresh_requested.notified().await;
    agrees.notify_one();
    // The authorization server answers the refresh after the token for writing is stored.
    token_for_writing(&store).await;
    released.notify_one();
    steps_up.await.unwrap();
    refreshes.await.unwrap();

    let stored = store.list(TOKENS, RecordQuery::all()).await.unwrap().records;
    assert_eq!(stored.len(), 1);
    assert!(stored[0].value.contains("read write"));
    assert_eq!(authority.grants("refresh_token"), 1);
    assert_eq!(authority.grants("authorization_code"), 2);
    succeeds(&registry).await;
}
