//! Writes a value as the text that a model reads: strings as they are, the rest as JSON.

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::ser::{CompactFormatter, Compound};

use super::ToolOutput;

type Json = serde_json::Serializer<Vec<u8>>;

/// `()` serialises as unit; an empty result would leave a model guessing.
const UNIT: &str = "ok";

#[inline]
pub(super) fn encode<T: Serialize>(value: &T) -> serde_json::Result<ToolOutput> {
    let mut json = serde_json::Serializer::new(Vec::with_capacity(128));
    if let Some(text) = value.serialize(Root(&mut json))? {
        return Ok(ToolOutput { text, is_json: false, more: None });
    }
    let text = String::from_utf8(json.into_inner()).map_err(serde_json::Error::custom)?;
    Ok(ToolOutput { text, is_json: true, more: None })
}

/// Looks at the root of a value only: a string is given back, anything else goes to `Json`.
struct Root<'a>(&'a mut Json);

macro_rules! to_json {
    ($($method:ident($($arg:ident: $kind:ty),*);)*) => {$(
        #[inline]
        fn $method(self, $($arg: $kind),*) -> Result<Self::Ok, Self::Error> {
            self.0.$method($($arg),*).map(|()| None)
        }
    )*};
}

macro_rules! to_compound {
    ($($method:ident($($arg:ident: $kind:ty),*) -> $compound:ident;)*) => {$(
        #[inline]
        fn $method(self, $($arg: $kind),*) -> Result<Self::$compound, Self::Error> {
            self.0.$method($($arg),*).map(Finished)
        }
    )*};
}

impl<'a> Serializer for Root<'a> {
    type Ok = Option<String>;
    type Error = serde_json::Error;
    type SerializeSeq = Finished<'a>;
    type SerializeTuple = Finished<'a>;
    type SerializeTupleStruct = Finished<'a>;
    type SerializeTupleVariant = Finished<'a>;
    type SerializeMap = Finished<'a>;
    type SerializeStruct = Finished<'a>;
    type SerializeStructVariant = Finished<'a>;

    to_json! {
        serialize_bool(v: bool);
        serialize_i8(v: i8);
        serialize_i16(v: i16);
        serialize_i32(v: i32);
        serialize_i64(v: i64);
        serialize_i128(v: i128);
        serialize_u8(v: u8);
        serialize_u16(v: u16);
        serialize_u32(v: u32);
        serialize_u64(v: u64);
        serialize_u128(v: u128);
        serialize_f32(v: f32);
        serialize_f64(v: f64);
        serialize_bytes(v: &[u8]);
        serialize_none();
    }

    to_compound! {
        serialize_seq(len: Option<usize>) -> SerializeSeq;
        serialize_tuple(len: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, len: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize)
            -> SerializeTupleVariant;
        serialize_map(len: Option<usize>) -> SerializeMap;
        serialize_struct(name: &'static str, len: usize) -> SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize)
            -> SerializeStructVariant;
    }

    fn serialize_char(self, v: char) -> Result<Self::Ok, Self::Error> {
        Ok(Some(v.into()))
    }

    fn serialize_str(self, v: &str) -> Result<Self::Ok, Self::Error> {
        Ok(Some(v.into()))
    }

    fn serialize_unit(self) -> Result<Self::Ok, Self::Error> {
        Ok(Some(UNIT.into()))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Self::Ok, Self::Error> {
        Ok(Some(UNIT.into()))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Self::Ok, Self::Error> {
        Ok(Some(variant.into()))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, v: &T) -> Result<Self::Ok, Self::Error> {
        v.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        v: &T,
    ) -> Result<Self::Ok, Self::Error> {
        v.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        v: &T,
    ) -> Result<Self::Ok, Self::Error> {
        self.0.serialize_newtype_variant(name, index, variant, v).map(|()| None)
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, v: &T) -> Result<Self::Ok, Self::Error> {
        Ok(Some(v.to_string()))
    }
}

/// A list or object on its way into `Json`.
struct Finished<'a>(Compound<'a, Vec<u8>, CompactFormatter>);

macro_rules! forward {
    ($($kind:ident { $($method:ident($($arg:ident: $ty:ty),*);)* })*) => {$(
        impl serde::ser::$kind for Finished<'_> {
            type Ok = Option<String>;
            type Error = serde_json::Error;

            $(#[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, $($arg: $ty,)* v: &T)
                -> Result<(), Self::Error>
            {
                serde::ser::$kind::$method(&mut self.0, $($arg,)* v)
            })*

            #[inline]
            fn end(self) -> Result<Self::Ok, Self::Error> {
                serde::ser::$kind::end(self.0).map(|()| None)
            }
        }
    )*};
}

forward! {
    SerializeSeq { serialize_element(); }
    SerializeTuple { serialize_element(); }
    SerializeTupleStruct { serialize_field(); }
    SerializeTupleVariant { serialize_field(); }
    SerializeMap { serialize_key(); serialize_value(); }
    SerializeStruct { serialize_field(key: &'static str); }
    SerializeStructVariant { serialize_field(key: &'static str); }
}
