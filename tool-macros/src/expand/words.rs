//! Converts the words of `#[tool(…)]` into method calls on the `Function`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::attr::ToolAttr;

/// Returns the method calls of the words that were given. `state` is the shared value of a method.
pub(super) fn words(attr: &ToolAttr, private: &TokenStream, state: Option<&Ident>) -> TokenStream {
    let title = attr.title.as_ref().map(|word| {
        let text = &word.value;
        quote!(.title(#text))
    });
    let version = attr.version.as_ref().map(|word| {
        let text = &word.value;
        quote!(.version(#text))
    });
    let effect = attr.effect.as_ref().map(|word| {
        let variant = variant(word.value);
        quote!(.effect(#private::Effect::#variant))
    });
    let permission = attr.permission.as_ref().map(|word| {
        let variant = variant(word.value);
        quote!(.permission(#private::Permission::#variant))
    });
    let repair = attr.repair.as_ref().map(|word| {
        let variant = variant(word.value);
        quote!(.repair(#private::Repair::#variant))
    });
    let idempotent = attr.idempotent.as_ref().map(|_| quote!(.idempotent()));
    let reattaches = attr.reattaches.as_ref().map(|_| quote!(.reattaches()));
    let pure = attr.pure.as_ref().map(|_| quote!(.pure()));
    let sequential = attr.sequential.as_ref().map(|_| quote!(.sequential()));
    let blocking = attr.blocking.as_ref().map(|_| quote!(.blocking()));
    let timeout = attr.timeout.as_ref().map(|word| {
        let millis = word.value;
        quote!(.timeout_millis(#millis))
    });
    let retries = attr.max_retries.as_ref().map(|word| {
        let times = word.value;
        quote!(.max_retries(#times))
    });
    let rate_limit = attr.rate_limit.as_ref().map(|word| {
        let (times, millis) = word.value;
        quote!(.rate_limit(#times, #millis))
    });
    let requires = attr.requires.as_ref().map(|word| {
        let capabilities = &word.value;
        quote!(.requires(&[#(#capabilities),*]))
    });
    let extensions = attr.extensions.as_ref().map(|word| {
        let required = word.value.iter().map(|ty| {
            // A type that can't be an extension is reported at the type.
            let private = attr.runtime.private_at(ty.span());
            quote_spanned!(ty.span()=> #private::RequiredExtension::of::<#ty>())
        });
        quote!(.extensions(&[#(#required),*]))
    });
    let cli = attr.cli.as_ref().map(|word| {
        let binary = &word.value;
        quote!(.cli(#binary))
    });
    let available = attr.available.as_ref().map(|word| {
        let path = &word.value;
        let private = attr.runtime.private_at(path.span());
        match state {
            Some(state) => quote_spanned!(path.span()=> .available_for(&#state, #path)),
            None => {
                quote_spanned!(path.span()=> .available(|| -> #private::Availability { #path() }))
            }
        }
    });
    let weight = attr.weight.as_ref().map(|word| {
        let weight = word.value;
        quote!(.weight(#weight))
    });
    let hidden = attr.hidden.as_ref().map(|_| quote!(.hidden()));
    let disabled = attr.disabled.as_ref().map(|_| quote!(.disabled()));
    let always = attr.always.as_ref().map(|_| quote!(.always()));
    let overrides = attr.overrides.as_ref().map(|word| {
        let overrides = word.value.iter().map(|(name, value)| {
            let name = name.unraw().to_string();
            quote!(.with_override(#name, #value))
        });
        quote!(#(#overrides)*)
    });
    // `pure` sets an effect, which `effect` replaces, so it comes first.
    quote! {
        #title #version #pure #effect #idempotent #reattaches #sequential #blocking #timeout #retries #rate_limit #permission
        #requires #extensions #repair #cli #available #weight #hidden #disabled #always #overrides
    }
}

/// Converts `"read"` into `Read`.
fn variant(word: &str) -> Ident {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    let name: String = first.into_iter().chain(letters).collect();
    Ident::new(&name, Span::call_site())
}
