//! Guide: one page for each task.

macro_rules! pages {
    ($($feature:literal: $($name:ident)*;)*) => {
        $($(
            #[cfg(feature = $feature)]
            #[doc = include_str!(concat!(stringify!($name), ".md"))]
            pub mod $name {}
        )*)*
    };
}

pages! {
    "catalog": catalog;
    "javascript": scripts;
    "rust": rust_tools;
}

#[cfg(all(feature = "catalog", feature = "javascript"))]
#[doc = include_str!("dynamic_tools.md")]
pub mod dynamic_tools {}
