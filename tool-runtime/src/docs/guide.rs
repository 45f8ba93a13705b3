#![doc = include_str!("guide/index.md")]

macro_rules! pages {
    ($($(#[$when:meta])* $name:ident)*) => {
        $(
            $(#[$when])*
            #[doc = include_str!(concat!("guide/", stringify!($name), ".md"))]
            pub mod $name {}
        )*
    };
}

pages! {
    tools results context providers streaming structured_output approvals policy sessions steps steering many_tools
    observability testing small_models json_repair subagents cancellation workers production
    embeddings
    #[cfg(feature = "files")] workspace_tools
    #[cfg(feature = "files")] diffs_and_undo
    #[cfg(feature = "shell")] sandbox
    #[cfg(feature = "web")] fetching_and_searching
    #[cfg(feature = "knowledge")] knowledge
    #[cfg(feature = "knowledge")] memory
    #[cfg(feature = "schedule")] schedules
}
