//! Tokens in stores.

use std::path::PathBuf;

use tool_mcp::{McpClient, OAuth, Tokens};
use tool_runtime::records::{FileRecords, MemoryRecords};

use super::{Behavior, Browser, Resource, connect, everything, start, succeeds};
use crate::oauth::Authority;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tool-mcp-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn client(resource: &Resource, browser: &Browser, tokens: Tokens) -> McpClient {
    McpClient::http(&resource.url).oauth(OAuth::authorization_code(browser.clone()).tokens(tokens))
}

#[tokio::test]
async fn encrypted_tokens_work_in_another_program_with_the_key_alone() {
    let path = folder("encrypted-tokens");
    let tokens = async |key| Tokens::encrypted(FileRecords::open(&path).await.unwrap(), [key; 32]);
    // Also a token that has expired: it is refreshed as the registered client.
    for first_lifetime in [None, Some(0)] {
        let behavior = Behavior { first_lifetime, ..Behavior::default() };
        let (authority, resource, browser) = start(behavior, everything).await;
        for _ in 0..2 {
            let (registry, connection) =
                connect(client(&resource, &browser, tokens(7).await)).await.unwrap();
            succeeds(&registry).await;
            connection.disconnect().await;
        }
        assert_eq!(browser.opened.lock().unwrap().len(), 1);
        for form in authority.requests("/token") {
            // Basic authentication of the registered client.
            assert!(form["authorization"].starts_with("Basic "), "{form:?}");
        }
        let file = std::fs::read_to_string(path.join("mcp_tokens.jsonl")).unwrap();
        assert!(!file.contains("access") && !file.contains("registered-secret"), "{file}");

        let error = connect(client(&resource, &browser, tokens(8).await)).await.unwrap_err();
        assert!(error.to_string().contains("encrypted with another key"), "{error}");
        tokens(8).await.remove(&resource.url).await.unwrap();
        connect(client(&resource, &browser, tokens(8).await)).await.unwrap();
        assert_eq!(browser.opened.lock().unwrap().len(), 2);
    }
    std::fs::remove_dir_all(path).unwrap();
}

#[tokio::test]
async fn stored_tokens_of_a_previous_authorization_server_are_not_sent() {
    let tokens = Tokens::plaintext(MemoryRecords::new());
    let (_, resource, browser) = start(Behavior::default(), everything).await;
    connect(client(&resource, &browser, tokens.clone())).await.unwrap();
    resource.move_to(&Authority::start(Behavior::default()).await);
    resource.received.lock().unwrap().clear();
    connect(client(&resource, &browser, tokens)).await.unwrap();
    assert_eq!(resource.received.lock().unwrap()[0], None);
    assert_eq!(browser.opened.lock().unwrap().len(), 2);
}
