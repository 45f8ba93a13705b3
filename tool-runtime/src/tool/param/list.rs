use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

use super::kind::{Defaulted, Give, Lend, Param};
use crate::schema::Generator;
use crate::tool::ToolContext;

/// All parameters of a function, as nested pairs that end in `()`.
pub trait Params {
    /// What has been decoded so far.
    type Partial;

    /// What is decoded, a [`Slot`] for each parameter.
    type Values: Send;

    /// Nothing yet.
    fn nothing() -> Self::Partial;

    /// The schema of each parameter and whether it may be left out; none for one that is no
    /// argument.
    fn schemas(generator: &mut Generator) -> Vec<Option<(Value, Optional)>>;

    /// The schema of the first argument, as a document of its own.
    fn first_root_schema() -> Option<Value>;

    /// Reads the first argument from the whole input.
    ///
    /// # Errors
    /// The input isn't such a value.
    fn read_whole<'de, D: Deserializer<'de>>(input: D) -> Result<Self::Partial, D::Error>;

    /// Reads the value of the parameter at `index`, whose name only errors need.
    ///
    /// # Errors
    /// The input isn't such a value, the parameter is no argument, or it was read before.
    fn read_one<'de, A: MapAccess<'de>>(
        partial: &mut Self::Partial,
        index: usize,
        name: &str,
        input: &mut A,
    ) -> Result<(), A::Error>;

    /// Everything in its place.
    ///
    /// # Errors
    /// The index, counted from `index`, of the first argument that is missing.
    fn finish(partial: Self::Partial, index: usize) -> Result<Self::Values, usize>;
}

/// Whether a model may leave an argument out.
pub type Optional = bool;

/// What was decoded for one parameter.
pub struct Slot<P: Param>(P::Value);

impl<P: Param> fmt::Debug for Slot<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

impl<P: Give> Slot<P> {
    /// Hands a parameter written `T` to the function.
    #[inline]
    pub fn give(self, ctx: &ToolContext) -> P::Given<'_> {
        P::give(self.0, ctx)
    }
}

impl<P: Lend> Slot<P> {
    /// Lends a parameter written `&T` to the function.
    #[inline]
    pub fn lend<'a>(&'a self, ctx: &'a ToolContext) -> &'a P::Lent {
        P::lend(&self.0, ctx)
    }
}

impl<P: Param> Slot<Defaulted<P>> {
    /// Fills in what the model left out.
    #[inline]
    pub fn or_else(self, default: impl FnOnce() -> P::Value) -> Slot<P> {
        Slot(self.0.unwrap_or_else(default))
    }
}

impl Params for () {
    type Partial = ();
    type Values = ();

    fn nothing() {}

    fn schemas(_: &mut Generator) -> Vec<Option<(Value, Optional)>> {
        Vec::new()
    }

    fn first_root_schema() -> Option<Value> {
        None
    }

    fn read_whole<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
        Ok(())
    }

    fn read_one<'de, A: MapAccess<'de>>(
        (): &mut (),
        _: usize,
        _: &str,
        _: &mut A,
    ) -> Result<(), A::Error> {
        Ok(())
    }

    fn finish((): (), _: usize) -> Result<(), usize> {
        Ok(())
    }
}

impl<P: Param, Rest: Params> Params for (P, Rest) {
    type Partial = (Option<P::Value>, Rest::Partial);
    type Values = (Slot<P>, Rest::Values);

    #[inline]
    fn nothing() -> Self::Partial {
        (None, Rest::nothing())
    }

    fn schemas(generator: &mut Generator) -> Vec<Option<(Value, Optional)>> {
        let own = P::IS_ARGUMENT.then(|| (P::schema(generator), P::absent().is_some()));
        [own].into_iter().chain(Rest::schemas(generator)).collect()
    }

    fn first_root_schema() -> Option<Value> {
        if P::IS_ARGUMENT { Some(P::root_schema()) } else { Rest::first_root_schema() }
    }

    #[inline]
    fn read_whole<'de, D: Deserializer<'de>>(input: D) -> Result<Self::Partial, D::Error> {
        if P::IS_ARGUMENT {
            Ok((Some(P::decode(input)?), Rest::nothing()))
        } else {
            Ok((None, Rest::read_whole(input)?))
        }
    }

    #[inline]
    fn read_one<'de, A: MapAccess<'de>>(
        partial: &mut Self::Partial,
        index: usize,
        name: &str,
        input: &mut A,
    ) -> Result<(), A::Error> {
        if index > 0 {
            return Rest::read_one(&mut partial.1, index - 1, name, input);
        }
        if !P::IS_ARGUMENT {
            return Err(A::Error::custom(format_args!("`{name}` is not an argument")));
        }
        if partial.0.is_some() {
            return Err(A::Error::custom(format_args!("`{name}` came twice: send it once")));
        }
        partial.0 = Some(input.next_value_seed(ReadParam::<P>(PhantomData))?);
        Ok(())
    }

    #[inline]
    fn finish(partial: Self::Partial, index: usize) -> Result<Self::Values, usize> {
        let own = partial.0.or_else(P::absent).ok_or(index)?;
        Ok((Slot(own), Rest::finish(partial.1, index + 1)?))
    }
}

struct ReadParam<P>(PhantomData<P>);

impl<'de, P: Param> DeserializeSeed<'de> for ReadParam<P> {
    type Value = P::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<P::Value, D::Error> {
        P::decode(input)
    }
}

/// The names of a function's parameters, in their order.
pub trait Names {
    /// A constant, so that a key is compared with texts that the compiler knows.
    const NAMES: &'static [&'static str];
}

/// Reads an object whose members are the parameters of these names.
pub(crate) struct Named<N, P>(PhantomData<(N, P)>);

impl<N, P> Named<N, P> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<'de, N: Names, P: Params> Visitor<'de> for Named<N, P> {
    type Value = P::Values;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<P::Values, A::Error> {
        let mut partial = P::nothing();
        while let Some(index) = map.next_key_seed(Name::<N>(PhantomData))? {
            let name = N::NAMES.get(index).copied().unwrap_or_default();
            P::read_one(&mut partial, index, name, &mut map)?;
        }
        P::finish(partial, 0).map_err(|missing| {
            A::Error::missing_field(N::NAMES.get(missing).copied().unwrap_or_default())
        })
    }
}

/// Reads a key as the index of one of these names.
struct Name<N>(PhantomData<N>);

impl<'de, N: Names> DeserializeSeed<'de> for Name<N> {
    type Value = usize;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<usize, D::Error> {
        input.deserialize_identifier(self)
    }
}

impl<N: Names> Visitor<'_> for Name<N> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an argument")
    }

    #[inline]
    fn visit_str<E: Error>(self, key: &str) -> Result<usize, E> {
        let index = N::NAMES.iter().position(|name| *name == key);
        index.ok_or_else(|| E::unknown_field(key, N::NAMES))
    }
}
