//! The types as tools: each as the only argument, and with another one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;
use tool_runtime::{Tool, tool};

use super::types::*;

pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) tool: Arc<dyn Tool>,
}

macro_rules! shapes {
    ($($name:ident: $ty:ty;)*) => {
        $(mod $name {
            use super::*;

            /// Takes one argument.
            #[tool(effect = "none")]
            pub(super) async fn single(value: $ty) -> String {
                format!("{value:?}")
            }

            /// Takes one argument and an optional one.
            #[tool(effect = "none")]
            pub(super) async fn first_of_two(value: $ty, another: Option<$ty>) -> String {
                format!("{value:?} {another:?}")
            }
        })*

        pub(crate) fn all() -> Vec<Shape> {
            vec![$(
                Shape { name: stringify!($name), tool: Arc::new($name::single {}) },
                Shape { name: concat!(stringify!($name), " and another"), tool: Arc::new($name::first_of_two {}) },
            )*]
        }
    };
}

shapes! {
    empty: Empty;
    plain: Plain;
    open: Open;
    nested: Nested;
    tree: Tree;
    wide: Wide;
    texts: Texts;
    name: Name;
    newtype: Newtype;
    newtype_of_newtype: NewtypeOfNewtype;
    newtype_of_tree: NewtypeOfTree;
    transparent: Transparent;
    pair: Pair;
    lists: Lists;
    maps: Maps;
    maybes: Maybes;
    defaulted: Defaulted;
    unit: Unit;
    noted: Noted;
    external: External;
    internal: Internal;
    adjacent: Adjacent;
    adjacent_closed: AdjacentClosed;
    untagged: Untagged;
    chosen: Chosen;
    flat_struct: FlatStruct;
    flat_open: FlatOpen;
    flat_maybe: FlatMaybe;
    flat_enum: FlatEnum;
    flat_external: FlatExternal;
    flat_map: FlatMap;
    ruled: Ruled;
    ruled_inside: RuledInside;
    times: Times;
    generic: Generic<Option<Unit>>;
    boxed: Box<Plain>;
    list: Vec<Internal>;
    array: [u8; 2];
    tuple: (String, Plain);
    unsigned_keys: HashMap<u32, String>;
    signed_keys: BTreeMap<i64, Plain>;
    short_keys: BTreeMap<u8, bool>;
    character: char;
    float: f32;
    any: Value;
    double: Option<Option<i8>>;
    unit_value: ();
}
