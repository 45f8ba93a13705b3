//! Arguments of every shape that serde and schemars support.

#![expect(dead_code, reason = "nothing but decoding is asked of these types")]

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::{NonZeroI32, NonZeroU8};

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool_runtime::args;
use uuid::Uuid;

#[derive(Debug)]
#[args]
pub(crate) struct Empty {}

#[derive(Debug)]
#[args]
pub(crate) struct Plain {
    a: i32,
    b: Option<String>,
    c: Vec<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Open {
    a: i32,
    b: Option<String>,
}

#[derive(Debug)]
#[args]
pub(crate) struct Nested {
    plain: Plain,
    boxed: Box<Plain>,
    list: Vec<Open>,
    optional: Option<Plain>,
    shared: BTreeMap<String, Plain>,
}

#[derive(Debug)]
#[args]
pub(crate) struct Tree {
    value: i64,
    kids: Vec<Tree>,
    next: Option<Box<Tree>>,
}

#[derive(Debug)]
#[args]
pub(crate) struct Wide {
    i8: i8,
    i16: i16,
    i32: i32,
    i64: i64,
    i128: i128,
    isize: isize,
    u8: u8,
    u16: u16,
    u32: u32,
    u64: u64,
    u128: u128,
    usize: usize,
    f32: f32,
    f64: f64,
    bool: bool,
    char: char,
    above_zero: NonZeroU8,
    not_zero: Option<NonZeroI32>,
}

#[derive(Debug)]
#[args]
pub(crate) struct Texts {
    name: Name,
    boxed: Box<str>,
    shared: Cow<'static, str>,
    path: std::path::PathBuf,
    address: std::net::IpAddr,
}

#[derive(Debug)]
#[args]
pub(crate) struct Name(String);

#[derive(Debug)]
#[args]
pub(crate) struct Newtype(Plain);

/// Describes more than the inner type.
#[derive(Debug)]
#[args]
pub(crate) struct NewtypeOfNewtype(Newtype);

#[derive(Debug)]
#[args]
pub(crate) struct NewtypeOfTree(Tree);

#[derive(Debug)]
#[args]
#[serde(transparent)]
pub(crate) struct Transparent {
    inner: Vec<u8>,
}

#[derive(Debug)]
#[args]
pub(crate) struct Pair(u8, Option<String>);

#[derive(Debug)]
#[args]
pub(crate) struct Lists {
    set: BTreeSet<u8>,
    texts: HashSet<String>,
    array: [i16; 3],
    tuple: (i8, Option<bool>, String),
    tuples: Vec<(String, f32)>,
    empty: (),
    deep: Vec<Vec<Option<u8>>>,
}

#[derive(Debug)]
#[args]
pub(crate) struct Maps {
    texts: HashMap<String, String>,
    any: BTreeMap<String, Value>,
    object: Map<String, Value>,
    nested: HashMap<String, HashMap<String, Option<i8>>>,
}

#[derive(Debug)]
#[args]
pub(crate) struct Maybes {
    twice: Option<Option<u8>>,
    list: Option<Vec<Option<String>>>,
    any: Option<Value>,
}

#[args]
#[derive(Debug, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Defaulted {
    quantity: u32,
    #[serde(rename = "the place")]
    place: String,
    #[serde(alias = "otherwise")]
    unit: Option<Unit>,
    #[serde(skip)]
    hidden: u8,
}

#[args]
#[derive(Debug, Default)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
pub(crate) enum Unit {
    #[default]
    DegreesCelsius,
    Fahrenheit,
    #[serde(rename = "°K")]
    Kelvin,
}

#[derive(Debug)]
#[args]
pub(crate) enum Noted {
    /// Warm
    Celsius,
    /// Warmer
    Fahrenheit,
    #[serde(skip)]
    Hidden,
}

#[derive(Debug)]
#[args]
pub(crate) enum External {
    Nothing,
    Number(i32),
    Pair(i32, String),
    Point { x: f32, y: Option<f32> },
    Plain(Plain),
    Maybe(Option<u8>),
    Empty {},
}

#[derive(Debug)]
#[args]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Internal {
    Nothing,
    TwoPoints { x: u8, y: Option<i64> },
    Plain(Plain),
    Open(Open),
}

#[derive(Debug)]
#[args]
#[serde(tag = "kind", content = "with")]
pub(crate) enum Adjacent {
    Nothing,
    Number(u16),
    Pair(u8, bool),
    Point { x: u8 },
    Plain(Plain),
    Maybe(Option<u8>),
}

#[derive(Debug)]
#[args]
#[serde(tag = "kind", content = "with", deny_unknown_fields)]
pub(crate) enum AdjacentClosed {
    Nothing,
    Point { x: u8 },
}

#[derive(Debug)]
#[args]
#[serde(untagged)]
pub(crate) enum Untagged {
    Number(i32),
    Text(String),
    Pair(u8, u8),
    Point { x: u8 },
    Plain(Plain),
    Nothing,
}

#[derive(Debug)]
#[args]
pub(crate) struct Chosen {
    external: External,
    internal: Internal,
    adjacent: Adjacent,
    untagged: Untagged,
    unit: Option<Unit>,
    by_name: BTreeMap<String, Internal>,
}

#[derive(Debug)]
#[args]
pub(crate) struct FlatStruct {
    x: u16,
    #[serde(flatten)]
    inner: Plain,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FlatOpen {
    x: u16,
    #[serde(flatten)]
    inner: Open,
}

#[derive(Debug)]
#[args]
pub(crate) struct FlatMaybe {
    x: u16,
    #[serde(flatten)]
    inner: Option<Open>,
}

#[derive(Debug)]
#[args]
pub(crate) struct FlatEnum {
    w: u16,
    #[serde(flatten)]
    inner: Figure,
}

/// Open inside: serde would refuse the members that only the outer type names.
#[derive(Debug)]
#[args]
#[serde(tag = "kind")]
pub(crate) enum Figure {
    Nothing,
    Point { x: u8, y: Option<i64> },
    Open(Open),
}

#[derive(Debug)]
#[args]
pub(crate) struct FlatExternal {
    w: u16,
    #[serde(flatten)]
    inner: External,
}

#[derive(Debug)]
#[args]
pub(crate) struct FlatMap {
    x: i8,
    #[serde(flatten)]
    others: HashMap<String, Option<i64>>,
}

#[derive(Debug)]
#[args]
pub(crate) struct Ruled {
    #[schemars(range(min = 1, max = 7))]
    days: Option<u8>,
    #[schemars(range(min = -0.5, max = 1.5))]
    share: f64,
    #[schemars(length(min = 1, max = 3), regex(pattern = "^[a-z]+$"))]
    name: String,
    #[schemars(length(min = 1, max = 4), inner(length(min = 2)))]
    tags: Vec<String>,
    #[schemars(inner(range(max = 99)))]
    counts: Vec<u32>,
    #[schemars(extend("multipleOf" = 5))]
    steps: u16,
    #[schemars(regex(pattern = r"^\d{4}-\d{2}$"))]
    month: Option<String>,
}

#[derive(Debug)]
#[args]
pub(crate) struct RuledInside {
    list: Vec<Ruled>,
    external: Option<RuledEnum>,
}

#[derive(Debug)]
#[args]
#[serde(tag = "kind")]
pub(crate) enum RuledEnum {
    Some {
        #[schemars(length(equal = 2))]
        code: String,
    },
    None,
}

#[derive(Debug)]
#[args]
pub(crate) struct Times {
    utc: DateTime<Utc>,
    fixed: Option<DateTime<FixedOffset>>,
    date: NaiveDate,
    time: NaiveTime,
    naive: NaiveDateTime,
    id: Uuid,
}

#[derive(Debug)]
#[args]
pub(crate) struct Generic<T> {
    value: T,
    more: Vec<T>,
}
