//! What is generated beside an error: the user's function, and a tool that only type-checks.

use proc_macro2::TokenStream;
use quote::quote;

use crate::attr::ToolAttr;
use crate::expand::items;
use crate::model::ToolFn;

pub(crate) fn tool(errors: &TokenStream, function: &ToolFn, attr: &ToolAttr) -> TokenStream {
    let private = attr.runtime.private();
    let body = quote! {
        type Params = ();

        fn spec(&self) -> &#private::Spec {
            #private::unfinished()
        }

        async fn run(&self, _: #private::Arguments, _: &#private::ToolContext) -> #private::Outcome {
            #private::unfinished()
        }
    };
    let tool = items(function, &private, &body);
    quote!(#errors #function #tool)
}
