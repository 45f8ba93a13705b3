//! Number literals in attributes.

use syn::{Expr, ExprLit, ExprUnary, Lit, LitInt, UnOp};

/// Returns the value of a number literal.
pub(super) fn number_of(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse().ok(),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => number_of(expr).map(|it| -it),
        Expr::Group(group) => number_of(&group.expr),
        _ => None,
    }
}

/// Gives an integer literal without a type the type `i64`, or `u64` if it is larger. The compiler
/// would choose `i32` where any number fits.
pub(super) fn widened(mut expr: Expr) -> Expr {
    match &mut expr {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) if number.suffix().is_empty() => {
            let ty = if number.base10_parse::<i64>().is_ok() { "i64" } else { "u64" };
            *number = LitInt::new(&format!("{}{ty}", number.base10_digits()), number.span());
        }
        Expr::Unary(unary) => *unary.expr = widened((*unary.expr).clone()),
        Expr::Group(group) => *group.expr = widened((*group.expr).clone()),
        _ => {}
    }
    expr
}
