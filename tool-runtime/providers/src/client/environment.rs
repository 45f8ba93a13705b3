//! Settings of a client from environment variables.

use crate::client::Client;
use crate::codec::Api;
use tool_core::ModelError;

/// Creates a client from the variables that a function returns.
pub(crate) fn client_from<C: Api + Default>(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Client<C>, ModelError> {
    let read = |end: &str| {
        let value = variable(&format!("{}_{end}", C::ENV_PREFIX))?;
        Some(value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let missing = |end: &str, advice: &str| {
        let name = format!("{}_{end}", C::ENV_PREFIX);
        ModelError::Setup(format!("missing or empty environment variable: {name}; {advice}"))
    };
    let to_model = "set it to the name of the model";
    let model = read(C::ENV_MODEL).ok_or_else(|| missing(C::ENV_MODEL, to_model))?;
    let (base_url, key) = (read("BASE_URL"), read("API_KEY"));
    let is_default_server = base_url.is_none();
    let base_url = match (base_url, C::BASE_URL) {
        (Some(base_url), _) => with_version::<C>(base_url),
        (None, Some(base_url)) => base_url.to_owned(),
        (None, None) => return Err(missing("BASE_URL", "set it to the URL of the server")),
    };
    let client = Client::<C>::new(base_url, model);
    let client = match key {
        Some(key) => client.key(key),
        None if is_default_server && client.requires_key() => {
            let prefix = C::ENV_PREFIX;
            let advice = format!("set it, or set {prefix}_BASE_URL to a server that needs no key");
            return Err(missing("API_KEY", &advice));
        }
        None => client,
    };
    client.check_setup()?;
    Ok(client)
}

/// Appends the version of the API to a base URL that has none.
fn with_version<C: Api>(base_url: String) -> String {
    let trimmed = base_url.trim_end_matches('/');
    match (C::ENV_VERSION, trimmed.rsplit('/').next()) {
        (Some(_), Some(last)) if last.starts_with("v1") => trimmed.to_owned(),
        (Some(version), _) => format!("{trimmed}/{version}"),
        (None, _) => base_url,
    }
}

#[cfg(test)]
mod tests {
    use super::client_from;
    use crate::client::Client;
    use crate::codec::Api;
    use tool_core::ModelError;

    #[derive(Clone, Debug, Default)]
    struct Remote;

    impl Api for Remote {
        const ENV_PREFIX: &'static str = "REMOTE";
        const ENV_VERSION: Option<&'static str> = Some("v1beta");
        const BASE_URL: Option<&'static str> = Some("https://models.invalid/v1beta");
        const KEYED_HOSTS: &'static [&'static str] = &["models.invalid"];

        fn path(_: &str, _: bool) -> Vec<&str> {
            vec!["chat"]
        }
    }

    /// An API that every operator hosts.
    #[derive(Clone, Debug, Default)]
    struct Hosted;

    impl Api for Hosted {
        const ENV_PREFIX: &'static str = "HOSTED";
        const ENV_MODEL: &'static str = "EMBEDDING_MODEL";

        fn path(_: &str, _: bool) -> Vec<&str> {
            vec!["embed"]
        }
    }

    fn read<C: Api + Default>(variables: &[(&str, &str)]) -> Result<Client<C>, ModelError> {
        client_from(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn error<C: Api + Default>(variables: &[(&str, &str)]) -> String {
        read::<C>(variables).unwrap_err().to_string()
    }

    #[test]
    fn missing_variable_is_named() {
        for (variables, missing) in [
            (&[("REMOTE_API_KEY", "secret")][..], "REMOTE_MODEL;"),
            (&[("REMOTE_MODEL", " "), ("REMOTE_API_KEY", "secret")], "REMOTE_MODEL;"),
            (&[("REMOTE_MODEL", "m")], "REMOTE_API_KEY;"),
            (&[("REMOTE_MODEL", "m"), ("REMOTE_BASE_URL", "")], "REMOTE_API_KEY;"),
            (&[("REMOTE_MODEL", "m"), ("REMOTE_BASE_URL", "localhost:1/v1")], "`localhost:1/v1`"),
            (&[("REMOTE_MODEL", "m"), ("REMOTE_BASE_URL", "https://models.invalid")], "API key"),
        ] {
            let error = error::<Remote>(variables);
            assert!(error.contains(missing), "{variables:?}: {error}");
        }
        for (variables, missing) in [
            (&[("HOSTED_MODEL", "m")][..], "HOSTED_EMBEDDING_MODEL;"),
            (&[("HOSTED_EMBEDDING_MODEL", "m")], "HOSTED_BASE_URL;"),
        ] {
            let error = error::<Hosted>(variables);
            assert!(error.contains(missing), "{variables:?}: {error}");
        }
    }

    #[test]
    fn base_url_gets_the_version_that_it_lacks() {
        for (base_url, url) in [
            (None, "https://models.invalid/v1beta/chat"),
            (Some("https://h"), "https://h/v1beta/chat"),
            (Some("https://h/"), "https://h/v1beta/chat"),
            (Some("https://h/models"), "https://h/models/v1beta/chat"),
            (Some("https://h/v1beta/"), "https://h/v1beta/chat"),
            (Some("https://h/v1"), "https://h/v1/chat"),
        ] {
            let mut variables = vec![("REMOTE_MODEL", "m"), ("REMOTE_API_KEY", "secret\n")];
            variables.extend(base_url.map(|url| ("REMOTE_BASE_URL", url)));
            let debug = format!("{:?}", read::<Remote>(&variables).unwrap());
            assert!(debug.contains(&format!("\"{url}\"")) && !debug.contains("secret"), "{debug}");
        }
        let variables = [("HOSTED_EMBEDDING_MODEL", "m"), ("HOSTED_BASE_URL", "http://h:1/")];
        let debug = format!("{:?}", read::<Hosted>(&variables).unwrap());
        assert!(debug.contains("\"http://h:1/embed\""), "{debug}");
    }

    #[cfg(feature = "ollama")]
    #[test]
    fn ollama_runs_on_this_machine_without_a_key() {
        let local: crate::Ollama = read(&[("OLLAMA_MODEL", "m")]).unwrap();
        assert!(format!("{local:?}").contains("http://127.0.0.1:11434/api/chat"), "{local:?}");
    }
}
