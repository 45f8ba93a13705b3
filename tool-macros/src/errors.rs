//! Collects errors, so that a user with three mistakes reads of three.

use std::cell::RefCell;
use std::fmt::Display;
use std::thread;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// All that is wrong so far. Has to be looked at before it is dropped.
#[derive(Default)]
pub(crate) struct Errors(RefCell<Option<Vec<syn::Error>>>);

impl Errors {
    pub(crate) fn new() -> Self {
        Self(RefCell::new(Some(Vec::new())))
    }

    /// Notes a mistake; `at` is what the user wrote.
    pub(crate) fn at(&self, at: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(at, message));
    }

    pub(crate) fn push(&self, error: syn::Error) {
        if let Some(errors) = self.0.borrow_mut().as_mut() {
            errors.push(error);
        }
    }

    /// A `compile_error!` for each mistake; none when all is well.
    pub(crate) fn into_tokens(self) -> Option<TokenStream> {
        let errors = self.0.take().unwrap_or_default();
        let tokens: TokenStream = errors.iter().map(syn::Error::to_compile_error).collect();
        (!tokens.is_empty()).then_some(tokens)
    }
}

impl Drop for Errors {
    #[expect(clippy::panic, reason = "a mistake of the macro's author, found by any test")]
    fn drop(&mut self) {
        if self.0.borrow().is_some() && !thread::panicking() {
            panic!("errors were collected and nobody looked at them");
        }
    }
}
