//! The only place that spells where the runtime is.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Path;

/// The runtime's crate.
#[derive(Default)]
pub(crate) struct Runtime(Option<Path>);

impl Runtime {
    /// Where the word `crate` says it is.
    pub(crate) fn at(path: Path) -> Self {
        Self(Some(path))
    }

    /// A path into it.
    fn join(&self, rest: &TokenStream) -> TokenStream {
        match &self.0 {
            Some(path) => quote!(#path::#rest),
            None => quote!(::tool_runtime::#rest),
        }
    }

    /// The module that generated code calls into.
    pub(crate) fn private(&self) -> TokenStream {
        self.join(&quote!(__private))
    }

    /// The path of a crate that the runtime re-exports, as the attributes of derives want it.
    pub(crate) fn reexport(&self, name: &TokenStream) -> String {
        let private = self.private();
        quote!(#private::#name).to_token_stream().to_string().replace(' ', "")
    }
}
