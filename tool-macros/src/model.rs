//! The parsed function or `impl` block. Each part keeps its tokens, at which errors are reported.

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
use crate::path::{Runtime, parse_crate};

/// A function or method under `#[tool]`. Its body is not parsed.
pub(crate) struct ToolFn {
    pub(crate) attr: ToolAttr,
    /// Further `#[tool]` attributes, which are an error.
    pub(crate) duplicates: Vec<Attribute>,
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: TokenStream,
    /// The doc comment.
    pub(crate) doc: Doc,
    pub(crate) params: Vec<Param>,
}

/// An `impl` block under `#[tool]`.
pub(crate) struct Toolbox {
    pub(crate) runtime: Runtime,
    /// The block without the attributes of `#[tool]`.
    pub(crate) block: ItemImpl,
    /// The methods under `#[tool]`.
    pub(crate) tools: Vec<ToolFn>,
}

/// A parameter of a function, except the receiver.
pub(crate) struct Param {
    /// The name; `None` if the parameter is a destructuring pattern.
    pub(crate) name: Option<Ident>,
    pub(crate) passing: Passing,
    pub(crate) doc: Doc,
    pub(crate) attr: ArgAttr,
    /// Attributes that belong on a type or a field, which are an error.
    pub(crate) misplaced: Vec<Attribute>,
}

/// How a parameter is written.
pub(crate) enum Passing {
    /// `T`
    Owned(Box<Type>),
    /// `&T`
    Borrowed(Box<Type>),
}

/// The lines of a doc comment. Each is an expression that evaluates to a text.
#[derive(Default)]
pub(crate) struct Doc(Vec<Expr>);

/// A function with an unparsed body. The compiler reports errors in the body.
struct UnparsedFn {
    attrs: Vec<Attribute>,
    vis: Visibility,
    sig: Signature,
    body: TokenStream,
}

impl Parse for UnparsedFn {
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
    /// Parses a function; returns `None` if the item is something else.
    pub(crate) fn parse(attr: ToolAttr, item: TokenStream, errors: &Errors) -> Option<Self> {
        let UnparsedFn { attrs, vis, sig, body } = syn::parse2(item).ok()?;
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
        let duplicates = attrs.extract_if(.., |attr| is_tool(attr.path())).collect();
        let params = sig.inputs.iter_mut().filter_map(|input| Param::take(input, errors)).collect();
        Self { attr, duplicates, doc: Doc::of(&attrs), attrs, vis, sig, body, params }
    }

    /// Returns the name of the tool.
    pub(crate) fn tool_name(&self) -> String {
        match &self.attr.name {
            Some(name) => name.value.value(),
            None => self.sig.ident.unraw().to_string(),
        }
    }
}

impl Toolbox {
    /// Parses an `impl` block; returns `None` if the item is something else.
    pub(crate) fn parse(attr: TokenStream, item: TokenStream, errors: &Errors) -> Option<Self> {
        let mut block: ItemImpl = syn::parse2(item).ok()?;
        let runtime = runtime(attr, errors);
        let mut tools = Vec::new();
        for item in &mut block.items {
            let ImplItem::Fn(method) = item else { continue };
            let Some(index) = method.attrs.iter().position(|attr| is_tool(attr.path())) else {
                continue;
            };
            let mut attr = match method.attrs.remove(index).meta {
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

/// Whether a path is `tool`, `tool_runtime::tool` or the like. On a method of a toolbox, the
/// attribute is only a marker.
fn is_tool(path: &Path) -> bool {
    path.segments.last().is_some_and(|last| last.ident == "tool")
}

/// Parses the words of `#[tool]` on an `impl` block. The words of a tool belong on its method.
fn runtime(attr: TokenStream, errors: &Errors) -> Runtime {
    match parse_crate(attr.clone()) {
        Some(runtime) => runtime,
        None => {
            errors.at(attr, "on an `impl`, `#[tool]` only takes `crate = path`: put the other words on the methods");
            Runtime::default()
        }
    }
}

impl ToolFn {
    /// Whether the function has the name of a primitive type, which the generated type would
    /// shadow.
    pub(crate) fn shadows_primitive(&self) -> bool {
        const PRIMITIVES: [&str; 17] = [
            "bool", "char", "str", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32",
            "u64", "u128", "usize", "f32", "f64",
        ];
        PRIMITIVES.iter().any(|primitive| self.sig.ident == primitive)
    }
}

impl Param {
    /// Parses a parameter and removes the attributes that the compiler would reject.
    fn take(input: &mut FnArg, errors: &Errors) -> Option<Self> {
        let FnArg::Typed(typed) = input else { return None };
        let attr = ArgAttr::take(&mut typed.attrs, errors);
        let doc = Doc::of(&typed.attrs);
        let has_path =
            |attr: &Attribute, names: &[&str]| names.iter().any(|n| attr.path().is_ident(n));
        let misplaced = typed
            .attrs
            .extract_if(.., |attr| has_path(attr, &["args", "serde", "schemars"]))
            .collect();
        typed.attrs.retain(|attr| !has_path(attr, &["doc"]));
        let name = match typed.pat.as_ref() {
            Pat::Ident(pat) if pat.subpat.is_none() => Some(pat.ident.clone()),
            _ => None,
        };
        let passing = match unwrapped(&typed.ty) {
            Type::Reference(reference) if reference.mutability.is_none() => {
                Passing::Borrowed(reference.elem.clone())
            }
            other => Passing::Owned(Box::new(other.clone())),
        };
        Some(Self { name, passing, doc, attr, misplaced })
    }

    /// Returns the name of the argument; empty if the parameter has none.
    pub(crate) fn argument_name(&self) -> String {
        match (&self.attr.rename, &self.name) {
            (Some(name), _) => name.value(),
            (None, Some(name)) => name.unraw().to_string(),
            (None, None) => String::new(),
        }
    }
}

/// Returns a type without parentheses and without the group around `$ty:ty` of a macro.
fn unwrapped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => unwrapped(&group.elem),
        Type::Paren(paren) => unwrapped(&paren.elem),
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

    /// Whether the doc comment is missing or blank.
    pub(crate) fn is_empty(&self) -> bool {
        self.literal().is_some_and(|text| text.is_empty())
    }

    /// Returns the text if all lines are literals, which `#[doc = include_str!("…")]` is not.
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

/// Writes an expression that evaluates to the text.
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

/// Writes the function without the attributes of `#[tool]`.
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
