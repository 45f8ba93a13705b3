//! The path of the crate `tool_runtime` in generated code.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::{Expr, Meta, MetaNameValue, Path};

/// Parses an attribute that accepts nothing but `crate = path`; returns `None` if it has other
/// words.
pub(crate) fn parse_crate(attr: TokenStream) -> Option<Runtime> {
    if attr.is_empty() {
        return Some(Runtime::default());
    }
    match syn::parse2(attr) {
        Ok(Meta::NameValue(MetaNameValue { path, value: Expr::Path(value), .. }))
            if path.is_ident("crate") =>
        {
            Some(Runtime::at(value.path))
        }
        _ => None,
    }
}

/// Makes `tool_core` the crate of an attribute that names no other.
pub(crate) fn in_core(attr: TokenStream) -> TokenStream {
    let is_crate = |token| matches!(token, TokenTree::Ident(word) if word == "crate");
    match attr {
        attr if attr.clone().into_iter().any(is_crate) => attr,
        attr if attr.is_empty() => quote!(crate = ::tool_core),
        attr => quote!(crate = ::tool_core, #attr),
    }
}

/// The path of the crate `tool_runtime`.
#[derive(Clone, Default)]
pub(crate) struct Runtime(Option<Path>);

impl Runtime {
    /// Uses the path of `crate = path`.
    pub(crate) fn at(path: Path) -> Self {
        Self(Some(path))
    }

    /// Returns this path, or `other` if none was given.
    pub(crate) fn or(self, other: &Self) -> Self {
        if self.0.is_some() { self } else { other.clone() }
    }

    /// Returns the path of the module that generated code uses.
    pub(crate) fn private(&self) -> TokenStream {
        self.private_at(Span::call_site())
    }

    /// Returns the path of that module with the span at which errors are reported.
    pub(crate) fn private_at(&self, span: Span) -> TokenStream {
        match &self.0 {
            Some(path) => quote_spanned!(span=> #path::__private),
            None => quote_spanned!(span=> ::tool_runtime::__private),
        }
    }

    /// Returns the path of a re-exported crate as text, for the attributes of derive macros.
    pub(crate) fn reexport(&self, name: &TokenStream) -> String {
        let private = self.private();
        quote!(#private::#name).to_string().replace(' ', "")
    }
}
