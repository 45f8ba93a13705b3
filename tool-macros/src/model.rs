//! What a function's signature says, each piece with the tokens that it came from.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, Expr, ExprLit, FnArg, Ident, Lit, LitStr, Meta, Pat, Signature, Type, Visibility,
};

/// The item under `#[tool]`. Its body is never looked into.
pub(crate) struct ToolFn {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: TokenStream,
    /// The doc comment.
    pub(crate) doc: Doc,
    pub(crate) params: Vec<Param>,
}

/// A parameter; a receiver is none.
pub(crate) struct Param {
    /// Its name, unless it is a pattern that takes a value apart.
    pub(crate) name: Option<Ident>,
    pub(crate) passing: Passing,
    pub(crate) doc: Doc,
}

/// How a parameter is written.
pub(crate) enum Passing {
    /// `T`
    Owned(Box<Type>),
    /// `&T`
    Lent(Box<Type>),
}

/// The lines of a doc comment; each is an expression that is text.
#[derive(Default)]
pub(crate) struct Doc(Vec<Expr>);

impl Parse for ToolFn {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let mut sig: Signature = input.parse()?;
        let body = input.parse()?;
        let params = sig.inputs.iter_mut().filter_map(Param::take).collect();
        Ok(Self { doc: Doc::of(&attrs), attrs, vis, sig, body, params })
    }
}

impl ToolFn {
    /// Whether a type of the function's name would hide one of the language's own.
    pub(crate) fn hides_primitive(&self) -> bool {
        const PRIMITIVES: [&str; 17] = [
            "bool", "char", "str", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32",
            "u64", "u128", "usize", "f32", "f64",
        ];
        PRIMITIVES.iter().any(|primitive| self.sig.ident == primitive)
    }
}

impl Param {
    /// Reads a parameter and takes off it what the compiler would refuse there.
    fn take(input: &mut FnArg) -> Option<Self> {
        let FnArg::Typed(typed) = input else { return None };
        let doc = Doc::of(&typed.attrs);
        typed.attrs.retain(|attr| !attr.path().is_ident("doc"));
        let name = match typed.pat.as_ref() {
            Pat::Ident(pat) if pat.subpat.is_none() => Some(pat.ident.clone()),
            _ => None,
        };
        let passing = match typed.ty.as_ref() {
            Type::Reference(reference) if reference.mutability.is_none() => {
                Passing::Lent(reference.elem.clone())
            }
            other => Passing::Owned(Box::new(other.clone())),
        };
        Some(Self { name, passing, doc })
    }

    /// What the model calls it.
    pub(crate) fn argument_name(&self) -> String {
        self.name.as_ref().map(|name| name.unraw().to_string()).unwrap_or_default()
    }
}

impl Doc {
    fn of(attrs: &[Attribute]) -> Self {
        let lines = attrs.iter().filter_map(|attr| match &attr.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => Some(pair.value.clone()),
            _ => None,
        });
        Self(lines.collect())
    }

    /// Whether there is nothing to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.literal().is_some_and(|text| text.is_empty())
    }

    /// The text, where every line is a plain one; `#[doc = include_str!("…")]` isn't.
    fn literal(&self) -> Option<String> {
        let lines: Option<Vec<String>> = self.0.iter().map(line).collect();
        let text = lines?
            .iter()
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .fold(String::new(), |text, line| text + line.trim_end() + "\n");
        Some(text.trim().to_owned())
    }
}

fn line(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// An expression that is the text.
impl ToTokens for Doc {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        if let Some(text) = self.literal() {
            LitStr::new(&text, proc_macro2::Span::call_site()).to_tokens(tokens);
        } else {
            let lines = &self.0;
            quote::quote!(::core::concat!(#(#lines, "\n"),*)).to_tokens(tokens);
        }
    }
}

/// The function as the user wrote it, less what only `#[tool]` understands.
impl ToTokens for ToolFn {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        for attr in &self.attrs {
            attr.to_tokens(tokens);
        }
        self.vis.to_tokens(tokens);
        self.sig.to_tokens(tokens);
        self.body.to_tokens(tokens);
    }
}
