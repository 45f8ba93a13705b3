//! `#[args]`: derives `Deserialize` and `JsonSchema` through the re-exports of `tool_runtime`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Field, Fields, Meta, Path, Token};

use crate::errors::Errors;
use crate::fields::expand_fields;
use crate::path::{Runtime, parse_crate};

/// Expands `#[args(attr)] item`.
pub(crate) fn args(attr: TokenStream, item: TokenStream) -> TokenStream {
    let errors = Errors::new();
    let runtime = parse_crate(attr.clone()).unwrap_or_else(|| {
        errors.at(attr, "`#[args]` only takes `crate = path`");
        Runtime::default()
    });
    let mut input: DeriveInput = match syn::parse2(item.clone()) {
        Ok(input) => input,
        Err(_) => {
            let misplaced = quote_spanned!(item.span()=>
                ::core::compile_error! { "`#[args]` goes on a struct or an enum" }
            );
            return errors.into_tokens().into_iter().chain([misplaced, item]).collect();
        }
    };
    if let Data::Union(union) = &input.data {
        errors.at(union.union_token, "`#[args]` goes on a struct or an enum");
        return errors.into_tokens().into_iter().chain([item]).collect();
    }

    check_fields(&mut input, &errors);
    let functions = expand_fields(&mut input, &runtime, &errors);
    check_lifetimes(&input, &errors);
    let type_checks = type_checks(&input, &runtime.private());
    let derives = derives(&input, &errors, &runtime.private());
    let serde = runtime.reexport(&quote!(serde));
    let schemars = runtime.reexport(&quote!(schemars));
    let strict = denies_unknown_fields(&input).then(|| quote!(, deny_unknown_fields));
    let errors = errors.into_tokens();
    quote! {
        #errors
        #type_checks
        #[derive(#(#derives),*)]
        #[serde(crate = #serde #strict)]
        #[schemars(crate = #schemars)]
        #input
        #functions
    }
}

/// Rejects `#[args]` on fields.
fn check_fields(input: &mut DeriveInput, errors: &Errors) {
    let fields: Vec<&mut Field> = match &mut input.data {
        Data::Struct(data) => data.fields.iter_mut().collect(),
        Data::Enum(data) => {
            data.variants.iter_mut().flat_map(|variant| &mut variant.fields).collect()
        }
        Data::Union(_) => Vec::new(),
    };
    for field in fields {
        for misplaced in field.attrs.extract_if(.., |attr| attr.path().is_ident("args")) {
            errors.at(
                misplaced,
                "`#[args]` goes on the type: a field takes `#[arg(…)]`, such as \
                 `#[arg(range(min = 1))]`",
            );
        }
    }
}

/// Rejects lifetimes. Arguments are decoded for one call, so there is nothing to borrow from.
fn check_lifetimes(input: &DeriveInput, errors: &Errors) {
    for lifetime in input.generics.lifetimes() {
        errors.at(
            &lifetime.lifetime,
            "arguments can't borrow: write `String` for `&'a str`, `Vec<T>` for `&'a [T]`",
        );
    }
}

/// Generates a check of each field's type, because the errors of the derives mention traits that
/// the user need not know. Generic types and fields with their own (de)serialization are not
/// checked.
fn type_checks(input: &DeriveInput, private: &TokenStream) -> Option<TokenStream> {
    let exempt =
        ["skip", "skip_deserializing", "with", "deserialize_with", "flatten", "schema_with"];
    let fields: Vec<&Field> = match &input.data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.fields).collect(),
        Data::Union(_) => Vec::new(),
    };
    let checked = fields.into_iter().filter(|field| {
        let is_exempt =
            |word: &str| ["serde", "schemars"].iter().any(|it| has_word(&field.attrs, it, word));
        !exempt.into_iter().any(is_exempt) && !has_cfg(&field.attrs)
    });
    let types: Vec<_> = checked.map(|field| &field.ty).collect();
    (input.generics.params.is_empty() && !types.is_empty()).then(|| {
        let cfgs = input.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
        quote! {
            #(#cfgs)*
            const _: () = { #(<#types as #private::Argument>::FITS;)* };
        }
    })
}

fn has_cfg(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr"))
}

/// Returns the derives. If the user derives one of them too, that is an error, and it is not
/// derived again, because conflicting implementations would cause a second error.
fn derives(input: &DeriveInput, errors: &Errors, private: &TokenStream) -> Vec<TokenStream> {
    let mut by_user = Vec::new();
    for attr in input.attrs.iter().filter(|attr| attr.path().is_ident("derive")) {
        let paths = attr.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
        for path in paths.into_iter().flatten() {
            let last = path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
            if ["Deserialize", "JsonSchema"].contains(&last.as_str()) {
                errors.at(&path, format!("`#[args]` derives `{last}` already: remove it here"));
                by_user.push(last);
            }
        }
    }
    let derives = [
        ("Deserialize", quote!(#private::serde::Deserialize)),
        ("JsonSchema", quote!(#private::schemars::JsonSchema)),
    ];
    let derives =
        derives.into_iter().filter(|(name, _)| !by_user.iter().any(|other| other == name));
    derives.map(|(_, path)| path).collect()
}

/// Whether to add `deny_unknown_fields`. Not if serde can't do it (`flatten`), if another type
/// decides (`transparent`, `from` …), or if the user added it.
fn denies_unknown_fields(input: &DeriveInput) -> bool {
    let exempt = ["transparent", "from", "try_from", "remote", "untagged", "deny_unknown_fields"];
    if exempt.iter().any(|word| has_word(&input.attrs, "serde", word)) {
        return false;
    }
    let is_deniable = |fields: &Fields| match fields {
        Fields::Named(fields) => {
            !fields.named.iter().any(|field| has_word(&field.attrs, "serde", "flatten"))
        }
        // With a tag, the members are those of the inner type.
        Fields::Unnamed(_) => {
            !has_word(&input.attrs, "serde", "tag") || has_word(&input.attrs, "serde", "content")
        }
        Fields::Unit => true,
    };
    match &input.data {
        Data::Struct(data) => matches!(data.fields, Fields::Named(_)) && is_deniable(&data.fields),
        Data::Enum(data) => data.variants.iter().all(|variant| is_deniable(&variant.fields)),
        Data::Union(_) => false,
    }
}

/// Whether `#[serde(…)]`, or another such attribute, has this word.
fn has_word(attrs: &[Attribute], attribute: &str, word: &str) -> bool {
    attrs.iter().filter(|attr| attr.path().is_ident(attribute)).any(|attr| {
        let Meta::List(list) = &attr.meta else { return false };
        let words = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(list.tokens.clone());
        words.is_ok_and(|words| words.iter().any(|meta| meta.path().is_ident(word)))
    })
}
