//! Generates the code from the model. It makes no decisions.

mod argument;
mod call;
mod words;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Ident, ReturnType, Type};

pub(crate) use self::argument::{default_value, length_bounds, range_bounds};
use self::call::{call, check};
use self::words::words;
use crate::attr::LoneParameter;
use crate::model::{Param, Passing, ToolFn, Toolbox};
use crate::path::Runtime;

/// Generates the function of the user and its tool.
pub(crate) fn function(function: &ToolFn) -> TokenStream {
    let private = function.attr.runtime.private();
    let value = function_value(function, &private, None);
    let tool = named_function(
        function,
        &private,
        &quote! {
            fn function() -> &'static #private::Function {
                static __TOOL_FUNCTION: #private::LazyLock<#private::Function> =
                    #private::LazyLock::new(|| #value);
                &__TOOL_FUNCTION
            }
        },
    );
    quote!(#function #tool)
}

/// Generates a type with the name of the function, whose tool `tools![…]` gets from `body`.
pub(crate) fn named_function(
    function: &ToolFn,
    private: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    let ident = &function.sig.ident;
    let vis = &function.vis;
    let cfgs: Vec<_> = cfgs(function).collect();
    quote! {
        #(#cfgs)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, reason = "the type has the name of its function")]
        #vis struct #ident {}

        #(#cfgs)*
        #[automatically_derived]
        #[allow(deprecated, reason = "the function may be deprecated")]
        impl #private::ToolFunction for #ident {
            #body
        }
    }
}

/// Generates the `impl` block of the user and the tools of its methods.
pub(crate) fn toolbox(toolbox: &Toolbox) -> TokenStream {
    let private = toolbox.runtime.private();
    let state = Ident::new("state", Span::mixed_site());
    let tools = toolbox.tools.iter().map(|tool| {
        let cfgs = cfgs(tool);
        let value = function_value(tool, &private, Some(&state));
        quote!(#(#cfgs)* tools.push(#value);)
    });
    let body = quote! {
        let mut tools = #private::Vec::new();
        #(#tools)*
        tools
    };
    toolbox_impl(toolbox, &quote!(#state), &body)
}

/// Generates the `impl` block of the user and the implementation of `Toolbox`, with `body` as its
/// method.
pub(crate) fn toolbox_impl(
    toolbox: &Toolbox,
    state: &TokenStream,
    body: &TokenStream,
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
        #[allow(deprecated, reason = "a method may be deprecated")]
        impl #generics #private::Toolbox for #ty
        where
            Self: #private::Send + #private::Sync + 'static,
            #bounds
        {
            fn from_shared(#state: #private::Arc<Self>) -> #private::Vec<#private::Function> {
                #body
            }
        }
    }
}

fn cfgs(function: &ToolFn) -> impl Iterator<Item = &Attribute> {
    function.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
}

/// Generates the `Function` of a tool.
fn function_value(function: &ToolFn, private: &TokenStream, state: Option<&Ident>) -> TokenStream {
    let attr = &function.attr;
    let name = function.tool_name();
    let description = match &attr.description {
        Some(word) => word.value.to_token_stream(),
        None => function.doc.to_token_stream(),
    };
    let fits = function.params.iter().map(|param| fits(param, private));
    let params = || function.params.iter().zip(0..);
    let kinds = kinds(function, private);
    let parameters = params().map(|(param, index)| {
        let (kind, name) = (kind_name(index), param.argument_name());
        let doc = match &param.attr.description {
            Some(text) => text.to_token_stream(),
            None => param.doc.to_token_stream(),
        };
        quote!(#private::Param::parameter(&#kind, #name, #doc))
    });
    let lone = match function.params.iter().find_map(|param| param.attr.lone.as_ref()) {
        Some((_, LoneParameter::ArgsStruct)) => quote!(ArgsStruct),
        Some((_, LoneParameter::Named)) => quote!(Named),
        // A word that describes an argument makes the parameter an argument.
        None if function.params.iter().any(|param| param.attr.describes_argument()) => {
            quote!(Named)
        }
        None => quote!(ByType),
    };
    let call = call(function, private, state);
    let (defaults, default_values) = defaults(function, private);
    let secrets = function.params.iter().filter(|param| param.attr.secret).map(|param| {
        let name = param.argument_name();
        quote!(.secret(#name))
    });
    let rules = function.params.iter().map(|param| rules(param, &attr.runtime));
    let words = words(attr, private, state.filter(|_| function.sig.receiver().is_some()));
    let check = check(function, private, state);
    let output = output(function, private);
    quote! {{
        use #private::{
            NoSchema as _, NotResult as _, NotSerializable as _, SelectBorrowed as _, SelectOwned as _,
        };
        #(#fits)*
        #kinds
        #defaults
        #private::Function::new(
            #name, #description, &[#(#parameters),*], #private::LoneParameter::#lone, #call,
        )#default_values #(#rules)* #(#secrets)* #words #check #output
    }}
}

/// Generates the calls that add the rules of an argument to its schema.
fn rules(param: &Param, runtime: &Runtime) -> TokenStream {
    let name = param.argument_name();
    let range = param.attr.range.as_ref().map(|rule| {
        let bounds = range_bounds(rule, runtime);
        quote!(.range(#name, #bounds))
    });
    let length = param.attr.length.as_ref().map(|rule| {
        let bounds = length_bounds(rule, runtime);
        quote!(.length(#name, #bounds))
    });
    quote!(#range #length)
}

/// Generates the variables that hold the kinds of the parameters.
fn kinds(function: &ToolFn, private: &TokenStream) -> TokenStream {
    let params = function.params.iter().zip(0..);
    let kinds = params.map(|(param, index)| {
        let (kind, select) = (kind_name(index), select(param, private));
        quote!(let #kind = #select;)
    });
    kinds.collect()
}

/// Returns the variable that holds the kind of the parameter at `index`, a value without size.
fn kind_name(index: usize) -> Ident {
    Ident::new(&format!("kind{index}"), Span::mixed_site())
}

/// Generates the check of a type. No other generated code has bounds on the types of parameters.
fn fits(param: &Param, private: &TokenStream) -> TokenStream {
    match &param.passing {
        // The name of the type only affects the error message.
        Passing::Owned(ty) if is_named_like_context(ty) => {
            quote!(<#ty as #private::OwnedArgument>::FITS;)
        }
        Passing::Owned(ty) => quote!(<#ty as #private::Argument>::FITS;),
        Passing::Borrowed(ty) => quote!(<#ty as #private::BorrowedArgument>::FITS;),
    }
}

fn is_named_like_context(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "ToolContext")
}

/// Generates the expression that selects the kind of a parameter.
fn select(param: &Param, private: &TokenStream) -> TokenStream {
    let select = match &param.passing {
        Passing::Owned(ty) => quote!(#private::OwnedParam::<#ty>::new().__select()),
        Passing::Borrowed(ty) => quote!(#private::BorrowedParam::<#ty>::new().__select()),
    };
    match &param.attr.default {
        Some(_) => quote!(#private::with_default(#select)),
        None => select,
    }
}

fn default_name(index: usize) -> Ident {
    Ident::new(&format!("default{index}"), Span::mixed_site())
}

/// Generates a function for each default, and the method calls that add the defaults to the schema.
fn defaults(function: &ToolFn, private: &TokenStream) -> (TokenStream, TokenStream) {
    let (mut functions, mut in_schema) = (TokenStream::new(), TokenStream::new());
    for (index, param) in function.params.iter().enumerate() {
        let Some(default) = &param.attr.default else { continue };
        let (Passing::Owned(ty) | Passing::Borrowed(ty)) = &param.passing;
        let value = default_value(default.as_ref(), ty, &function.attr.runtime);
        let default = default_name(index);
        let owned = match &param.passing {
            Passing::Owned(ty) => ty.to_token_stream(),
            Passing::Borrowed(ty) => quote!(<#ty as #private::ToOwned>::Owned),
        };
        let name = param.argument_name();
        functions.extend(quote!(let #default: fn() -> #owned = || #value;));
        in_schema.extend(quote!(.default(#name, #private::DefaultValue(#default()).__json())));
    }
    (functions, in_schema)
}

/// Generates the call that sets the schema of the output, if the return type can be named.
fn output(function: &ToolFn, private: &TokenStream) -> TokenStream {
    match &function.sig.output {
        ReturnType::Type(_, ty) if can_be_named(ty) => {
            quote!(.output(#private::ReturnType::<#ty>::new().__value().__schema()))
        }
        _ => TokenStream::new(),
    }
}

/// Whether a type contains no `impl Trait`.
fn can_be_named(ty: &Type) -> bool {
    !ty.to_token_stream().to_string().split_whitespace().any(|word| word == "impl")
}
