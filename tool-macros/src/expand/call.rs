//! Generates the closures of a tool, which decode its arguments.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, ReturnType};

use super::{default_name, kind_name, kinds};
use crate::model::{Passing, ToolFn};

/// The code by which a closure gets the arguments of the function.
struct Decoding {
    /// The parameters of the closure: the text of the arguments, and the context.
    arguments: Ident,
    ctx: Ident,
    /// Statements that decode each argument, or return its error.
    decoded: TokenStream,
    /// Statements that set the defaults.
    completed: TokenStream,
    /// The arguments of the function.
    passed: TokenStream,
}

impl Decoding {
    fn new(function: &ToolFn, private: &TokenStream) -> Self {
        // Hygienic names, which can't conflict with names of the user.
        let (arguments, ctx) =
            (Ident::new("arguments", Span::mixed_site()), Ident::new("ctx", Span::mixed_site()));
        let slots: Vec<_> = (0..function.params.len())
            .map(|index| Ident::new(&format!("slot{index}"), Span::mixed_site()))
            .collect();
        let decoded: TokenStream = slots
            .iter()
            .enumerate()
            .map(|(index, slot)| {
                let kind = kind_name(index);
                quote! {
                    let #slot = match #private::Param::decode(&#kind, #arguments, #index) {
                        #private::Ok(slot) => slot,
                        #private::Err(error) => return #private::Err(error),
                    };
                }
            })
            .collect();
        let params = || function.params.iter().zip(&slots);
        let completed: TokenStream = params()
            .zip(0..)
            .filter_map(|((param, slot), index)| {
                param.attr.default.as_ref()?;
                let default = default_name(index);
                Some(quote!(let #slot = #slot.unwrap_or_else(#default);))
            })
            .collect();
        let passed = params().map(|(param, slot)| match param.passing {
            Passing::Owned(_) => quote!(#slot.pass(#ctx)),
            Passing::Borrowed(_) => quote!(#slot.borrow(#ctx)),
        });
        let passed = quote!(#(#passed),*);
        Self { arguments, ctx, decoded, completed, passed }
    }
}

/// Generates the closure that decodes the arguments and calls the function.
pub(super) fn call(function: &ToolFn, private: &TokenStream, state: Option<&Ident>) -> TokenStream {
    let Decoding { arguments, ctx, decoded, completed, passed } = Decoding::new(function, private);
    let ident = &function.sig.ident;
    let callee = match (state, function.sig.receiver()) {
        (Some(state), Some(_)) => quote!(Self::#ident(&#state, #passed)),
        (Some(_), None) => quote!(Self::#ident(#passed)),
        (None, _) => quote!(#ident(#passed)),
    };
    let await_ = function.sig.asyncness.map(|_| quote!(.await));
    // The span of the return type, at which an unsuitable type is reported.
    let returned = match &function.sig.output {
        ReturnType::Type(_, ty) => {
            let private = function.attr.runtime.private_at(ty.span());
            quote_spanned! {ty.span()=>
                match #private::ReturnValue(#callee #await_).__into_result() {
                    #private::Ok(value) => #private::IntoToolOutput::into_tool_output(value),
                    #private::Err(error) => #private::Err(
                        #private::IntoToolError::into_tool_error(error)
                    ),
                }
            }
        }
        ReturnType::Default => {
            quote!({ #callee #await_; #private::IntoToolOutput::into_tool_output(()) })
        }
    };
    let body = quote!(#completed #returned);
    let run = match function.sig.asyncness {
        // The span of the function, at which a future that is not `Send` is reported.
        Some(_) => {
            let private = function.attr.runtime.private_at(ident.span());
            quote_spanned!(ident.span()=> #private::Box::pin(async move { #body }))
        }
        None => quote!(#private::on_blocking_thread(#ctx, move |#ctx| { #body })),
    };
    let (state, share) = shared(function, private, state);
    let share_again = state.map(|_| &share);
    quote! {{
        #share
        #private::Box::new(move |#arguments, #ctx| {
            #decoded
            #share_again
            #private::Ok(#run)
        })
    }}
}

/// Generates the call that adds the function of `#[tool(check)]`, which gets the same arguments.
pub(super) fn check(
    function: &ToolFn,
    private: &TokenStream,
    state: Option<&Ident>,
) -> TokenStream {
    let Some(path) = function.attr.check.as_ref().map(|word| &word.value) else {
        return TokenStream::new();
    };
    let Decoding { arguments, ctx, decoded, completed, passed } = Decoding::new(function, private);
    let (state, share) = shared(function, private, state);
    let receiver = state.map(|state| quote!(&#state,));
    // The other closure owns the variables of the same names.
    let kinds = kinds(function, private);
    let private_at = function.attr.runtime.private_at(path.span());
    // The span of the path, at which a function of another type is reported.
    let checked = quote_spanned!(path.span()=> #path(#receiver #passed));
    let ty = quote_spanned!(path.span()=> #private_at::Result<(), #private_at::ToolError>);
    quote! {
        .check({
            #share
            #kinds
            #private::Box::new(move |#arguments, #ctx| {
                #decoded
                #completed
                let checked: #ty = #checked;
                #private::Ok(checked)
            })
        })
    }
}

/// Returns the shared value if the function is a method with `self`, and the statement that clones
/// it.
fn shared<'s>(
    function: &ToolFn,
    private: &TokenStream,
    state: Option<&'s Ident>,
) -> (Option<&'s Ident>, TokenStream) {
    let state = state.filter(|_| function.sig.receiver().is_some());
    let share = state.map(|state| quote!(let #state = #private::Arc::clone(&#state);));
    (state, share.unwrap_or_default())
}
