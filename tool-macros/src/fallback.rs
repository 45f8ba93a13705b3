//! What is generated beside an error: the user's function, and a tool that only type-checks.

use proc_macro2::TokenStream;
use quote::quote;

use crate::attr::ToolAttr;
use crate::expand::items;
use crate::model::ToolFn;

pub(crate) fn tool(errors: &TokenStream, function: &ToolFn, attr: &ToolAttr) -> TokenStream {
    // A type can't stand in an `impl`, and one that hides a primitive breaks the user's code.
    if function.sig.receiver().is_some() || function.hides_primitive() {
        return quote!(#errors #function);
    }
    let private = attr.runtime.private();
    let body = quote! {
        fn function(&self) -> &#private::Function {
            #private::unfinished()
        }
    };
    let tool = items(function, &private, &body, &quote!());
    quote!(#errors #function #tool)
}
