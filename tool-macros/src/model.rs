//! What a function's signature says, each piece with the tokens that it came from.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, Expr, ExprLit, FnArg, Ident, ImplItem, ItemImpl, Lit, LitStr, Meta, Pat, Path,
    Signature, Type, Visibility,
};

use crate::attr::{ArgAttr, ToolAttr};
use crate::errors::Errors;
use crate::path::{Runtime, runtime_only};

/// The function or method under `#[tool]`. Its body is never looked into.
pub(crate) struct ToolFn {
    pub(crate) attr: ToolAttr,
    /// What says `#[tool]` again.
    pub(crate) again: Vec<Attribute>,
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: TokenStream,
    /// The doc comment.
    pub(crate) doc: Doc,
    pub(crate) params: Vec<Param>,
}

/// The `impl` under `#[tool]`.
pub(crate) struct Toolbox {
    pub(crate) runtime: Runtime,
    /// The block as the user wrote it, less what only `#[tool]` understands.
    pub(crate) block: ItemImpl,
    /// Its methods under `#[tool]`.
    pub(crate) tools: Vec<ToolFn>,
}

/// A parameter; a receiver is none.
pub(crate) struct Param {
    /// Its name, unless it is a pattern that takes a value apart.
    pub(crate) name: Option<Ident>,
    pub(crate) passing: Passing,
    pub(crate) doc: Doc,
    pub(crate) attr: ArgAttr,
    /// Attributes of types and their fields, which mean nothing here.
    pub(crate) foreign: Vec<Attribute>,
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

/// A function whose body is tokens: the compiler reads it, and reports what is wrong with it.
struct Shell {
    attrs: Vec<Attribute>,
    vis: Visibility,
    sig: Signature,
    body: TokenStream,
}

impl Parse for Shell {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attrs: input.call(Attribute::parse_outer)?,
            vis: input.parse()?,
            sig: input.parse()?,
            body: input.parse()?,
        })
    }
}

impl ToolFn {
    /// Reads a function; none where it isn't one.
    pub(crate) fn read(attr: ToolAttr, item: TokenStream, errors: &Errors) -> Option<Self> {
        let Shell { attrs, vis, sig, body } = syn::parse2(item).ok()?;
        Some(Self::new(attr, attrs, vis, sig, body, errors))
    }

    fn new(
        attr: ToolAttr,
        mut attrs: Vec<Attribute>,
        vis: Visibility,
        mut sig: Signature,
        body: TokenStream,
        errors: &Errors,
    ) -> Self {
        let again = attrs.extract_if(.., |attr| is_tool(attr.path())).collect();
        let params = sig.inputs.iter_mut().filter_map(|input| Param::take(input, errors)).collect();
        Self { attr, again, doc: Doc::of(&attrs), attrs, vis, sig, body, params }
    }

    /// The name that the model calls.
    pub(crate) fn tool_name(&self) -> String {
        match &self.attr.name {
            Some(name) => name.value.value(),
            None => self.sig.ident.unraw().to_string(),
        }
    }
}

impl Toolbox {
    /// Reads an `impl`; none where it isn't one.
    pub(crate) fn read(attr: TokenStream, item: TokenStream, errors: &Errors) -> Option<Self> {
        let mut block: ItemImpl = syn::parse2(item).ok()?;
        let runtime = runtime(attr, errors);
        let mut tools = Vec::new();
        for item in &mut block.items {
            let ImplItem::Fn(method) = item else { continue };
            let Some(place) = method.attrs.iter().position(|attr| is_tool(attr.path())) else {
                continue;
            };
            let mut attr = match method.attrs.remove(place).meta {
                Meta::List(list) => ToolAttr::parse(list.tokens, errors),
                _ => ToolAttr::default(),
            };
            attr.runtime = attr.runtime.or(&runtime);
            let (attrs, vis) = (method.attrs.clone(), method.vis.clone());
            let body = method.block.to_token_stream();
            let tool = ToolFn::new(attr, attrs, vis, method.sig.clone(), body, errors);
            method.attrs = tool.attrs.clone();
            method.sig = tool.sig.clone();
            tools.push(tool);
        }
        Some(Self { runtime, block, tools })
    }
}

/// `tool`, `tool_runtime::tool` and the like: within what `#[tool]` reads, the attribute is only a mark.
fn is_tool(path: &Path) -> bool {
    path.segments.last().is_some_and(|last| last.ident == "tool")
}

/// The words of a toolbox: those of tools stand on its methods.
fn runtime(attr: TokenStream, errors: &Errors) -> Runtime {
    match runtime_only(attr.clone()) {
        Some(runtime) => runtime,
        None => {
            errors.at(attr, "an `impl` takes no words but `crate = path`: put them on its methods");
            Runtime::default()
        }
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
    fn take(input: &mut FnArg, errors: &Errors) -> Option<Self> {
        let FnArg::Typed(typed) = input else { return None };
        let attr = ArgAttr::take(&mut typed.attrs, errors);
        let doc = Doc::of(&typed.attrs);
        let is = |attr: &Attribute, names: &[&str]| names.iter().any(|n| attr.path().is_ident(n));
        let foreign =
            typed.attrs.extract_if(.., |attr| is(attr, &["args", "serde", "schemars"])).collect();
        typed.attrs.retain(|attr| !is(attr, &["doc"]));
        let name = match typed.pat.as_ref() {
            Pat::Ident(pat) if pat.subpat.is_none() => Some(pat.ident.clone()),
            _ => None,
        };
        let passing = match written(&typed.ty) {
            Type::Reference(reference) if reference.mutability.is_none() => {
                Passing::Lent(reference.elem.clone())
            }
            other => Passing::Owned(Box::new(other.clone())),
        };
        Some(Self { name, passing, doc, attr, foreign })
    }

    /// What the model calls it.
    pub(crate) fn argument_name(&self) -> String {
        match (&self.attr.rename, &self.name) {
            (Some(name), _) => name.value(),
            (None, Some(name)) => name.unraw().to_string(),
            (None, None) => String::new(),
        }
    }
}

/// A type as the user wrote it: `$ty:ty` of a macro, and parentheses, come in a wrapper.
fn written(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => written(&group.elem),
        Type::Paren(paren) => written(&paren.elem),
        other => other,
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
