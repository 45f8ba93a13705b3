//! Authorizations and refreshes at the same time.

use std::io;
use std::sync::Arc;

use tokio::sync::Notify;
use tool_mcp::{AuthorizationHandler, McpClient, OAuth, Tokens};
use tool_runtime::async_trait;
use tool_runtime::records::{
    Expected, MemoryRecords, Record, RecordList, RecordQuery, Records, StoreError,
};

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
#[derive(Debug)]
struct Releasing {
    store: MemoryRecords,
    gates: Arc<[Notify; 2]>,
}

#[async_trait]
impl Records for Releasing {
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError> {
        self.store.load(collection, key).await
    }

    async fn save(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: &str,
        order: Option<i64>,
    ) -> Result<u64, StoreError> {
        let revision = self.store.save(collection, key, expected, value, order).await?;
        let [_, released] = &*self.gates;
        if value.contains("read write") {
            released.notify_one();
        }
        Ok(revision)
    }

    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError> {
        self.store.delete(collection, key, expected).await
    }

    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError> {
        self.store.list(collection, query).await
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
    let releasing = Releasing { store: store.clone(), gates: Arc::clone(&gates) };
    let oauth = OAuth::authorization_code(user).tokens(Tokens::plaintext(releasing));
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

    let stored = store.list("mcp_tokens", RecordQuery::all()).await.unwrap().records;
    assert_eq!(stored.len(), 1);
    assert!(stored[0].value.contains("read write"));
    assert_eq!(authority.grants("refresh_token"), 1);
    assert_eq!(authority.grants("authorization_code"), 2);
    succeeds(&registry).await;
}
