use std::fmt;
use std::sync::Arc;

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac_sha256::Hash;
use serde::{Deserialize, Serialize};
use tool_core::records::{Expected, Record, Records, StoreError};

use super::stored_tokens::StoredTokens;

/// The collection of the tokens.
const COLLECTION: &str = "mcp_tokens";

/// Keeps the tokens of servers in any store of [records](tool_core::records), encrypted or in
/// plaintext. Clones share the store.
///
/// [Encrypted](Self::encrypted) values use XChaCha20-Poly1305 with the key of the program and a
/// random nonce. Each one is bound to its server, so that a stored value can't be moved to another
/// one. Keep the key apart from the store, such as in the keyring of the system.
///
/// Tokens are in the collection `mcp_tokens`, under the SHA-256 digest of the URL of their server.
/// Processes share them: if two refresh a token at the same time, the second keeps the token of the
/// first.
///
/// ```
/// use tool_runtime::mcp::{McpClient, OAuth, Tokens};
/// use tool_runtime::records::FileRecords;
///
/// # async fn f(key: [u8; 32]) -> Result<(), tool_runtime::records::StoreError> {
/// let tokens = Tokens::encrypted(FileRecords::open("state").await?, key);
/// let oauth = OAuth::client_credentials("reporter", "secret")
///     .issuer("https://auth.example.com")
///     .tokens(tokens);
/// let client = McpClient::http("https://example.com/mcp").oauth(oauth);
/// # let _ = client;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Tokens {
    store: Arc<dyn Records>,
    cipher: Option<Arc<XChaCha20Poly1305>>,
}

/// The value of a record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum StoredValue {
    Plaintext(Box<Entry>),
    /// The JSON of an entry. Bytes are hexadecimal.
    Encrypted {
        nonce: String,
        ciphertext: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The URL of the server, because the key of the record is a digest.
    server: String,
    tokens: StoredTokens,
}

impl Tokens {
    /// Keeps tokens in a store, encrypted with a key of 32 random bytes.
    ///
    /// Tokens that were stored with another key, or without one, are an error until they are
    /// [removed](Self::remove).
    pub fn encrypted(store: impl Records + 'static, key: [u8; 32]) -> Self {
        let cipher = XChaCha20Poly1305::new(&key.into());
        Self { store: Arc::new(store), cipher: Some(Arc::new(cipher)) }
    }

    /// Keeps tokens in a store in plaintext. Everyone who can read the store can use them.
    ///
    /// ```
    /// use tool_runtime::mcp::{OAuth, Tokens};
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// let oauth = OAuth::client_credentials("reporter", "secret")
    ///     .issuer("https://auth.example.com")
    ///     .tokens(Tokens::plaintext(MemoryRecords::new()));
    /// # let _ = oauth;
    /// ```
    pub fn plaintext(store: impl Records + 'static) -> Self {
        Self { store: Arc::new(store), cipher: None }
    }

    /// Removes the tokens of a server by its URL, also those that can't be decrypted. The next
    /// connection authorizes again.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    ///
    /// ```
    /// use tool_runtime::mcp::Tokens;
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let tokens = Tokens::encrypted(MemoryRecords::new(), [7; 32]);
    /// tokens.remove("https://example.com/mcp").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn remove(&self, server: &str) -> Result<(), StoreError> {
        self.store.delete(COLLECTION, &key(server), Expected::Any).await?;
        Ok(())
    }

    /// Loads the tokens of a server, with their revision.
    pub(super) async fn load(
        &self,
        server: &str,
    ) -> Result<Option<(StoredTokens, u64)>, StoreError> {
        let Some(record) = self.store.load(COLLECTION, &key(server)).await? else {
            return Ok(None);
        };
        let entry = self.decode(&record).map_err(|reason| record.corrupt(reason))?;
        Ok(Some((entry.tokens, record.revision)))
    }

    /// Saves the tokens of a server if the stored ones are as expected, and returns the revision.
    pub(super) async fn save(
        &self,
        server: &str,
        expected: Expected,
        tokens: &StoredTokens,
    ) -> Result<u64, StoreError> {
        let (key, server) = (key(server), server.to_owned());
        let value = self.encode(&key, Entry { server, tokens: tokens.clone() })?;
        self.store.save(COLLECTION, &key, expected, &value, None).await
    }

    fn encode(&self, key: &str, entry: Entry) -> Result<String, StoreError> {
        let value = match &self.cipher {
            None => StoredValue::Plaintext(Box::new(entry)),
            Some(cipher) => {
                let json = serde_json::to_vec(&entry).map_err(StoreError::unavailable)?;
                let mut nonce = [0; 24];
                getrandom::fill(&mut nonce).map_err(StoreError::unavailable)?;
                let payload = Payload { msg: &json, aad: &associated_data(key) };
                let ciphertext = cipher
                    .encrypt(&XNonce::from(nonce), payload)
                    .map_err(|_| StoreError::unavailable("the tokens can't be encrypted"))?;
                StoredValue::Encrypted { nonce: to_hex(&nonce), ciphertext: to_hex(&ciphertext) }
            }
        };
        serde_json::to_string(&value).map_err(StoreError::unavailable)
    }

    /// Decodes a record. The reasons contain nothing of the record.
    fn decode(&self, record: &Record) -> Result<Entry, &'static str> {
        const INVALID: &str = "it does not have the form of tokens";
        let value: StoredValue = serde_json::from_str(&record.value).map_err(|_| INVALID)?;
        match (value, &self.cipher) {
            (StoredValue::Plaintext(entry), None) => Ok(*entry),
            (StoredValue::Plaintext(_), Some(_)) => {
                Err("the tokens are not encrypted, although the program has a key")
            }
            (StoredValue::Encrypted { .. }, None) => {
                Err("the tokens are encrypted, and the program has no key")
            }
            (StoredValue::Encrypted { nonce, ciphertext }, Some(cipher)) => {
                let nonce: [u8; 24] =
                    from_hex(&nonce).and_then(|it| it.try_into().ok()).ok_or(INVALID)?;
                let ciphertext = from_hex(&ciphertext).ok_or(INVALID)?;
                let payload = Payload { msg: &ciphertext, aad: &associated_data(&record.key) };
                let json = cipher
                    .decrypt(&XNonce::from(nonce), payload)
                    .map_err(|_| "the tokens were encrypted with another key, or were altered")?;
                serde_json::from_slice(&json).map_err(|_| INVALID)
            }
        }
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A store in memory would print its records.
        f.debug_struct("Tokens")
            .field("is_encrypted", &self.cipher.is_some())
            .finish_non_exhaustive()
    }
}

/// Returns the key of a record. A URL can be longer than a key, and contain a secret.
fn key(server: &str) -> String {
    to_hex(&Hash::hash(server.as_bytes()))
}

/// Binds a value to its collection and its key.
fn associated_data(key: &str) -> Vec<u8> {
    format!("{COLLECTION}/{key}").into_bytes()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2).map(|at| text.get(at..at + 2));
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use tool_core::records::MemoryRecords;

    use super::super::stored_tokens::Grant;
    use super::*;

    const SERVER: &str = "https://example.com/mcp?api_key=canary-url";

    fn tokens() -> StoredTokens {
        let requested_scopes = vec!["canary-scope".to_owned()];
        StoredTokens { credentials: None, grant: Grant { requested_scopes, ..Grant::default() } }
    }

    async fn stored(store: &MemoryRecords) -> Record {
        store.load(COLLECTION, &key(SERVER)).await.unwrap().unwrap()
    }

    /// Returns why the tokens of the server can't be loaded.
    async fn reason(tokens: &Tokens) -> String {
        match tokens.load(SERVER).await {
            Err(StoreError::Corrupt { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn encrypted_tokens_are_loaded_and_the_store_has_no_plaintext() {
        let store = MemoryRecords::new();
        let encrypted = Tokens::encrypted(store.clone(), [7; 32]);
        encrypted.save(SERVER, Expected::Absent, &tokens()).await.unwrap();
        let first = stored(&store).await;
        let (loaded, revision) = encrypted.load(SERVER).await.unwrap().unwrap();
        assert_eq!(loaded.grant.requested_scopes, ["canary-scope"]);
        encrypted.save(SERVER, Expected::Revision(revision), &tokens()).await.unwrap();
        let texts = format!("{first:?} {encrypted:?} {:?}", stored(&store).await);
        assert!(!texts.contains("canary") && !texts.contains("example.com"), "{texts}");
        assert!(!texts.contains("07070707") && !texts.contains("7, 7, 7"), "{texts}");
        // Each save has another nonce.
        assert_ne!(first.value, stored(&store).await.value);
        encrypted.remove(SERVER).await.unwrap();
        assert!(encrypted.load(SERVER).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn tokens_of_another_key_or_form_are_an_error_until_they_are_removed() {
        let store = MemoryRecords::new();
        let [first, second] = [7, 8].map(|byte| Tokens::encrypted(store.clone(), [byte; 32]));
        let plaintext = Tokens::plaintext(store.clone());
        first.save(SERVER, Expected::Any, &tokens()).await.unwrap();
        assert!(reason(&second).await.contains("another key"));
        assert!(reason(&plaintext).await.contains("has no key"));
        plaintext.save(SERVER, Expected::Any, &tokens()).await.unwrap();
        assert!(reason(&first).await.contains("are not encrypted"));
        first.remove(SERVER).await.unwrap();
        assert!(first.load(SERVER).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn altered_or_moved_tokens_are_an_error() {
        let store = MemoryRecords::new();
        let tokens_of_key = Tokens::encrypted(store.clone(), [7; 32]);
        tokens_of_key.save("https://other.example/mcp", Expected::Any, &tokens()).await.unwrap();
        let other = store.load(COLLECTION, &key("https://other.example/mcp")).await.unwrap();
        let moved = other.unwrap().value;
        let mut altered = moved.strip_suffix("\"}}").unwrap().to_owned();
        let digit = if altered.pop() == Some('0') { '1' } else { '0' };
        altered.push(digit);
        altered.push_str("\"}}");
        for value in
            [&*moved, &altered, "{}", "null", r#"{"encrypted":{"nonce":"é","ciphertext":""}}"#]
        {
            store.save(COLLECTION, &key(SERVER), Expected::Any, value, None).await.unwrap();
            let reason = reason(&tokens_of_key).await;
            assert!(reason.contains("altered") || reason.contains("form of tokens"), "{reason}");
        }
    }
}
