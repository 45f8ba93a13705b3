//! Checks whether a value fits its schema: types, enum values, required and known members,
//! branches.
//!
//! Ranges, lengths, patterns and the like are ignored: they decide what is valid, not what was
//! meant. Unsupported keywords are ignored as well.

use std::cell::LazyCell;

use super::{flat_schema::FlatSchema, fuel::Fuel, view::JsonView};

/// The treatment of members that the schema does not declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownMembers {
    /// They are rejected unless the schema explicitly allows them.
    Rejected,
    /// They are allowed unless the schema forbids them, as in JSON Schema.
    Allowed,
}

/// Returns whether `data` fits; nothing fits once the fuel is exhausted.
pub(super) fn fits<D: JsonView>(
    fuel: &mut Fuel,
    data: &D,
    schema: &FlatSchema<'_>,
    unknown: UnknownMembers,
) -> bool {
    if !fuel.enter() {
        return false;
    }
    let fit = schema.is_unconstrained() || fits_constraints(fuel, data, schema, unknown);
    fuel.leave();
    fit
}

fn fits_constraints<D: JsonView>(
    fuel: &mut Fuel,
    data: &D,
    schema: &FlatSchema<'_>,
    unknown: UnknownMembers,
) -> bool {
    if !schema.types().intersects(data.json_type()) {
        return false;
    }
    if let Some((choice, rest)) = schema.split_branches() {
        return choice.iter().any(|branch| fits(fuel, data, &rest.with_branch(branch), unknown));
    }
    if !schema.enum_lists().all(|list| list.iter().any(|value| data.equals(value))) {
        return false;
    }
    if !data.json_type().intersects(super::type_set::TypeSet::OBJECT) {
        return items_fit(fuel, data.items(), schema, unknown);
    }
    if !schema.required().all(|name| data.has_key(name)) {
        return false;
    }
    let allows_unknown = LazyCell::new(|| match unknown {
        UnknownMembers::Rejected => {
            schema.expects_other_properties() && !schema.forbids_other_properties()
        }
        UnknownMembers::Allowed => !schema.forbids_other_properties(),
    });
    data.members().all(|(key, value)| {
        (schema.has_property(key) || *allows_unknown)
            && fits(fuel, value, &schema.property(key), unknown)
    })
}

fn items_fit<D: JsonView>(
    fuel: &mut Fuel,
    items: &[D],
    schema: &FlatSchema<'_>,
    unknown: UnknownMembers,
) -> bool {
    let mut cached = None;
    items.iter().enumerate().all(|(index, item)| {
        let (item_schema, is_shared) = cached.take().unwrap_or_else(|| schema.item(index));
        let fit = fits(fuel, item, &item_schema, unknown);
        cached = is_shared.then_some((item_schema, is_shared));
        fit
    })
}
