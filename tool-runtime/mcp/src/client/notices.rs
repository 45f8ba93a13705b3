//! Delivers the notifications of a server to the program, and to the model as untrusted messages.

use crate::client::connect::link::Link;
use crate::client::events::McpEvent;
use crate::client::tools::text::source;
use crate::client::wire::traffic::Notices;

/// Delivers notices. Returns whether the list of tools must be requested again.
pub(crate) fn deliver(link: &Link, notices: Notices) -> bool {
    let steering = link.options.steering.as_ref();
    let from = source(&link.name);
    // Pushed as untrusted, a message waits for the next request and never causes one.
    let push = |text: &str| {
        if let Some(steering) = steering {
            steering.push_untrusted(&from, text);
        }
    };
    for log in notices.logs {
        push(&format!("{}: {}", log.level, log.text));
        link.emit(&McpEvent::Log { level: log.level, text: log.text });
    }
    for uri in notices.updated_resources {
        push(&format!("The resource {uri} has changed."));
        link.emit(&McpEvent::ResourceUpdated { uri });
    }
    if notices.resources_changed {
        push("The list of resources has changed.");
        link.emit(&McpEvent::ResourcesChanged);
    }
    if notices.prompts_changed {
        link.emit(&McpEvent::PromptsChanged);
    }
    if notices.dropped > 0 {
        link.emit(&McpEvent::NotificationsDropped { count: notices.dropped });
    }
    if let Some(reason) = notices.interruption {
        link.emit(&McpEvent::NotificationsInterrupted { reason });
    }
    if notices.is_reopened {
        link.emit(&McpEvent::NotificationsResumed);
    }
    // What changed before the stream was open again was not notified.
    notices.tools_changed || notices.is_reopened
}
