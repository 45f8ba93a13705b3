#![doc = include_str!("guide/index.md")]

macro_rules! pages {
    ($($name:ident)*) => {
        $(
            #[doc = include_str!(concat!("guide/", stringify!($name), ".md"))]
            pub mod $name {}
        )*
    };
}

pages! {
    tools results context providers streaming structured_output approvals policy sessions steps steering many_tools
    observability testing small_models json_repair subagents cancellation production
    embeddings
}
