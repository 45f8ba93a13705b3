//! Generates the default and the bounds of an argument, whether it is a parameter or a field.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, Type};

use crate::attr::Bounds;
use crate::path::Runtime;

/// Generates the value of a default; without an expression, that of the type. A text literal is
/// converted into the type. An unsuitable value is reported at the value, a type without a default
/// at the type.
pub(crate) fn default_value(default: Option<&Expr>, ty: &Type, runtime: &Runtime) -> TokenStream {
    match default {
        None => quote_spanned!(ty.span()=> ::core::default::Default::default()),
        Some(expr @ Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(_), .. })) => {
            let private = runtime.private_at(expr.span());
            quote_spanned!(expr.span()=> #private::FromStaticStr::from_static_str(#expr))
        }
        Some(expr) => expr.to_token_stream(),
    }
}

/// Generates the bounds of `range`. A bound of another type is reported at the bound.
pub(crate) fn range_bounds(bounds: &Bounds, runtime: &Runtime) -> TokenStream {
    bound_list(bounds, runtime, |bound| {
        let private = runtime.private_at(bound.span());
        quote_spanned!(bound.span()=> #private::range_bound(#bound))
    })
}

/// Generates the bounds of `length`.
pub(crate) fn length_bounds(bounds: &Bounds, runtime: &Runtime) -> TokenStream {
    bound_list(bounds, runtime, ToTokens::to_token_stream)
}

fn bound_list(
    bounds: &Bounds,
    runtime: &Runtime,
    convert: impl Fn(&Expr) -> TokenStream,
) -> TokenStream {
    let private = runtime.private();
    let [min, max] = [&bounds.min, &bounds.max].map(|bound| match bound {
        None => quote!(#private::None),
        Some(bound) => {
            let bound = convert(bound);
            quote!(#private::Some(#bound))
        }
    });
    quote!(&[#min, #max])
}
