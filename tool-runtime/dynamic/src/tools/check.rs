//! The check of a spec before anything is built.

use std::sync::Arc;

use tool_core::ToolError;

use super::{DynamicTools, model_error};
use crate::backend::ToolBackend;
use crate::catalog::{EntryContent, EntryId};
use crate::spec::{CheckedSpec, SpecError, SpecErrors, ToolSpec, valid_members};

impl DynamicTools {
    /// Checks a spec by itself, and against the program: its names, backends and capabilities.
    ///
    /// # Errors
    /// Returns all errors in the spec at once.
    pub(super) fn check(
        &self,
        spec: &ToolSpec,
    ) -> Result<(CheckedSpec, Arc<dyn ToolBackend>), ToolError> {
        let (checked, own_errors) = match spec.check() {
            Ok(checked) => (Some(checked), SpecErrors::default()),
            Err(errors) => (valid_members(spec, &errors), errors),
        };
        let mut errors = Vec::new();
        let is_taken = self.registrar.is_taken(&EntryId::tool(&spec.name));
        if is_taken.map_err(|error| model_error(&error))? {
            let text = "the program has a tool or provider of this name, which can't be changed: \
                        use another name";
            errors.push(SpecError::new("name", text));
        }
        let backend = self.registrar.backend(spec.language);
        match (&backend, &checked) {
            (Some(backend), Some(checked)) => errors.extend(self.refusals(backend, checked)),
            (Some(_), None) => {}
            (None, _) => errors.push(self.unknown_language()),
        }
        errors.retain(|error| !own_errors.has_error_in(error.member()));
        let errors: Vec<_> = own_errors.into_iter().chain(errors).collect();
        match (checked, backend) {
            (Some(checked), Some(backend)) if errors.is_empty() => {
                let content = EntryContent::from(spec.clone());
                let stored = self.registrar.check(&spec.name, &content);
                stored.map_err(|error| model_error(&error))?;
                Ok((checked, backend))
            }
            _ => Err(SpecErrors::from(errors).to_tool_error()),
        }
    }

    /// Returns what a backend refuses, and the other capabilities that are not granted.
    fn refusals(&self, backend: &Arc<dyn ToolBackend>, spec: &CheckedSpec) -> Vec<SpecError> {
        let mut errors = backend.check(spec);
        let granted: Vec<_> = self.granted.iter().collect();
        let mut denied = spec.unsupported_capabilities(&granted);
        denied.retain(|error| errors.iter().all(|known| known.path != error.path));
        errors.append(&mut denied);
        errors
    }

    /// Names the tools that the body calls and that are not registered, if there are any. They may
    /// be registered later, such as those of a connection.
    pub(super) fn missing_tools(&self, spec: &CheckedSpec) -> Option<String> {
        let tools = &spec.spec().tools;
        let missing: Vec<_> = tools.iter().filter(|name| !self.registrar.has_tool(name)).collect();
        let names: Vec<_> = missing.iter().map(|name| format!("`{name}`")).collect();
        (!names.is_empty()).then(|| {
            let names = names.join(", ");
            format!("Not registered now, so that calls of them fail: {names}. Correct `tools`.")
        })
    }

    /// Returns the error of a spec whose language has no backend.
    fn unknown_language(&self) -> SpecError {
        let languages: Vec<_> = self.registrar.languages().map(|it| format!("`{it}`")).collect();
        SpecError::new(
            "language",
            format!("expected one that the program builds: {}", languages.join(", ")),
        )
    }
}
