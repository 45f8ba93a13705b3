//! What is generated beside an error: the user's code, and a tool that only type-checks.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;

use crate::expand;
use crate::model::{ToolFn, Toolbox};

pub(crate) fn function(errors: &TokenStream, function: &ToolFn) -> TokenStream {
    // A type can't stand in an `impl`, and one that hides a primitive breaks the user's code.
    if function.sig.receiver().is_some() || function.hides_primitive() {
        return quote!(#errors #function);
    }
    let private = function.attr.runtime.private();
    let body = quote! {
        fn function() -> &'static #private::Function {
            #private::unfinished()
        }
    };
    let tool = expand::named(function, &private, &body);
    quote!(#errors #function #tool)
}

pub(crate) fn toolbox(errors: &TokenStream, toolbox: &Toolbox) -> TokenStream {
    let block = &toolbox.block;
    if block.trait_.is_some() {
        return quote!(#errors #block);
    }
    let private = toolbox.runtime.private();
    let made = expand::from_shared(toolbox, &quote!(_), &quote!(#private::unfinished()));
    quote!(#errors #made)
}

/// An `impl` that can't be read, without the marks on its methods; none where it is something else.
pub(crate) fn unread_toolbox(item: &TokenStream) -> Option<TokenStream> {
    let mut words = item.clone().into_iter().skip_while(|token| {
        matches!(token, TokenTree::Punct(_) | TokenTree::Group(_)) || is_word(token, "unsafe")
    });
    words.next().filter(|token| is_word(token, "impl"))?;
    let cleaned = item.clone().into_iter().map(|token| match token {
        TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => {
            let mut cleaned = Group::new(Delimiter::Brace, without_marks(body.stream()));
            cleaned.set_span(body.span());
            TokenTree::Group(cleaned)
        }
        token => token,
    });
    Some(cleaned.collect())
}

/// What stands in the braces of an `impl`, without `#[tool]` and `#[tool(…)]`.
fn without_marks(body: TokenStream) -> TokenStream {
    let mut tokens = body.into_iter().peekable();
    let mut cleaned = TokenStream::new();
    while let Some(token) = tokens.next() {
        let is_hash = matches!(&token, TokenTree::Punct(sign) if sign.as_char() == '#');
        if is_hash && tokens.next_if(is_mark).is_some() {
            continue;
        }
        cleaned.extend([token]);
    }
    cleaned
}

/// `[tool…]`, `[tool_runtime::tool…]`
fn is_mark(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    let path = group.stream().into_iter().take_while(|token| !matches!(token, TokenTree::Group(_)));
    group.delimiter() == Delimiter::Bracket
        && path.last().is_some_and(|last| is_word(&last, "tool"))
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}
