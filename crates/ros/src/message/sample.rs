//! Sample messages of any type whose values all differ: a deserializer that answers every request with the next number.

use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor, value::Error};

use super::Message;

/// Length of every sequence: odd, so that the alignment after it matters.
const ELEMENTS: usize = 3;

/// A message in which no two fields are equal; `seed` shifts them all.
pub(crate) fn sample<M: Message>(seed: u64) -> M {
    M::deserialize(&mut Sample { next: seed }).unwrap_or_else(|e| panic!("{}: {e}", M::TYPE_NAME))
}

struct Sample {
    next: u64,
}

impl Sample {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

macro_rules! numbers {
    ($($method:ident => $visit:ident: $kind:ty),*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit((self.number() % 101) as $kind)
        })*
    };
}

macro_rules! refused {
    ($($method:ident($($argument:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $(_: $argument,)* _visitor: V) -> Result<V::Value, Error> {
            Err(Error::custom(stringify!($method)))
        })*
    };
}

impl<'de> serde::Deserializer<'de> for &mut Sample {
    type Error = Error;

    numbers!(
        deserialize_i8 => visit_i8: i8, deserialize_i16 => visit_i16: i16, deserialize_i32 => visit_i32: i32,
        deserialize_i64 => visit_i64: i64, deserialize_u8 => visit_u8: u8, deserialize_u16 => visit_u16: u16,
        deserialize_u32 => visit_u32: u32, deserialize_u64 => visit_u64: u64, deserialize_f32 => visit_f32: f32,
        deserialize_f64 => visit_f64: f64
    );

    refused!(
        deserialize_any() deserialize_char() deserialize_str() deserialize_option() deserialize_unit()
        deserialize_unit_struct(&'static str) deserialize_newtype_struct(&'static str)
        deserialize_tuple_struct(&'static str, usize) deserialize_map() deserialize_identifier()
        deserialize_enum(&'static str, &'static [&'static str]) deserialize_ignored_any() deserialize_bytes()
    );

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.number().is_multiple_of(2))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(format!("text {}", self.number()))
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_byte_buf((0..ELEMENTS).map(|_| self.number() as u8).collect())
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Elements { sample: self, left: ELEMENTS })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Elements { sample: self, left: length })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Elements { sample: self, left: fields.len() })
    }
}

struct Elements<'a> {
    sample: &'a mut Sample,
    left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.sample).map(Some)
    }
}
