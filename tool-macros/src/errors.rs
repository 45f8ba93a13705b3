//! Collects errors, so that all of them are reported at once.

use std::cell::RefCell;
use std::fmt::Display;
use std::thread;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The errors so far. [`into_tokens`](Self::into_tokens) must be called before it is dropped.
#[derive(Default)]
pub(crate) struct Errors(RefCell<Option<Vec<syn::Error>>>);

impl Errors {
    pub(crate) fn new() -> Self {
        Self(RefCell::new(Some(Vec::new())))
    }

    /// Adds an error at these tokens of the user.
    pub(crate) fn at(&self, at: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(at, message));
    }

    pub(crate) fn push(&self, error: syn::Error) {
        if let Some(errors) = self.0.borrow_mut().as_mut() {
            errors.push(error);
        }
    }

    /// Returns a `compile_error!` for each error; `None` if there are none.
    pub(crate) fn into_tokens(self) -> Option<TokenStream> {
        let errors = self.0.take().unwrap_or_default();
        let tokens: TokenStream = errors.iter().map(syn::Error::to_compile_error).collect();
        (!tokens.is_empty()).then_some(tokens)
    }
}

impl Drop for Errors {
    #[expect(clippy::panic, reason = "a bug of this crate, which every test would find")]
    fn drop(&mut self) {
        if self.0.borrow().is_some() && !thread::panicking() {
            panic!("errors were collected and not reported");
        }
    }
}
