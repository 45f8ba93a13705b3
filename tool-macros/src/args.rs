//! `#[args]`: two derives, and the paths that they need.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Field, Fields, Meta, Path, Token, parse_quote};

use crate::attr::ArgAttr;
use crate::errors::Errors;
use crate::path::{Runtime, runtime_only};

/// `#[args(attr)] item`
pub(crate) fn args(attr: TokenStream, item: TokenStream) -> TokenStream {
    let errors = Errors::new();
    let runtime = runtime_only(attr.clone()).unwrap_or_else(|| {
        errors.at(attr, "`#[args]` takes no words but `crate = path`");
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

    read_fields(&mut input, &errors);
    owns_what_it_holds(&input, &errors);
    let fits = fits(&input, &runtime.private());
    let derives = derives(&input, &errors, &runtime.private());
    let serde = runtime.reexport(&quote!(serde));
    let schemars = runtime.reexport(&quote!(schemars));
    let strict = closes(&input).then(|| quote!(, deny_unknown_fields));
    let errors = errors.into_tokens();
    quote! {
        #errors
        #fits
        #[derive(#(#derives),*)]
        #[serde(crate = #serde #strict)]
        #[schemars(crate = #schemars)]
        #input
    }
}

/// `#[arg(secret)]` of a field, as its schema says it; and takes off a field what goes on the type.
fn read_fields(input: &mut DeriveInput, errors: &Errors) {
    let fields: Vec<&mut Field> = match &mut input.data {
        Data::Struct(data) => data.fields.iter_mut().collect(),
        Data::Enum(data) => {
            data.variants.iter_mut().flat_map(|variant| &mut variant.fields).collect()
        }
        Data::Union(_) => Vec::new(),
    };
    for field in fields {
        if ArgAttr::take_secret(&mut field.attrs, errors) {
            field.attrs.push(parse_quote!(#[schemars(extend("writeOnly" = true))]));
        }
        for misplaced in field.attrs.extract_if(.., |attr| attr.path().is_ident("args")) {
            errors.at(
                misplaced,
                "`#[args]` goes on the type: rules of a field are `#[schemars(range(min = 1))]` and \
                 the like, and of ours it takes `#[arg(secret)]`",
            );
        }
    }
}

/// Arguments are decoded for one call and gone after it.
fn owns_what_it_holds(input: &DeriveInput, errors: &Errors) {
    for lifetime in input.generics.lifetimes() {
        errors.at(
            &lifetime.lifetime,
            "arguments own what they hold: take `String` for `&'a str`, `Vec<T>` for `&'a [T]`",
        );
    }
}

/// Asks each type of a field whether it can be an argument, for the derives' own errors about one
/// that can't speak of traits that the user need not know. Generic types are left to them, and
/// fields that have a way of their own.
fn fits(input: &DeriveInput, private: &TokenStream) -> Option<TokenStream> {
    let own_ways =
        ["skip", "skip_deserializing", "with", "deserialize_with", "flatten", "schema_with"];
    let fields: Vec<&Field> = match &input.data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.fields).collect(),
        Data::Union(_) => Vec::new(),
    };
    let plain = fields.into_iter().filter(|field| {
        let has_way =
            |word: &str| ["serde", "schemars"].iter().any(|by| says(&field.attrs, by, word));
        !own_ways.into_iter().any(has_way) && !is_cfg(&field.attrs)
    });
    let types: Vec<_> = plain.map(|field| &field.ty).collect();
    (input.generics.params.is_empty() && !types.is_empty()).then(|| {
        let cfgs = input.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
        quote! {
            #(#cfgs)*
            const _: () = { #(<#types as #private::Argument>::FITS;)* };
        }
    })
}

fn is_cfg(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr"))
}

/// What is derived. What the user derives as well is an error, and left to them: twice derived would
/// be another, which speaks of conflicting impls.
fn derives(input: &DeriveInput, errors: &Errors, private: &TokenStream) -> Vec<TokenStream> {
    let mut theirs = Vec::new();
    for attr in input.attrs.iter().filter(|attr| attr.path().is_ident("derive")) {
        let derived = attr.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
        for path in derived.into_iter().flatten() {
            let last = path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
            if ["Deserialize", "JsonSchema"].contains(&last.as_str()) {
                errors.at(&path, format!("`#[args]` derives `{last}` already: remove it here"));
                theirs.push(last);
            }
        }
    }
    let ours = [
        ("Deserialize", quote!(#private::serde::Deserialize)),
        ("JsonSchema", quote!(#private::schemars::JsonSchema)),
    ];
    let ours = ours.into_iter().filter(|(name, _)| !theirs.iter().any(|their| their == name));
    ours.map(|(_, path)| path).collect()
}

/// Whether to refuse members that the type doesn't know. Where serde can't (`flatten`), where the
/// members are another type's (`transparent`, `from` …) or where the user has said so, it's left.
fn closes(input: &DeriveInput) -> bool {
    let elsewhere =
        ["transparent", "from", "try_from", "remote", "untagged", "deny_unknown_fields"];
    if elsewhere.iter().any(|word| says(&input.attrs, "serde", word)) {
        return false;
    }
    let closed = |fields: &Fields| match fields {
        Fields::Named(fields) => {
            !fields.named.iter().any(|field| says(&field.attrs, "serde", "flatten"))
        }
        // Beside a tag, the members are those of the type inside.
        Fields::Unnamed(_) => {
            !says(&input.attrs, "serde", "tag") || says(&input.attrs, "serde", "content")
        }
        Fields::Unit => true,
    };
    match &input.data {
        Data::Struct(data) => matches!(data.fields, Fields::Named(_)) && closed(&data.fields),
        Data::Enum(data) => data.variants.iter().all(|variant| closed(&variant.fields)),
        Data::Union(_) => false,
    }
}

/// Whether `#[serde(…)]`, or another such attribute, has this word.
fn says(attrs: &[Attribute], attribute: &str, word: &str) -> bool {
    attrs.iter().filter(|attr| attr.path().is_ident(attribute)).any(|attr| {
        let Meta::List(list) = &attr.meta else { return false };
        let words = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(list.tokens.clone());
        words.is_ok_and(|words| words.iter().any(|given| given.path().is_ident(word)))
    })
}
