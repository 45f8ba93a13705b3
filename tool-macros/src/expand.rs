//! From the model to tokens. Nothing is decided here.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Ident, ReturnType};

use crate::attr::ToolAttr;
use crate::model::{Param, Passing, ToolFn};

/// The user's function, and the tool beside it.
pub(crate) fn expand(function: &ToolFn, attr: &ToolAttr) -> TokenStream {
    let private = attr.runtime.private();
    let ident = &function.sig.ident;
    let name = name(function, attr);
    let description = match &attr.description {
        Some(text) => text.to_token_stream(),
        None => function.doc.to_token_stream(),
    };
    let words = words(attr, &private);
    let names = function.params.iter().map(Param::argument_name);
    let docs = function.params.iter().map(|param| &param.doc);
    let fits = function.params.iter().map(|param| fits(param, &private));
    let picks = function.params.iter().rev().fold(quote!(()), |rest, param| {
        let pick = pick(param, &private);
        quote!((#pick, #rest))
    });

    // Names of our own that no name of the user's can meet.
    let ctx = Ident::new("ctx", Span::mixed_site());
    let slots: Vec<_> = (0..function.params.len())
        .map(|index| Ident::new(&format!("slot{index}"), Span::mixed_site()))
        .collect();
    let pattern = slots.iter().rev().fold(quote!(()), |rest, slot| quote!((#slot, #rest)));
    let passed = function.params.iter().zip(&slots).map(|(param, slot)| match param.passing {
        Passing::Owned(_) => quote!(#slot.give(#ctx)),
        Passing::Lent(_) => quote!(#slot.lend(#ctx)),
    });
    let call = quote!(#ident(#(#passed),*).await);
    // What can't be sent to a model is reported at the argument, so it takes the type's place.
    let returned = match &function.sig.output {
        ReturnType::Type(_, ty) => {
            let private = attr.runtime.private_at(ty.span());
            quote_spanned!(ty.span()=> #private::Returned(#call).split())
        }
        ReturnType::Default => quote!(#private::Returned(#call).split()),
    };

    let body = quote! {
        fn function(&self) -> &#private::Function {
            static FUNCTION: #private::LazyLock<#private::Function> =
                #private::LazyLock::new(|| {
                    use #private::{Bare as _, PickLent as _, PickOwned as _};
                    #(#fits)*
                    #private::Function::new(
                        #name, #description, #ident {}, &[#(#docs),*], #picks,
                        |#pattern, #ctx| #private::Box::pin(async move { #private::finish(#returned) }),
                    )#words
                });
            &FUNCTION
        }
    };
    let names = quote! {
        #[automatically_derived]
        impl #private::Names for #ident {
            const NAMES: &'static [&'static ::core::primitive::str] = &[#(#names),*];
        }
    };
    let tool = items(function, &private, &body, &names);
    quote!(#function #tool)
}

/// The tool beside the function: a type of its name, and what makes it a tool.
pub(crate) fn items(
    function: &ToolFn,
    private: &TokenStream,
    body: &TokenStream,
    more: &TokenStream,
) -> TokenStream {
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
            impl #private::NamesFunction for #ident {
                const TOOL: Self = #ident {};
                #body
            }
            #more
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

/// The one place where the type of a parameter is asked for more than its name.
fn fits(param: &Param, private: &TokenStream) -> TokenStream {
    match &param.passing {
        Passing::Owned(ty) => quote!(<#ty as #private::Argument>::FITS;),
        Passing::Lent(ty) => quote!(<#ty as #private::BorrowedArgument>::FITS;),
    }
}

fn pick(param: &Param, private: &TokenStream) -> TokenStream {
    match &param.passing {
        Passing::Owned(ty) => quote!(#private::Owned::<#ty>::new().pick()),
        Passing::Lent(ty) => quote!(#private::Lent::<#ty>::new().pick()),
    }
}
