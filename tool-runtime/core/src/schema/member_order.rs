//! The order of members in a JSON text, which a [`Value`] does not keep.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The names of the members of a JSON text, in the order of the text.
pub(super) enum MemberOrder {
    Scalar,
    Items(Vec<Self>),
    Members(Vec<(String, Self)>),
}

impl MemberOrder {
    /// Returns `None` if the text is not JSON.
    pub(super) fn of(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// Prints a value with its members in this order, followed by those that the text lacks.
    /// `print_scalar` prints the values that have no parts.
    pub(super) fn print(&self, value: &Value, print_scalar: &impl Fn(&Value) -> String) -> String {
        let mut text = String::new();
        self.write(value, print_scalar, &mut text);
        text
    }

    fn write(&self, value: &Value, print_scalar: &impl Fn(&Value) -> String, text: &mut String) {
        match value {
            Value::Array(items) => {
                let orders = self.items().iter().chain(std::iter::repeat(&Self::Scalar));
                text.push('[');
                for (index, (item, order)) in items.iter().zip(orders).enumerate() {
                    text.push_str(if index == 0 { "" } else { "," });
                    order.write(item, print_scalar, text);
                }
                text.push(']');
            }
            Value::Object(members) => {
                let mut written = HashSet::new();
                let others = members.keys().map(|name| (name, &Self::Scalar));
                let orders = self.members().iter().map(|(name, order)| (name, order));
                text.push('{');
                for (name, order) in orders.chain(others) {
                    let Some(member) = members.get(name).filter(|_| written.insert(name)) else {
                        continue;
                    };
                    text.push_str(if written.len() == 1 { "" } else { "," });
                    text.push_str(&Value::from(name.as_str()).to_string());
                    text.push(':');
                    order.write(member, print_scalar, text);
                }
                text.push('}');
            }
            scalar => text.push_str(&print_scalar(scalar)),
        }
    }

    fn items(&self) -> &[Self] {
        match self {
            Self::Items(orders) => orders,
            _ => &[],
        }
    }

    fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Members(orders) => orders,
            _ => &[],
        }
    }
}

impl<'de> Deserialize<'de> for MemberOrder {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(OrderVisitor)
    }
}

struct OrderVisitor;

impl<'de> Visitor<'de> for OrderVisitor {
    type Value = MemberOrder;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<MemberOrder, E> {
        Ok(MemberOrder::Scalar)
    }

    fn visit_bool<E>(self, _: bool) -> Result<MemberOrder, E> {
        Ok(MemberOrder::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<MemberOrder, E> {
        Ok(MemberOrder::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<MemberOrder, E> {
        Ok(MemberOrder::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<MemberOrder, E> {
        Ok(MemberOrder::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<MemberOrder, E> {
        Ok(MemberOrder::Scalar)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<MemberOrder, A::Error> {
        let mut orders = Vec::new();
        while let Some(order) = items.next_element()? {
            orders.push(order);
        }
        Ok(MemberOrder::Items(orders))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<MemberOrder, A::Error> {
        let mut orders = Vec::new();
        while let Some(member) = members.next_entry()? {
            orders.push(member);
        }
        Ok(MemberOrder::Members(orders))
    }
}
