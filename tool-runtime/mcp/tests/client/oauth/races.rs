//! Authorizations and refreshes at the same time.

use std::io;
use std::sync::Arc;

use tokio::sync::Notify;
use tool_mcp::{AuthorizationHandler, McpClient, MemoryTokens, OAuth, StoredTokens, TokenStore};
use tool_runtime::async_trait;

use super::{Behavior, Browser, connect, start, succeeds, write_for_calls};

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

/// Lets the authorization server answer the refresh once a token for writing is stored.
struct Releasing {
    tokens: MemoryTokens,
    gates: Arc<[Notify; 2]>,
}

fn may_write(tokens: &StoredTokens) -> bool {
    serde_json::to_string(tokens).unwrap().contains("read write")
}

#[async_trait]
impl TokenStore for Releasing {
    async fn load(&self, server: &str) -> io::Result<Option<StoredTokens>> {
        self.tokens.load(server).await
    }

    async fn save(&self, server: &str, tokens: &StoredTokens) -> io::Result<()> {
        self.tokens.save(server, tokens).await?;
        let [_, released] = &*self.gates;
        if may_write(tokens) {
            released.notify_one();
        }
        Ok(())
    }

    async fn remove(&self, server: &str) -> io::Result<()> {
        self.tokens.remove(server).await
    }
}

#[tokio::test]
async fn refresh_that_ends_after_a_step_up_keeps_the_newer_token() {
    let gates: Arc<[Notify; 2]> = Arc::default();
    let behavior = Behavior { holds_refresh: Some(Arc::clone(&gates)), ..Behavior::default() };
    let (authority, resource, browser) = start(behavior, write_for_calls).await;
    let (prompted, agrees) = (Arc::<Notify>::default(), Arc::<Notify>::default());
    let user = SlowUser { browser, prompted: Arc::clone(&prompted), agrees: Arc::clone(&agrees) };
    let tokens = MemoryTokens::new();
    let store = Releasing { tokens: tokens.clone(), gates: Arc::clone(&gates) };
    let oauth = OAuth::authorization_code(user).store(store);
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
    let [refresh_requested, _] = &*gates;
    refresh_requested.notified().await;
    agrees.notify_one();
    steps_up.await.unwrap();
    refreshes.await.unwrap();

    let stored = tokens.load(&resource.url).await.unwrap().unwrap();
    assert!(may_write(&stored));
    assert_eq!(authority.grants("refresh_token"), 1);
    assert_eq!(authority.grants("authorization_code"), 2);
    succeeds(&registry).await;
}
