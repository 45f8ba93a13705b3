//! What is generated beside an error: the user's code, and a tool that only type-checks.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand;
use crate::model::{ToolFn, Toolbox};

pub(crate) fn function(errors: &TokenStream, function: &ToolFn) -> TokenStream {
    // A type can't stand in an `impl`, and one that hides a primitive breaks the user's code.
    if function.sig.receiver().is_some() || function.hides_primitive() {
        return quote!(#errors #function);
    }
    let private = function.attr.runtime.private();
    let body = quote! {
        fn function() -> &'static #private::Function {
            #private::unfinished()
        }
    };
    let tool = expand::named(function, &private, &body);
    quote!(#errors #function #tool)
}

pub(crate) fn toolbox(errors: &TokenStream, toolbox: &Toolbox) -> TokenStream {
    let block = &toolbox.block;
    if block.trait_.is_some() {
        return quote!(#errors #block);
    }
    let private = toolbox.runtime.private();
    let made = expand::from_shared(toolbox, &quote!(_), &quote!(#private::unfinished()));
    quote!(#errors #made)
}
