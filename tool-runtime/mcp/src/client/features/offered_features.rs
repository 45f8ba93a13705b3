//! The features of a server that the model receives as tools.

use rmcp::model::ServerCapabilities;

use crate::client::options::Options;

/// The features of a server that its connection offers as tools.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OfferedFeatures {
    pub(crate) resources: bool,
    pub(crate) subscriptions: bool,
    pub(crate) prompts: bool,
    pub(crate) completions: bool,
}

impl OfferedFeatures {
    /// Returns the features that the program asked for and the server has.
    pub(crate) fn new(options: &Options, server: &ServerCapabilities) -> Self {
        let resources = options.offers_resources && server.resources.is_some();
        let can_subscribe = server.resources.as_ref().is_some_and(|it| it.subscribe == Some(true));
        // Without a steering, the model would not learn of a change.
        let subscriptions = resources && can_subscribe && options.steering.is_some();
        let prompts = options.offers_prompts && server.prompts.is_some();
        let completions = (resources || prompts) && server.completions.is_some();
        Self { resources, subscriptions, prompts, completions }
    }
}
