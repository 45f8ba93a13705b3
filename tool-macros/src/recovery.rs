//! Generates code in case of errors: the user's code, and a tool that only type-checks.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;

use crate::expand;
use crate::model::{ToolFn, Toolbox};

pub(crate) fn function(errors: &TokenStream, function: &ToolFn) -> TokenStream {
    // An `impl` can't contain a type, and a type with the name of a primitive breaks the user's
    // code.
    if function.sig.receiver().is_some() || function.shadows_primitive() {
        return quote!(#errors #function);
    }
    let private = function.attr.runtime.private();
    let body = quote! {
        fn function() -> &'static #private::Function {
            #private::invalid_tool()
        }
    };
    let tool = expand::named_function(function, &private, &body);
    quote!(#errors #function #tool)
}

pub(crate) fn toolbox(errors: &TokenStream, toolbox: &Toolbox) -> TokenStream {
    let block = &toolbox.block;
    if block.trait_.is_some() {
        return quote!(#errors #block);
    }
    let private = toolbox.runtime.private();
    let body = quote!(#private::invalid_tool());
    let expanded = expand::toolbox_impl(toolbox, &quote!(_), &body);
    quote!(#errors #expanded)
}

/// Returns an `impl` block with a syntax error, without the attributes on its methods; `None` if
/// the item is something else.
pub(crate) fn invalid_toolbox(item: &TokenStream) -> Option<TokenStream> {
    let mut tokens = item.clone().into_iter().skip_while(|token| {
        matches!(token, TokenTree::Punct(_) | TokenTree::Group(_)) || is_ident(token, "unsafe")
    });
    tokens.next().filter(|token| is_ident(token, "impl"))?;
    let cleaned = item.clone().into_iter().map(|token| match token {
        TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => {
            let mut cleaned = Group::new(Delimiter::Brace, without_attributes(body.stream()));
            cleaned.set_span(body.span());
            TokenTree::Group(cleaned)
        }
        token => token,
    });
    Some(cleaned.collect())
}

/// Returns the body of an `impl` block without `#[tool]` and `#[tool(…)]`.
fn without_attributes(body: TokenStream) -> TokenStream {
    let mut tokens = body.into_iter().peekable();
    let mut cleaned = TokenStream::new();
    while let Some(token) = tokens.next() {
        let is_hash = matches!(&token, TokenTree::Punct(sign) if sign.as_char() == '#');
        if is_hash && tokens.next_if(is_tool_attribute).is_some() {
            continue;
        }
        cleaned.extend([token]);
    }
    cleaned
}

/// Whether a token is `[tool…]` or `[tool_runtime::tool…]`.
fn is_tool_attribute(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    let path = group.stream().into_iter().take_while(|token| !matches!(token, TokenTree::Group(_)));
    group.delimiter() == Delimiter::Bracket
        && path.last().is_some_and(|last| is_ident(&last, "tool"))
}

fn is_ident(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}
