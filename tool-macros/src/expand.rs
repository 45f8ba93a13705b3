//! From the model to tokens. Nothing is decided here.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Ident, ReturnType, Type};

use crate::attr::ToolAttr;
use crate::check::check;
use crate::errors::Errors;
use crate::fallback;
use crate::model::{Param, Passing, ToolFn};

/// `#[tool(attr)] item`
pub(crate) fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    let errors = Errors::new();
    let attr = ToolAttr::parse(attr, &errors);
    let function: ToolFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(_) => {
            errors.push(syn::Error::new(Span::call_site(), "`#[tool]` goes on an async function"));
            return errors.into_tokens().into_iter().chain([item]).collect();
        }
    };
    check(&function, &attr, &errors);
    match errors.into_tokens() {
        Some(errors) => fallback::tool(&errors, &function, &attr),
        None => expand(&function, &attr),
    }
}

fn expand(function: &ToolFn, attr: &ToolAttr) -> TokenStream {
    let private = attr.runtime.private();
    let ident = &function.sig.ident;
    let name = name(function, attr);
    let description = match &attr.description {
        Some(text) => text.to_token_stream(),
        None => function.doc.to_token_stream(),
    };
    let words = words(attr, &private);
    let params = params(function, &private);
    let names = function.params.iter().map(Param::argument_name);
    let docs = function.params.iter().map(|param| &param.doc);

    // Names of our own that no name of the user's can meet.
    let arguments = Ident::new("arguments", Span::mixed_site());
    let ctx = Ident::new("ctx", Span::mixed_site());
    let slots: Vec<_> = (0..function.params.len())
        .map(|index| Ident::new(&format!("slot{index}"), Span::mixed_site()))
        .collect();
    let pattern = slots.iter().rev().fold(quote!(()), |rest, slot| quote!((#slot, #rest)));
    let passed = function.params.iter().zip(&slots).map(|(param, slot)| match param.passing {
        Passing::Owned(_) => quote!(#slot.give(#ctx)),
        Passing::Lent(_) => quote!(#slot.lend(#ctx)),
    });
    // The bounds on the output are stated by `finish`: an error has to lie under its type.
    let finish = match &function.sig.output {
        ReturnType::Type(_, ty) => quote_spanned!(ty.span()=> .finish()),
        ReturnType::Default => quote!(.finish()),
    };

    let body = quote! {
        type Params = #params;

        fn spec(&self) -> &#private::Spec {
            static SPEC: #private::LazyLock<#private::Spec> = #private::LazyLock::new(|| {
                #private::Spec::new::<<#ident as #private::ToolFn>::Params>(
                    #name, #description, &[#(#names),*], &[#(#docs),*],
                )#words
            });
            &SPEC
        }

        async fn run(
            &self,
            #arguments: #private::Arguments,
            #ctx: &#private::ToolContext,
        ) -> #private::Outcome {
            use #private::Bare as _;
            let #pattern = #private::decode(self, &#arguments, #ctx)?;
            #private::Returned(#ident(#(#passed),*).await)#finish
        }
    };
    let tool = items(function, &private, &body);
    quote!(#function #tool)
}

/// The tool beside the function: a type of its name, and what makes it a tool.
pub(crate) fn items(function: &ToolFn, private: &TokenStream, body: &TokenStream) -> TokenStream {
    let ident = &function.sig.ident;
    let vis = &function.vis;
    let cfgs: Vec<&Attribute> =
        function.attrs.iter().filter(|attr| attr.path().is_ident("cfg")).collect();
    quote! {
        #(#cfgs)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, reason = "it is named like its function")]
        #vis struct #ident {}

        #(#cfgs)*
        const _: () = {
            #[automatically_derived]
            impl #private::ToolFn for #ident {
                #body
            }
            #[automatically_derived]
            impl #private::FunctionTool for #ident {
                const TOOL: Self = #ident {};
            }
        };
    }
}

fn name(function: &ToolFn, attr: &ToolAttr) -> String {
    match &attr.name {
        Some(name) => name.value(),
        None => function.sig.ident.unraw().to_string(),
    }
}

/// The words that were given, as calls.
fn words(attr: &ToolAttr, private: &TokenStream) -> TokenStream {
    let effect = attr.effect.as_ref().map(|effect| {
        let variant = match effect.value().as_str() {
            "none" => format_ident!("None"),
            "read" => format_ident!("Read"),
            "write" => format_ident!("Write"),
            _ => format_ident!("External"),
        };
        quote!(.effect(#private::Effect::#variant))
    });
    let idempotent = attr.idempotent.then(|| quote!(.idempotent()));
    let timeout = attr.timeout.map(|millis| quote!(.timeout(#millis)));
    quote!(#effect #idempotent #timeout)
}

/// `(Owned<A>, (Lent<B>, ()))`, each at the place where the user wrote its type.
fn params(function: &ToolFn, private: &TokenStream) -> TokenStream {
    function.params.iter().rev().fold(quote!(()), |rest, param| match &param.passing {
        Passing::Owned(ty) => {
            let ty = with_static(ty);
            quote_spanned!(ty.span()=> (#private::Owned<#ty>, #rest))
        }
        Passing::Lent(ty) => quote_spanned!(ty.span()=> (#private::Lent<#ty>, #rest)),
    })
}

/// `'_` has no meaning outside a signature; the context is all that hides one, and is lent anyway.
fn with_static(ty: &Type) -> TokenStream {
    fn replace(tokens: TokenStream) -> TokenStream {
        let mut after_quote = false;
        let replaced = tokens.into_iter().map(|token| match token {
            TokenTree::Ident(ident) if after_quote && ident == "_" => {
                after_quote = false;
                TokenTree::Ident(Ident::new("static", ident.span()))
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replace(group.stream()));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            other => {
                after_quote = matches!(&other, TokenTree::Punct(punct) if punct.as_char() == '\'');
                other
            }
        });
        replaced.collect()
    }
    replace(ty.to_token_stream())
}
