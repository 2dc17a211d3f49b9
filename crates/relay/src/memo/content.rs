//! The digest of what a value holds, with what stands in a module's tables in the place of its numbers there.
//!
//! A function's instructions name constants and symbols by number, and numbers move when any file changes. Names of fields,
//! types and places in the source do not bear on an execution, so they are left out.

use super::Identities;
use crate::entering::Wide;
use serde::ser::{self, Impossible, Serialize};
use std::hash::Hasher;

/// Hashes what is serialised.
pub(super) struct Content<'a> {
    pub(super) identities: &'a Identities,
    pub(super) hash: Wide,
}

/// That nothing can go wrong here, in serde's words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Failed(String);

impl ser::Error for Failed {
    fn custom<T: std::fmt::Display>(message: T) -> Failed {
        Failed(message.to_string())
    }
}

/// A number in a table.
struct Number(u32);

impl Content<'_> {
    fn number(&mut self, table: &str, number: Number) {
        match table {
            "ConstantId" => self.hash.write_u64(self.identities.constant(number.0)),
            "SymbolId" => self.hash.write_u64(self.identities.symbol(number.0)),
            "LocalId" | "BlockId" => self.hash.write_u32(number.0),
            _ => {}
        }
    }
}

macro_rules! integers {
    ($($name:ident $ty:ty;)*) => {$(
        fn $name(self, n: $ty) -> Result<(), Failed> {
            self.hash.write_u64(n as u64);
            Ok(())
        }
    )*};
}

macro_rules! parts {
    ($($part:ident $method:ident;)*) => {$(
        impl ser::$part for &mut Content<'_> {
            type Ok = ();
            type Error = Failed;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Failed> {
                Ok(())
            }
        }
    )*};
}

parts! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

macro_rules! fields {
    ($($part:ident;)*) => {$(
        impl ser::$part for &mut Content<'_> {
            type Ok = ();
            type Error = Failed;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<(), Failed> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Failed> {
                Ok(())
            }
        }
    )*};
}

fields! { SerializeStruct; SerializeStructVariant; }

impl ser::Serializer for &mut Content<'_> {
    type Ok = ();
    type Error = Failed;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Impossible<(), Failed>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    integers! {
        serialize_bool bool;
        serialize_i8 i8;
        serialize_i16 i16;
        serialize_i32 i32;
        serialize_i64 i64;
        serialize_u8 u8;
        serialize_u16 u16;
        serialize_u32 u32;
        serialize_u64 u64;
        serialize_char char;
    }

    fn serialize_f32(self, n: f32) -> Result<(), Failed> {
        self.serialize_u32(n.to_bits())
    }

    fn serialize_f64(self, n: f64) -> Result<(), Failed> {
        self.serialize_u64(n.to_bits())
    }

    fn serialize_str(self, text: &str) -> Result<(), Failed> {
        self.serialize_bytes(text.as_bytes())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Failed> {
        self.hash.write_usize(bytes.len());
        self.hash.write(bytes);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Failed> {
        self.serialize_u8(0)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Failed> {
        self.hash.write_u8(1);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, number: u32, _: &'static str) -> Result<(), Failed> {
        self.serialize_u32(number)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<(), Failed> {
        let number = value.serialize(Numeric)?;
        self.number(name, number);
        Ok(())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Failed> {
        self.hash.write_u32(number);
        value.serialize(self)
    }

    fn serialize_seq(self, count: Option<usize>) -> Result<Self, Failed> {
        self.hash.write_usize(count.unwrap_or_default());
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Failed> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Failed> {
        Ok(self)
    }

    fn serialize_tuple_variant(self, _: &'static str, number: u32, _: &'static str, _: usize) -> Result<Self, Failed> {
        self.hash.write_u32(number);
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Failed> {
        Err(ser::Error::custom("no map is hashed"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Failed> {
        Ok(self)
    }

    fn serialize_struct_variant(self, _: &'static str, number: u32, _: &'static str, _: usize) -> Result<Self, Failed> {
        self.hash.write_u32(number);
        Ok(self)
    }
}

/// Takes a number, nothing else.
struct Numeric;

macro_rules! no {
    ($($name:ident ($($argument:ty),*) $result:ty;)*) => {$(
        fn $name(self, $(_: $argument),*) -> Result<$result, Failed> {
            Err(ser::Error::custom("not a number in a table"))
        }
    )*};
}

impl ser::Serializer for Numeric {
    type Ok = Number;
    type Error = Failed;
    type SerializeSeq = Impossible<Number, Failed>;
    type SerializeTuple = Impossible<Number, Failed>;
    type SerializeTupleStruct = Impossible<Number, Failed>;
    type SerializeTupleVariant = Impossible<Number, Failed>;
    type SerializeMap = Impossible<Number, Failed>;
    type SerializeStruct = Impossible<Number, Failed>;
    type SerializeStructVariant = Impossible<Number, Failed>;

    fn serialize_u32(self, n: u32) -> Result<Number, Failed> {
        Ok(Number(n))
    }

    no! {
        serialize_bool(bool) Number;
        serialize_i8(i8) Number;
        serialize_i16(i16) Number;
        serialize_i32(i32) Number;
        serialize_i64(i64) Number;
        serialize_u8(u8) Number;
        serialize_u16(u16) Number;
        serialize_u64(u64) Number;
        serialize_f32(f32) Number;
        serialize_f64(f64) Number;
        serialize_char(char) Number;
        serialize_str(&str) Number;
        serialize_bytes(&[u8]) Number;
        serialize_none() Number;
        serialize_unit() Number;
        serialize_unit_struct(&'static str) Number;
        serialize_unit_variant(&'static str, u32, &'static str) Number;
        serialize_seq(Option<usize>) Self::SerializeSeq;
        serialize_tuple(usize) Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) Self::SerializeTupleVariant;
        serialize_map(Option<usize>) Self::SerializeMap;
        serialize_struct(&'static str, usize) Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) Self::SerializeStructVariant;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Number, Failed> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Number, Failed> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<Number, Failed> {
        value.serialize(self)
    }
}
