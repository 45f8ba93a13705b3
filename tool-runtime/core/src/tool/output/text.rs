//! Serializes a value as the text for a model: strings unquoted, everything else as JSON.

use std::io::{self, Write};

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::ser::{CompactFormatter, Compound};

use super::ToolOutput;

type Json = serde_json::Serializer<LazyBuffer>;

/// The text of `()`, because an empty result would be ambiguous to a model.
const UNIT: &str = "ok";

#[inline]
pub(super) fn encode<T: Serialize>(value: &T) -> serde_json::Result<ToolOutput> {
    let mut json = serde_json::Serializer::new(LazyBuffer(Vec::new()));
    let (text, is_json) = match value.serialize(RootSerializer(&mut json))? {
        SerializedText::Text(text) => (text, false),
        SerializedText::Scalar(text) => (text, true),
        SerializedText::Buffered => {
            let text = String::from_utf8(json.into_inner().0).map_err(serde_json::Error::custom)?;
            (text, true)
        }
    };
    Ok(ToolOutput { text, is_json, attachments: None })
}

/// The location of the serialized value.
enum SerializedText {
    /// A string, unquoted.
    Text(String),
    /// JSON of a scalar, which bypasses the buffer.
    Scalar(String),
    Buffered,
}

/// Allocates at the first write, because most scalars are never written to it.
struct LazyBuffer(Vec<u8>);

impl Write for LazyBuffer {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.0.capacity() == 0 {
            self.0.reserve(128);
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Examines the root of a value only: returns a string, and passes anything else to `Json`.
struct RootSerializer<'a>(&'a mut Json);

macro_rules! to_json {
    ($($method:ident($($arg:ident: $kind:ty),*);)*) => {$(
        #[inline]
        fn $method(self, $($arg: $kind),*) -> Result<Self::Ok, Self::Error> {
            self.0.$method($($arg),*).map(|()| SerializedText::Buffered)
        }
    )*};
}

macro_rules! to_scalar {
    ($($method:ident($kind:ty);)*) => {$(
        #[inline]
        fn $method(self, v: $kind) -> Result<Self::Ok, Self::Error> {
            serde_json::to_string(&v).map(SerializedText::Scalar)
        }
    )*};
}

macro_rules! to_compound {
    ($($method:ident($($arg:ident: $kind:ty),*) -> $compound:ident;)*) => {$(
        #[inline]
        fn $method(self, $($arg: $kind),*) -> Result<Self::$compound, Self::Error> {
            self.0.$method($($arg),*).map(CompoundSerializer)
        }
    )*};
}

impl<'a> Serializer for RootSerializer<'a> {
    type Ok = SerializedText;
    type Error = serde_json::Error;
    type SerializeSeq = CompoundSerializer<'a>;
    type SerializeTuple = CompoundSerializer<'a>;
    type SerializeTupleStruct = CompoundSerializer<'a>;
    type SerializeTupleVariant = CompoundSerializer<'a>;
    type SerializeMap = CompoundSerializer<'a>;
    type SerializeStruct = CompoundSerializer<'a>;
    type SerializeStructVariant = CompoundSerializer<'a>;

    to_scalar! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_f32(f32);
        serialize_f64(f64);
    }

    to_json! {
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
        Ok(SerializedText::Text(v.into()))
    }

    fn serialize_str(self, v: &str) -> Result<Self::Ok, Self::Error> {
        Ok(SerializedText::Text(v.into()))
    }

    fn serialize_unit(self) -> Result<Self::Ok, Self::Error> {
        Ok(SerializedText::Text(UNIT.into()))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Self::Ok, Self::Error> {
        Ok(SerializedText::Text(UNIT.into()))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Self::Ok, Self::Error> {
        Ok(SerializedText::Text(variant.into()))
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
        self.0.serialize_newtype_variant(name, index, variant, v).map(|()| SerializedText::Buffered)
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, v: &T) -> Result<Self::Ok, Self::Error> {
        Ok(SerializedText::Text(v.to_string()))
    }
}

/// Passes the items of a list or object to `Json`.
struct CompoundSerializer<'a>(Compound<'a, LazyBuffer, CompactFormatter>);

macro_rules! forward {
    ($($kind:ident { $($method:ident($($arg:ident: $ty:ty),*);)* })*) => {$(
        impl serde::ser::$kind for CompoundSerializer<'_> {
            type Ok = SerializedText;
            type Error = serde_json::Error;

            $(#[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, $($arg: $ty,)* v: &T)
                -> Result<(), Self::Error>
            {
                serde::ser::$kind::$method(&mut self.0, $($arg,)* v)
            })*

            #[inline]
            fn end(self) -> Result<Self::Ok, Self::Error> {
                serde::ser::$kind::end(self.0).map(|()| SerializedText::Buffered)
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
