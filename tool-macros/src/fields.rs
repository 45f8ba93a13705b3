//! `#[arg(…)]` on the fields of args structs: each word becomes an attribute of serde or schemars
//! with the meaning that the word has on a parameter.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Field, Fields, Ident, Type, parse_quote};

use crate::attr::ArgAttr;
use crate::errors::Errors;
use crate::expand::{default_value, length_bounds, range_bounds};
use crate::path::Runtime;

/// Replaces `#[arg(…)]` of the fields. Returns the functions that the attributes name.
pub(crate) fn expand_fields(
    input: &mut DeriveInput,
    runtime: &Runtime,
    errors: &Errors,
) -> TokenStream {
    let ident = input.ident.clone();
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let turbofish = arguments.as_turbofish();
    let owner = quote!(#ident #turbofish);
    let mut functions = TokenStream::new();
    let fields: Vec<(String, &mut Field)> = match &mut input.data {
        Data::Struct(data) => named("", &mut data.fields),
        Data::Enum(data) => data
            .variants
            .iter_mut()
            .flat_map(|variant| named(&variant.ident.to_string(), &mut variant.fields))
            .collect(),
        Data::Union(_) => Vec::new(),
    };
    for (name, field) in fields {
        let arg = ArgAttr::take_of_field(&mut field.attrs, errors);
        let default = Ident::new(&format!("__default_of_{name}"), Span::call_site());
        if let Some(Some(value)) = &arg.default {
            functions.extend(default_function(
                &default,
                Some(value),
                &field.ty,
                runtime,
                &field.attrs,
            ));
        }
        add_attributes(&mut field.attrs, &arg, &quote!(#owner::#default), runtime);
    }
    if functions.is_empty() {
        return TokenStream::new();
    }
    let cfgs = input.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    quote! {
        #(#cfgs)*
        #[allow(non_snake_case, reason = "the functions have the names of fields and variants")]
        impl #generics #ident #arguments #bounds {
            #functions
        }
    }
}

/// Returns the fields with names that are unique in the type.
fn named<'f>(variant: &str, fields: &'f mut Fields) -> Vec<(String, &'f mut Field)> {
    let name = |(index, field): (usize, &'f mut Field)| {
        let field_name = field.ident.as_ref().map_or_else(
            || index.to_string(),
            |ident| syn::ext::IdentExt::unraw(ident).to_string(),
        );
        (format!("{variant}_{field_name}"), field)
    };
    fields.iter_mut().enumerate().map(name).collect()
}

fn default_function(
    name: &Ident,
    default: Option<&syn::Expr>,
    ty: &Type,
    runtime: &Runtime,
    attrs: &[Attribute],
) -> TokenStream {
    let value = default_value(default, ty, runtime);
    let cfgs = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    quote! {
        #(#cfgs)*
        #[doc(hidden)]
        fn #name() -> #ty {
            #value
        }
    }
}

fn add_attributes(
    attrs: &mut Vec<Attribute>,
    arg: &ArgAttr,
    default: &TokenStream,
    runtime: &Runtime,
) {
    let private = runtime.private();
    if let Some(name) = &arg.rename {
        attrs.push(parse_quote!(#[serde(rename = #name)]));
    }
    if let Some(text) = &arg.description {
        attrs.push(parse_quote!(#[schemars(description = #text)]));
    }
    match &arg.default {
        None => {}
        Some(None) => attrs.push(parse_quote!(#[serde(default)])),
        Some(Some(_)) => {
            let path = default.to_string();
            attrs.push(parse_quote!(#[serde(default = #path)]));
        }
    }
    if let Some(rule) = &arg.range {
        let bounds = range_bounds(rule, runtime);
        attrs.push(parse_quote! {
            #[schemars(extend("x-tool-runtime-range" = #private::range_mark(#bounds)))]
        });
    }
    if let Some(rule) = &arg.length {
        let bounds = length_bounds(rule, runtime);
        attrs.push(parse_quote! {
            #[schemars(extend("x-tool-runtime-length" = #private::length_mark(#bounds)))]
        });
    }
    if arg.secret {
        attrs.push(parse_quote!(#[schemars(extend("writeOnly" = true))]));
    }
}
