//! The bounds of a rule: `range(min = 1, max = 9)`, `length(min = 1)`.

use syn::{Expr, ExprLit, Lit, Meta};

use super::literal::{number_of, widened};
use super::value::pairs;
use crate::errors::Errors;

/// The kind of number that a bound is.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum BoundKind {
    /// Any number.
    Number,
    /// A non-negative integer.
    Count,
}

/// The bounds of a rule, of which there is at least one.
pub(crate) struct Bounds {
    pub(crate) min: Option<Expr>,
    pub(crate) max: Option<Expr>,
}

impl Bounds {
    /// Parses a rule. A bound is a literal or an expression, such as the path of a constant.
    pub(super) fn parse(word: &Meta, kind: BoundKind, errors: &Errors) -> Option<Self> {
        let mut bounds = Self { min: None, max: None };
        let name = word.path().get_ident().map(ToString::to_string).unwrap_or_default();
        for pair in pairs(word) {
            let bound = match pair.path.get_ident() {
                Some(ident) if ident == "min" => &mut bounds.min,
                Some(ident) if ident == "max" => &mut bounds.max,
                _ => {
                    errors.at(pair.path, format!("`{name}` only has the bounds `min` and `max`"));
                    return None;
                }
            };
            if bound.is_some() {
                errors.at(pair.path, "duplicate bound: keep one of them");
                return None;
            }
            if !kind.accepts(&pair.value) {
                let expected = match kind {
                    BoundKind::Number => "a number",
                    BoundKind::Count => "a non-negative integer",
                };
                errors.at(&pair.value, format!("a bound of `{name}` is {expected}"));
                return None;
            }
            *bound = Some(match kind {
                BoundKind::Number => widened(pair.value),
                BoundKind::Count => pair.value,
            });
        }
        if bounds.min.is_none() && bounds.max.is_none() {
            let text = format!("`{name}` takes bounds: write `{name}(min = 1, max = 9)`");
            errors.at(word, text);
            return None;
        }
        bounds.check_order(word, errors);
        Some(bounds)
    }

    fn check_order(&self, word: &Meta, errors: &Errors) {
        let number = |bound: &Option<Expr>| bound.as_ref().and_then(number_of);
        if let (Some(min), Some(max)) = (number(&self.min), number(&self.max))
            && min > max
        {
            errors.at(word, "`min` exceeds `max`, so no value is valid: swap the bounds");
        }
    }
}

impl BoundKind {
    fn accepts(self, bound: &Expr) -> bool {
        match bound {
            Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => {
                self == Self::Number || !number.base10_digits().starts_with('-')
            }
            Expr::Lit(_) | Expr::Unary(_) => {
                self == Self::Number && number_of(bound).is_some_and(f64::is_finite)
            }
            Expr::Group(group) => self.accepts(&group.expr),
            _ => true,
        }
    }
}
