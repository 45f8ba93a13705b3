//! One authorization: from the challenge of a server to a token.

use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationMetadata,
    ClientCredentialsConfig, OAuthClientConfig,
};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::authorization_server::{
    AuthorizationServer, Named, check_code_challenge, check_endpoint, check_resource, with_issuer,
};
use super::credentials::Credentials;
use super::discovery_client::discovery_client;
use super::flow_error::FlowError;
use super::handler::AuthorizationHandler;
use super::options::{Flow, OAuth, Proof};
use super::redirect::read_redirect;
use super::sent_secrets::PendingAuthorizations;
use super::stored_tokens::{Grant, RegisteredClient};

/// The number of scopes of a grant, and their size in bytes. A server demands them one by one.
const MAX_SCOPES: usize = 128;
const MAX_SCOPES_BYTES: usize = 8 << 10;

/// Creates a manager of tokens that knows the authorization server.
///
/// # Errors
/// The authorization server is not the one of the options, its endpoints or methods are not safe,
/// or the token would be for another resource than the server.
async fn discover(
    oauth: &OAuth,
    credentials: &Credentials,
    challenge: &str,
) -> Result<(AuthorizationManager, AuthorizationMetadata), FlowError> {
    let url = &*credentials.server;
    let issuer = oauth.issuer_url().map_err(FlowError::Failed)?;
    let mut manager = if issuer.is_some() {
        let client = discovery_client(url, credentials.sent_secrets.clone())?;
        AuthorizationManager::new_with_oauth_http_client(url, client).await?
    } else if oauth.allows_private_addresses {
        AuthorizationManager::new_allowing_private_addresses(url).await?
    } else {
        AuthorizationManager::new(url).await?
    };
    manager.set_credential_store(credentials.clone());
    let metadata = match issuer {
        Some(issuer) => {
            let named = Named::by(&manager, challenge, url).await?;
            with_issuer(oauth.issuer.as_deref().unwrap_or_default(), &issuer, &named).await?
        }
        None => manager.resolve_metadata_from_challenge(Some(challenge)).await?.metadata,
    };
    check_resource(&mut manager, &resource(oauth, credentials)?).await?;
    let allows_private = oauth.allows_private_addresses;
    check_endpoint("token", &metadata.token_endpoint, allows_private)?;
    if matches!(oauth.flow, Flow::AuthorizationCode(_)) {
        check_endpoint("authorization", &metadata.authorization_endpoint, allows_private)?;
        if let Some(endpoint) = &metadata.registration_endpoint {
            check_endpoint("registration", endpoint, allows_private)?;
        }
        check_code_challenge(&metadata)?;
    }
    manager.set_metadata(metadata.clone());
    manager.set_state_store(PendingAuthorizations::new(credentials.sent_secrets.clone()));
    Ok((manager, metadata))
}

/// Returns the resource that tokens are for.
fn resource(oauth: &OAuth, credentials: &Credentials) -> Result<Url, FlowError> {
    let resource = oauth.resource.as_deref().unwrap_or(&credentials.server);
    Url::parse(resource)
        .map_err(|error| FlowError::failed(&format!("invalid resource `{resource}`: {error}")))
}

/// Creates a manager of the stored tokens, which can refresh them.
pub(super) async fn restore(
    oauth: &OAuth,
    credentials: &Credentials,
) -> Result<AuthorizationManager, AuthError> {
    let grant = credentials.grant();
    let Some(challenge) = &grant.challenge else {
        return AuthorizationManager::new(&*credentials.server).await;
    };
    let discovered = match discover(oauth, credentials, challenge).await {
        Ok((manager, metadata)) => {
            let server = Some(AuthorizationServer::new(&metadata));
            (server == grant.authorization_server).then_some(manager)
        }
        Err(FlowError::Refused(_)) => None,
        Err(FlowError::Denied(reason) | FlowError::Failed(reason)) => {
            return Err(AuthError::MetadataError(reason));
        }
    };
    let Some(mut manager) = discovered else {
        // The tokens are of another authorization server.
        let removed = credentials.tokens.remove(&credentials.server).await;
        removed.map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        credentials.set_grant(Grant::default());
        return AuthorizationManager::new(&*credentials.server).await;
    };
    match (&oauth.flow, &grant.client) {
        (Flow::ClientCredentials(proof), _) => {
            let config = client_credentials(proof, oauth, credentials, &grant);
            manager.configure_client_credentials(&config)?;
        }
        (Flow::AuthorizationCode(_), Some(client)) => {
            manager.configure_client(client.config(&grant.requested_scopes))?;
        }
        (Flow::AuthorizationCode(_), None) => {}
    }
    Ok(manager)
}

fn client_credentials(
    proof: &Proof,
    oauth: &OAuth,
    credentials: &Credentials,
    grant: &Grant,
) -> ClientCredentialsConfig {
    let client_id = oauth.client_id.clone().unwrap_or_default();
    let scopes = grant.requested_scopes.clone();
    let resource = Some(oauth.resource.as_deref().unwrap_or(&credentials.server).to_owned());
    match proof {
        Proof::Secret => ClientCredentialsConfig::ClientSecret {
            client_id,
            client_secret: oauth.client_secret.clone().unwrap_or_default(),
            scopes,
            resource,
        },
        #[cfg(feature = "oauth-jwt")]
        Proof::Key(key) => ClientCredentialsConfig::PrivateKeyJwt {
            client_id,
            signing_key: key.pem.to_vec(),
            signing_algorithm: key.algorithm.into(),
            token_endpoint_audience: key.audience.clone(),
            scopes,
            resource,
        },
    }
}

/// Gets a token as the challenge demands, and saves it.
pub(super) async fn authorize(
    oauth: &OAuth,
    previous: &Credentials,
    challenge: &str,
) -> Result<(AuthorizationManager, Credentials), FlowError> {
    let mut grant = previous.grant();
    // Separate: the previous token may be refreshed meanwhile, or stay in use.
    let credentials = previous.for_authorization();
    let (mut manager, metadata) = discover(oauth, &credentials, challenge).await?;
    let server = Some(AuthorizationServer::new(&metadata));
    if grant.authorization_server != server {
        // Nothing that another authorization server issued is used with this one.
        grant = Grant { authorization_server: server, ..Grant::default() };
    }
    let defaults: Vec<&str> = oauth.scopes.iter().map(String::as_str).collect();
    let selected = manager.select_initial_scopes(&defaults).await;
    add_scopes(&mut grant.requested_scopes, selected);
    grant.challenge = Some(challenge.to_owned());
    match &oauth.flow {
        Flow::AuthorizationCode(handler) => {
            let redirect_uri = handler.redirect_uri();
            let client = client(oauth, &mut manager, &metadata, &grant, &redirect_uri).await?;
            manager.configure_client(client.config(&grant.requested_scopes))?;
            grant.client = Some(client);
            credentials.set_grant(grant.clone());
            let scopes: Vec<&str> = grant.requested_scopes.iter().map(String::as_str).collect();
            let url = manager.get_authorization_url(&scopes).await?;
            let callback = ask(&**handler, &url, &redirect_uri).await?;
            let (code, state) = (&callback.code, &callback.csrf_token);
            let issuer = callback.issuer.as_deref();
            credentials.sent_secrets.extend([code.as_str()]);
            manager.exchange_code_for_token_with_issuer(code, state, issuer).await?;
        }
        Flow::ClientCredentials(proof) => {
            let config = client_credentials(proof, oauth, &credentials, &grant);
            credentials.set_grant(grant);
            manager.validate_client_credentials_metadata(&config)?;
            manager.configure_client_credentials(&config)?;
            manager = exchange_client_credentials(manager, config, oauth.timeout).await?;
        }
    }
    Ok((manager, credentials))
}

/// Gets a token for the program itself. The future of the SDK is not `Send` if it can sign
/// assertions, so that a thread for blocking work polls it.
async fn exchange_client_credentials(
    manager: AuthorizationManager,
    config: ClientCredentialsConfig,
    limit: Duration,
) -> Result<AuthorizationManager, FlowError> {
    let runtime = Handle::current();
    let exchanging = spawn_blocking(move || {
        // The thread must not outlive the authorization that gave up.
        let exchanged = runtime
            .block_on(async { timeout(limit, manager.exchange_client_credentials(&config)).await });
        match exchanged {
            Ok(Ok(_)) => Ok(manager),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(FlowError::Failed(format!("timed out after {limit:?}"))),
        }
    });
    exchanging.await.unwrap_or_else(|error| Err(FlowError::Failed(error.to_string())))
}

/// Adds scopes that are not in the list, as long as there is room.
fn add_scopes(scopes: &mut Vec<String>, added: impl IntoIterator<Item = String>) {
    for scope in added {
        let bytes = scopes.iter().map(String::len).sum::<usize>() + scope.len();
        if !scopes.contains(&scope) && scopes.len() < MAX_SCOPES && bytes <= MAX_SCOPES_BYTES {
            scopes.push(scope);
        }
    }
}

/// Returns the client that the authorization server knows, and registers one if there is none.
async fn client(
    oauth: &OAuth,
    manager: &mut AuthorizationManager,
    metadata: &AuthorizationMetadata,
    grant: &Grant,
    redirect_uri: &str,
) -> Result<RegisteredClient, AuthError> {
    let registered =
        |id, secret| RegisteredClient { id, secret, redirect_uri: redirect_uri.into() };
    if let Some(id) = oauth.client_id.clone() {
        return Ok(registered(id, oauth.client_secret.clone()));
    }
    let supports_documents =
        metadata.additional_fields.get("client_id_metadata_document_supported");
    if let (Some(id), Some(true)) =
        (oauth.client_metadata_url.clone(), supports_documents.and_then(|value| value.as_bool()))
    {
        return Ok(registered(id, None));
    }
    if let Some(client) = grant.client.clone().filter(|it| it.redirect_uri == redirect_uri) {
        return Ok(client);
    }
    let scopes: Vec<&str> = grant.requested_scopes.iter().map(String::as_str).collect();
    let config = manager.register_client(&oauth.client_name, redirect_uri, &scopes).await?;
    Ok(registered(config.client_id, config.client_secret))
}

impl RegisteredClient {
    fn config(&self, scopes: &[String]) -> OAuthClientConfig {
        let config = OAuthClientConfig::new(self.id.clone(), self.redirect_uri.clone())
            .with_scopes(scopes.to_vec());
        match &self.secret {
            Some(secret) => config.with_client_secret(secret.clone()),
            None => config,
        }
    }
}

/// Lets the user authorize.
async fn ask(
    handler: &dyn AuthorizationHandler,
    url: &str,
    redirect_uri: &str,
) -> Result<AuthorizationCallback, FlowError> {
    let redirect = handler.authorize(url).await;
    let redirect = redirect.map_err(|error| FlowError::denied(&error.to_string()))?;
    read_redirect(&redirect, redirect_uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_of_a_grant_are_bounded() {
        let mut scopes = vec!["read".to_owned()];
        add_scopes(&mut scopes, ["read".to_owned(), "write".to_owned()]);
        assert_eq!(scopes, ["read", "write"]);
        add_scopes(&mut scopes, (0..1_000).map(|number| format!("scope{number}")));
        assert_eq!(scopes.len(), MAX_SCOPES);
        let mut scopes = Vec::new();
        add_scopes(&mut scopes, (0..10).map(|number| format!("{number:03000}")));
        assert_eq!(scopes.len(), 2);
    }
}
