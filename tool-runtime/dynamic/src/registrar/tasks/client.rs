//! The client of a connection, with its secrets.

use std::sync::Arc;

use tool_mcp::McpClient;

use crate::catalog::{Connection, ConnectionTarget};
use crate::registrar::options::Options;
use crate::registrar::pins::CatalogPins;
use crate::registrar::shared::Task;
use crate::secrets::{KnownSecrets, Secret};

/// Creates the client of a connection, and returns its secrets.
///
/// # Errors
/// Returns why a secret is missing.
pub(in crate::registrar) async fn client(
    task: &Task,
    connection: &Connection,
) -> Result<(McpClient, Arc<KnownSecrets>), String> {
    let options = &task.shared.options;
    let mut known = KnownSecrets::default();
    let mut client = match &connection.target {
        ConnectionTarget::Stdio { program, arguments, folder } => {
            let client = McpClient::stdio(program).args(arguments);
            match folder {
                Some(folder) => client.current_dir(folder),
                None => client,
            }
        }
        ConnectionTarget::Http { url } => McpClient::http(url),
    };
    for (key, name) in &connection.secrets {
        let secret = load(options, name, &mut known).await?;
        client = match &connection.target {
            ConnectionTarget::Stdio { .. } => client.env(key, secret.expose()),
            ConnectionTarget::Http { .. } => client.header(key, secret.expose()),
        };
    }
    if let Some(name) = &connection.bearer {
        client = client.bearer(load(options, name, &mut known).await?.expose());
    }
    let secrets = Arc::new(known);
    let client = client.pin_store(CatalogPins {
        pins: task.shared.catalog.pins().clone(),
        secrets: Arc::clone(&secrets),
    });
    let client = match &options.configure {
        Some(configure) => configure(task.id.name(), client),
        None => client,
    };
    Ok((client, secrets))
}

async fn load(options: &Options, name: &str, known: &mut KnownSecrets) -> Result<Secret, String> {
    let loaded = options.secrets.load(name).await.map_err(|error| error.to_string())?;
    let secret = loaded.ok_or_else(|| match options.secrets.location(name) {
        Some(location) => format!("there is no secret `{name}`: set {location}"),
        None => format!("the secret store has no secret `{name}`"),
    })?;
    known.add(&secret);
    Ok(secret)
}
