//! The trait of backends, which build tools from specs.

use std::sync::Arc;

use tool_core::{Availability, Tool, ToolError, async_trait};

use crate::spec::{BodyLanguage, CheckedSpec, SpecError};

/// Builds tools from specs, for bodies in one language such as JavaScript.
///
/// The tool has the definition of the [`CheckedSpec`]. The caller registers the tool, and the
/// dispatcher applies the policy to its calls. Implement it under `#[async_trait]`, which
/// `tool-runtime` re-exports.
///
/// ```
/// use std::sync::Arc;
/// use tool_runtime::dynamic::{BodyLanguage, CheckedSpec, ToolBackend, ToolSpec};
/// use tool_runtime::{
///     Arguments, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, async_trait,
/// };
///
/// /// Makes tools that return their body.
/// struct Templates;
///
/// struct Template(CheckedSpec);
///
/// #[async_trait]
/// impl Tool for Template {
///     fn definition(&self) -> &ToolDefinition {
///         self.0.definition()
///     }
///
///     async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
///         Ok(ToolOutput::text(self.0.body()))
///     }
/// }
///
/// #[async_trait]
/// impl ToolBackend for Templates {
///     fn language(&self) -> BodyLanguage {
///         BodyLanguage::JavaScript
///     }
///
///     async fn build(&self, spec: &CheckedSpec) -> Result<Arc<dyn Tool>, ToolError> {
///         Ok(Arc::new(Template(spec.clone())))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let spec = ToolSpec::new(BodyLanguage::JavaScript, "hello", "Greets.", "Hello!").check()?;
/// let tool = Templates.build(&spec).await.map_err(|error| error.to_string())?;
/// assert_eq!(tool.definition().name, "hello");
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait ToolBackend: Send + Sync {
    /// Returns the language of the bodies that this backend accepts.
    fn language(&self) -> BodyLanguage;

    /// Returns whether tools can be made and run now, such as whether a compiler is installed. This
    /// method may block: a `Registrar` calls it on the blocking pool of tokio, and waits for at
    /// most 30 seconds. Default: available.
    fn availability(&self) -> Availability {
        Availability::Available
    }

    /// Returns the capabilities that a body can be given, such as `network`. Default: none.
    fn capabilities(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the errors of the spec for this backend, without building anything. Default: an
    /// error for each capability that is not among the [capabilities](Self::capabilities).
    fn check(&self, spec: &CheckedSpec) -> Vec<SpecError> {
        spec.unsupported_capabilities(&self.capabilities())
    }

    /// Builds the tool of this spec.
    ///
    /// # Errors
    /// Returns the errors in the body, with their lines in the body, as a text for the model that
    /// wrote it.
    ///
    /// # Cancellation
    /// If the future is dropped, the build stops.
    async fn build(&self, spec: &CheckedSpec) -> Result<Arc<dyn Tool>, ToolError>;
}

/// Asks a backend on a thread for blocking work whether tools can be made now.
#[cfg(feature = "catalog")]
pub(crate) async fn availability(backend: &Arc<dyn ToolBackend>) -> Availability {
    let shared = Arc::clone(backend);
    let answer = tokio::task::spawn_blocking(move || shared.availability());
    match tokio::time::timeout(AVAILABILITY_LIMIT, answer).await {
        Ok(Ok(availability)) => availability,
        Ok(Err(error)) => Availability::Unavailable(error.to_string()),
        Err(_) => {
            let limit = AVAILABILITY_LIMIT.as_secs();
            Availability::Unavailable(format!("its backend did not answer within {limit} seconds"))
        }
    }
}

/// How long a backend may take to answer whether tools can be made.
#[cfg(feature = "catalog")]
const AVAILABILITY_LIMIT: std::time::Duration = std::time::Duration::from_secs(30);
