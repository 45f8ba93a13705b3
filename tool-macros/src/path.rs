//! The only place that spells where the runtime is.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Expr, Meta, MetaNameValue, Path};

/// `crate = path`, or nothing; none where something else stands there.
pub(crate) fn runtime_only(attr: TokenStream) -> Option<Runtime> {
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

/// The runtime's crate.
#[derive(Clone, Default)]
pub(crate) struct Runtime(Option<Path>);

impl Runtime {
    /// Where the word `crate` says it is.
    pub(crate) fn at(path: Path) -> Self {
        Self(Some(path))
    }

    /// This one, or the other where nothing was said.
    pub(crate) fn or(self, other: &Self) -> Self {
        if self.0.is_some() { self } else { other.clone() }
    }

    /// The module that generated code calls into.
    pub(crate) fn private(&self) -> TokenStream {
        self.private_at(Span::call_site())
    }

    /// The same, as if the user had written it at `span`: errors are reported there.
    pub(crate) fn private_at(&self, span: Span) -> TokenStream {
        match &self.0 {
            Some(path) => quote_spanned!(span=> #path::__private),
            None => quote_spanned!(span=> ::tool_runtime::__private),
        }
    }

    /// The path of a crate that the runtime re-exports, as the attributes of derives want it.
    pub(crate) fn reexport(&self, name: &TokenStream) -> String {
        let private = self.private();
        quote!(#private::#name).to_string().replace(' ', "")
    }
}
