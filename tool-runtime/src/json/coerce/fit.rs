//! Does a value fit its place? Types, listed values, required and known members, branches.
//!
//! Ranges, lengths, patterns and the like are not looked at: they say what is right, not what was
//! meant. What isn't understood fits.

use std::cell::LazyCell;

use super::{data::Data, fuel::Fuel, place::Place};

/// Whether members that the schema doesn't know may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strangers {
    /// Only where the schema says that it takes them.
    Refused,
    /// Unless the schema says that it doesn't, which is how JSON Schema reads.
    Taken,
}

/// Whether `data` fits; nothing does once there are no means to tell.
pub(super) fn fits<D: Data>(
    fuel: &mut Fuel,
    data: &D,
    place: &Place<'_>,
    strangers: Strangers,
) -> bool {
    if !fuel.enter() {
        return false;
    }
    let fit = place.is_free() || look(fuel, data, place, strangers);
    fuel.leave();
    fit
}

fn look<D: Data>(fuel: &mut Fuel, data: &D, place: &Place<'_>, strangers: Strangers) -> bool {
    if !place.types().meets(data.root()) {
        return false;
    }
    if let Some((choice, rest)) = place.choice() {
        return choice.iter().any(|branch| fits(fuel, data, &rest.with(branch), strangers));
    }
    if !place.lists().all(|list| list.iter().any(|value| data.is(value))) {
        return false;
    }
    if !data.root().meets(super::roots::Roots::OBJECT) {
        return items_fit(fuel, data.items(), place, strangers);
    }
    if !place.required().all(|name| data.has(name)) {
        return false;
    }
    let takes_strangers = LazyCell::new(|| match strangers {
        Strangers::Refused => place.is_open() && !place.is_closed(),
        Strangers::Taken => !place.is_closed(),
    });
    data.members().all(|(key, value)| {
        (place.has_name(key) || *takes_strangers)
            && fits(fuel, value, &place.member(key), strangers)
    })
}

fn items_fit<D: Data>(
    fuel: &mut Fuel,
    items: &[D],
    place: &Place<'_>,
    strangers: Strangers,
) -> bool {
    let mut of_item = None;
    items.iter().enumerate().all(|(index, item)| {
        let (here, alike) = of_item.take().unwrap_or_else(|| place.item(index));
        let fit = fits(fuel, item, &here, strangers);
        of_item = alike.then_some((here, alike));
        fit
    })
}
