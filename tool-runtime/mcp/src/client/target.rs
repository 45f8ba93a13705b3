//! How a server is reached: by a program, by streams or over HTTP.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use super::challenge::Authorizer;
use super::secrets::Secrets;
use super::wire::BoxFuture;
#[cfg(feature = "client")]
use super::wire::http::{HttpConnector, HttpTarget};
use super::wire::stdio::{BoxReader, BoxWriter};

/// Opens a pair of streams.
pub(super) type OpenStreams =
    dyn Fn() -> BoxFuture<'static, std::io::Result<(BoxReader, BoxWriter)>> + Send + Sync;

/// How a server is reached.
#[derive(Clone)]
pub(super) enum Target {
    Process(ProcessTarget),
    Streams(Arc<OpenStreams>),
    #[cfg(feature = "client")]
    Http {
        target: HttpTarget,
        connector: Arc<dyn HttpConnector>,
    },
}

impl Target {
    /// Returns what answers the challenges of the server.
    pub(super) fn authorizer(&self) -> Option<Arc<dyn Authorizer>> {
        match self {
            #[cfg(feature = "client")]
            Self::Http { connector, .. } => connector.authorizer(),
            _ => None,
        }
    }

    /// Returns the secrets that the server receives, without tokens of an authorization.
    pub(super) fn secrets(&self) -> Secrets {
        match self {
            Self::Process(target) => target.secrets(),
            Self::Streams(_) => Secrets::default(),
            #[cfg(feature = "client")]
            Self::Http { target, .. } => {
                Secrets::of_request(&target.url, target.bearer.as_deref(), &target.headers)
            }
        }
    }
}

/// A program that is a server.
#[derive(Clone, Debug, Default)]
pub(super) struct ProcessTarget {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) inherits_environment: bool,
    pub(super) folder: Option<PathBuf>,
}

impl ProcessTarget {
    /// Returns the secrets that the program receives.
    pub(super) fn secrets(&self) -> Secrets {
        let inherited = self.inherits_environment.then(std::env::vars_os);
        Secrets::of_program(&self.arguments, &self.environment, inherited.into_iter().flatten())
    }
}
