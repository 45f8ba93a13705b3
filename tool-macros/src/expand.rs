//! From the model to tokens. Nothing is decided here.

mod words;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Ident, ReturnType, Type};

use self::words::words;
use crate::attr::Lone;
use crate::model::{Param, Passing, ToolFn, Toolbox};
use crate::path::Runtime;

/// The user's function, and the tool beside it.
pub(crate) fn function(function: &ToolFn) -> TokenStream {
    let private = function.attr.runtime.private();
    let made = made(function, &private, None);
    let tool = named(
        function,
        &private,
        &quote! {
            fn function() -> &'static #private::Function {
                static __TOOL_FUNCTION: #private::LazyLock<#private::Function> =
                    #private::LazyLock::new(|| #made);
                &__TOOL_FUNCTION
            }
        },
    );
    quote!(#function #tool)
}

/// A type of the function's name, which `tools![…]` turns into the tool that `body` gives.
pub(crate) fn named(function: &ToolFn, private: &TokenStream, body: &TokenStream) -> TokenStream {
    let ident = &function.sig.ident;
    let vis = &function.vis;
    let cfgs: Vec<_> = cfgs(function).collect();
    quote! {
        #(#cfgs)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, reason = "it is named like its function")]
        #vis struct #ident {}

        #(#cfgs)*
        #[automatically_derived]
        #[allow(deprecated, reason = "the function may be, and is called all the same")]
        impl #private::NamesFunction for #ident {
            #body
        }
    }
}

/// The user's `impl`, and its methods as tools.
pub(crate) fn toolbox(toolbox: &Toolbox) -> TokenStream {
    let private = toolbox.runtime.private();
    let state = Ident::new("state", Span::mixed_site());
    let tools = toolbox.tools.iter().map(|tool| {
        let cfgs = cfgs(tool);
        let made = made(tool, &private, Some(&state));
        quote!(#(#cfgs)* tools.push(#made);)
    });
    let made = quote! {
        let mut tools = #private::Vec::new();
        #(#tools)*
        tools
    };
    from_shared(toolbox, &quote!(#state), &made)
}

/// The user's `impl`, and beside it that of a toolbox whose tools `made` gives.
pub(crate) fn from_shared(
    toolbox: &Toolbox,
    state: &TokenStream,
    made: &TokenStream,
) -> TokenStream {
    let private = toolbox.runtime.private();
    let block = &toolbox.block;
    let ty = &block.self_ty;
    let cfgs = block.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    let (generics, _, bounds) = block.generics.split_for_impl();
    let bounds = bounds.map(|bounds| &bounds.predicates);
    quote! {
        #block

        #(#cfgs)*
        #[automatically_derived]
        #[allow(deprecated, reason = "a method may be, and is called all the same")]
        impl #generics #private::Toolbox for #ty
        where
            Self: #private::Send + #private::Sync + 'static,
            #bounds
        {
            fn from_shared(#state: #private::Arc<Self>) -> #private::Vec<#private::Function> {
                #made
            }
        }
    }
}

fn cfgs(function: &ToolFn) -> impl Iterator<Item = &Attribute> {
    function.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
}

/// The tool as a value.
fn made(function: &ToolFn, private: &TokenStream, state: Option<&Ident>) -> TokenStream {
    let attr = &function.attr;
    let name = function.tool_name();
    let description = match &attr.description {
        Some(word) => word.value.to_token_stream(),
        None => function.doc.to_token_stream(),
    };
    let fits = function.params.iter().map(|param| fits(param, private));
    let params = || function.params.iter().zip(0..);
    let kinds = params().map(|(param, index)| {
        let (kind, pick) = (kind_name(index), pick(param, private));
        quote!(let #kind = #pick;)
    });
    let parameters = params().map(|(param, index)| {
        let (kind, name) = (kind_name(index), param.argument_name());
        let doc = match &param.attr.description {
            Some(text) => text.to_token_stream(),
            None => param.doc.to_token_stream(),
        };
        quote!(#private::Param::parameter(&#kind, #name, #doc))
    });
    let lone = match function.params.iter().find_map(|param| param.attr.lone.as_ref()) {
        Some((_, Lone::Whole)) => quote!(Whole),
        Some((_, Lone::Named)) => quote!(Named),
        // What is said of an argument makes it one.
        None if function.params.iter().any(|param| param.attr.says_something()) => quote!(Named),
        None => quote!(ByType),
    };
    let call = call(function, private, state);
    let (defaults, shown) = defaults(function, private);
    let secrets = function.params.iter().filter(|param| param.attr.secret).map(|param| {
        let name = param.argument_name();
        quote!(.secret(#name))
    });
    let words = words(attr, private);
    let output = output(function, private);
    quote! {{
        use #private::{Bare as _, NoSchema as _, NotShown as _, PickLent as _, PickOwned as _};
        #(#fits)*
        #(#kinds)*
        #defaults
        #private::Function::new(
            #name, #description, &[#(#parameters),*], #private::Lone::#lone, #call,
        )#shown #(#secrets)* #words #output
    }}
}

/// What the parameter at `index` is, as a value without size.
fn kind_name(index: usize) -> Ident {
    Ident::new(&format!("kind{index}"), Span::mixed_site())
}

/// The closure that calls the function with its decoded parameters.
fn call(function: &ToolFn, private: &TokenStream, state: Option<&Ident>) -> TokenStream {
    // Names of our own that no name of the user's can meet.
    let (input, ctx) =
        (Ident::new("input", Span::mixed_site()), Ident::new("ctx", Span::mixed_site()));
    let slots: Vec<_> = (0..function.params.len())
        .map(|index| Ident::new(&format!("slot{index}"), Span::mixed_site()))
        .collect();
    let read = slots.iter().enumerate().map(|(index, slot)| {
        let kind = kind_name(index);
        quote! {
            let #slot = match #private::Param::read(&#kind, #input, #index) {
                #private::Ok(slot) => slot,
                #private::Err(misread) => return #private::Err(misread),
            };
        }
    });
    let params = || function.params.iter().zip(&slots);
    let filled = params().zip(0..).filter_map(|((param, slot), index)| {
        param.attr.default.as_ref()?;
        let default = default_name(index);
        Some(quote!(let #slot = #slot.or_else(#default);))
    });
    let passed = params().map(|(param, slot)| match param.passing {
        Passing::Owned(_) => quote!(#slot.give(#ctx)),
        Passing::Lent(_) => quote!(#slot.lend(#ctx)),
    });
    let ident = &function.sig.ident;
    let callee = match (state, function.sig.receiver()) {
        (Some(state), Some(_)) => quote!(Self::#ident(&#state, #(#passed),*)),
        (Some(_), None) => quote!(Self::#ident(#(#passed),*)),
        (None, _) => quote!(#ident(#(#passed),*)),
    };
    let waited = function.sig.asyncness.map(|_| quote!(.await));
    // What can't be sent to a model is reported at the argument, so it takes the type's place.
    let returned = match &function.sig.output {
        ReturnType::Type(_, ty) => {
            let private = function.attr.runtime.private_at(ty.span());
            quote_spanned! {ty.span()=>
                match #private::Returned(#callee #waited).__split() {
                    #private::Ok(value) => #private::Output::output(value),
                    #private::Err(error) => #private::Err(#private::Failure::failure(error)),
                }
            }
        }
        ReturnType::Default => quote!({ #callee #waited; #private::Output::output(()) }),
    };
    let body = quote!(#(#filled)* #returned);
    let run = match function.sig.asyncness {
        // What can't be sent between threads is reported at the function.
        Some(_) => {
            let private = function.attr.runtime.private_at(ident.span());
            quote_spanned!(ident.span()=> #private::Box::pin(async move { #body }))
        }
        None => quote!(#private::on_blocking_thread(#ctx, move |#ctx| { #body })),
    };
    let state = state.filter(|_| function.sig.receiver().is_some());
    let share = state.map(|state| quote!(let #state = #private::Arc::clone(&#state);));
    quote! {{
        #share
        #private::Box::new(move |#input, #ctx| {
            #(#read)*
            #share
            #private::Ok(#run)
        })
    }}
}

/// The one place where the type of a parameter is asked for more than its name.
fn fits(param: &Param, private: &TokenStream) -> TokenStream {
    match &param.passing {
        // The name decides on the words of the error alone.
        Passing::Owned(ty) if is_named_like_context(ty) => {
            quote!(<#ty as #private::ByValue>::FITS;)
        }
        Passing::Owned(ty) => quote!(<#ty as #private::Argument>::FITS;),
        Passing::Lent(ty) => quote!(<#ty as #private::BorrowedArgument>::FITS;),
    }
}

fn is_named_like_context(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "ToolContext")
}

fn pick(param: &Param, private: &TokenStream) -> TokenStream {
    let pick = match &param.passing {
        Passing::Owned(ty) => quote!(#private::Owned::<#ty>::new().__pick()),
        Passing::Lent(ty) => quote!(#private::Lent::<#ty>::new().__pick()),
    };
    match &param.attr.default {
        Some(_) => quote!(#private::defaulted(#pick)),
        None => pick,
    }
}

/// The expression that a parameter is when the model leaves it out. A text literal stands for
/// whatever text becomes. What doesn't fit the type is reported at the value, or at the type.
fn default_value(param: &Param, private: &Runtime) -> Option<TokenStream> {
    Some(match param.attr.default.as_ref()? {
        None => {
            let (Passing::Owned(ty) | Passing::Lent(ty)) = &param.passing;
            quote_spanned!(ty.span()=> ::core::default::Default::default())
        }
        Some(expr @ syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(_), .. })) => {
            let private = private.private_at(expr.span());
            quote_spanned!(expr.span()=> #private::FromText::from_text(#expr))
        }
        Some(expr) => expr.to_token_stream(),
    })
}

fn default_name(index: usize) -> Ident {
    Ident::new(&format!("default{index}"), Span::mixed_site())
}

/// The defaults as functions, each written once; and what the schema shows of them.
fn defaults(function: &ToolFn, private: &TokenStream) -> (TokenStream, TokenStream) {
    let (mut made, mut shown) = (TokenStream::new(), TokenStream::new());
    for (index, param) in function.params.iter().enumerate() {
        let Some(value) = default_value(param, &function.attr.runtime) else { continue };
        let default = default_name(index);
        let kept = match &param.passing {
            Passing::Owned(ty) => ty.to_token_stream(),
            Passing::Lent(ty) => quote!(<#ty as #private::ToOwned>::Owned),
        };
        let name = param.argument_name();
        made.extend(quote!(let #default: fn() -> #kept = || #value;));
        shown.extend(quote!(.default(#name, #private::Shown(#default()).__json())));
    }
    (made, shown)
}

/// The schema of what is returned, where its type has one and can be named.
fn output(function: &ToolFn, private: &TokenStream) -> TokenStream {
    match &function.sig.output {
        ReturnType::Type(_, ty) if can_be_named(ty) => {
            quote!(.output(#private::Returns::<#ty>::new().__value().__schema()))
        }
        _ => TokenStream::new(),
    }
}

/// Whether no part of a type is `impl Trait`.
fn can_be_named(ty: &Type) -> bool {
    !ty.to_token_stream().to_string().split_whitespace().any(|word| word == "impl")
}
