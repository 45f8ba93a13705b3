//! Stores of tokens.

use std::path::PathBuf;

use tool_mcp::{McpClient, MemoryTokens, OAuth, TokenFile, TokenStore};

use super::{Behavior, Browser, Resource, connect, everything, start, succeeds};
use crate::oauth::Authority;

fn file(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tool-mcp-{name}-{}.json", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn client(resource: &Resource, browser: &Browser, store: impl TokenStore + 'static) -> McpClient {
    McpClient::http(&resource.url).oauth(OAuth::authorization_code(browser.clone()).store(store))
}

#[tokio::test]
async fn stored_tokens_work_in_another_program() {
    let path = file("stored");
    // Also a token that has expired: it is refreshed as the registered client.
    for first_lifetime in [None, Some(0)] {
        let behavior = Behavior { first_lifetime, ..Behavior::default() };
        let (authority, resource, browser) = start(behavior, everything).await;
        for _ in 0..2 {
            let store = TokenFile::new(&path);
            let (registry, connection) = connect(client(&resource, &browser, store)).await.unwrap();
            succeeds(&registry).await;
            connection.disconnect().await;
        }
        assert_eq!(browser.opened.lock().unwrap().len(), 1);
        for form in authority.requests("/token") {
            // Basic authentication of the registered client.
            assert!(form["authorization"].starts_with("Basic "), "{form:?}");
        }
        // The next server has another URL: the file keeps both.
        let stored = TokenFile::new(&path).load(&resource.url).await.unwrap().unwrap();
        let debug = format!("{stored:?}");
        assert!(!debug.contains("access-") && !debug.contains("registered-secret"), "{debug}");
    }
    std::fs::remove_file(path).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_of_tokens_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;

    let path = file("private");
    // What a crash left over must not lend its permissions.
    let mut left_over = path.clone().into_os_string();
    left_over.push(".new");
    std::fs::write(&left_over, "{}").unwrap();
    let (_, resource, browser) = start(Behavior::default(), everything).await;
    connect(client(&resource, &browser, TokenFile::new(&path))).await.unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let store = TokenFile::new(&path);
    store.remove(&resource.url).await.unwrap();
    assert!(store.load(&resource.url).await.unwrap().is_none());
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn stored_tokens_of_a_previous_authorization_server_are_not_sent() {
    let store = MemoryTokens::new();
    let (_, resource, browser) = start(Behavior::default(), everything).await;
    connect(client(&resource, &browser, store.clone())).await.unwrap();
    resource.move_to(&Authority::start(Behavior::default()).await);
    resource.received.lock().unwrap().clear();
    connect(client(&resource, &browser, store)).await.unwrap();
    assert_eq!(resource.received.lock().unwrap()[0], None);
    assert_eq!(browser.opened.lock().unwrap().len(), 2);
}
