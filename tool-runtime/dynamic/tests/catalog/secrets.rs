//! Stores for secrets.

use tool_dynamic::{EnvironmentSecrets, FileSecrets, Secret, SecretError, SecretStore};

use super::fixture::Folder;

async fn check_contract(store: &dyn SecretStore) {
    assert_eq!(store.load("github").await.unwrap(), None);
    store.remove("github").await.unwrap();
    store.save("github", &Secret::new("first")).await.unwrap();
    store.save("jira", &Secret::new("ä\"\n\u{1F600}")).await.unwrap();
    store.save("github", &Secret::new("second")).await.unwrap();
    assert_eq!(store.load("github").await.unwrap(), Some(Secret::new("second")));
    assert_eq!(store.load("jira").await.unwrap(), Some(Secret::new("ä\"\n\u{1F600}")));
    store.remove("github").await.unwrap();
    assert_eq!(store.load("github").await.unwrap(), None);
    for name in ["", "a b", "../x", &"x".repeat(65)] {
        let results = [
            store.load(name).await.map(drop),
            store.save(name, &Secret::new("x")).await,
            store.remove(name).await,
        ];
        for result in results {
            assert!(matches!(result, Err(SecretError::InvalidName { .. })), "{name}: {result:?}");
        }
    }
}

#[tokio::test]
async fn file_keeps_secrets() {
    let folder = Folder::new();
    check_contract(&FileSecrets::new(folder.path().join("secrets.json"))).await;
    let reopened = FileSecrets::new(folder.path().join("secrets.json"));
    assert!(reopened.load("jira").await.unwrap().is_some());
}

#[cfg(feature = "keyring")]
#[tokio::test]
async fn keyring_keeps_secrets() {
    use tool_dynamic::keyring_core::mock;

    let store = mock::Store::new().unwrap();
    check_contract(&tool_dynamic::KeyringSecrets::new("test").store(store)).await;
}

#[cfg(unix)]
#[tokio::test]
async fn file_that_others_can_access_is_refused() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    let path = folder.path().join("secrets.json");
    let secrets = FileSecrets::new(&path);
    secrets.save("github", &Secret::new("ghp_1234")).await.unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    for mode in [0o640, 0o604, 0o620, 0o660, 0o601, 0o777] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let results = [
            secrets.load("github").await.map(drop),
            secrets.save("github", &Secret::new("other")).await,
            secrets.remove("github").await,
        ];
        for result in results {
            let error = result.unwrap_err();
            assert!(matches!(error, SecretError::ExposedFile { .. }), "{mode:o}: {error}");
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }
    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    assert_eq!(secrets.load("github").await.unwrap(), Some(Secret::new("ghp_1234")));
}

#[cfg(unix)]
#[tokio::test]
async fn left_over_file_of_a_crash_is_not_reused() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    let path = folder.path().join("secrets.json");
    let left = folder.path().join("secrets.json.new");
    fs::write(&left, "half").unwrap();
    fs::set_permissions(&left, Permissions::from_mode(0o666)).unwrap();
    let secrets = FileSecrets::new(&path);
    secrets.save("github", &Secret::new("ghp_1234")).await.unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!left.exists());
}

#[tokio::test]
async fn no_error_contains_a_secret() {
    let folder = Folder::new();
    let path = folder.path().join("secrets.json");
    let secrets = FileSecrets::new(&path);
    secrets.save("github", &Secret::new("ghp_1234")).await.unwrap();
    // The values stay in the file, whose content is no longer valid.
    for text in ["{\"github\": ghp_1234}", "{\"github\": [\"ghp_1234\"]}", "\"ghp_1234\""] {
        std::fs::write(&path, text).unwrap();
        let error = secrets.load("github").await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("ghp_1234"), "{error:?}");
    }
}

#[tokio::test]
async fn environment_is_read_below_its_prefix_only() {
    // Cargo sets this variable for tests.
    let secrets = EnvironmentSecrets::new("CARGO_MANIFEST_");
    let folder = secrets.load("DIR").await.unwrap().unwrap();
    assert_eq!(folder.expose(), env!("CARGO_MANIFEST_DIR"));
    assert_eq!(secrets.load("CARGO_MANIFEST_DIR").await.unwrap(), None);
    assert_eq!(secrets.load("HOME").await.unwrap(), None);
    let error = secrets.save("DIR", &Secret::new("x")).await.unwrap_err();
    assert!(matches!(error, SecretError::ReadOnly { .. }), "{error}");
}
