//! The connections of this process, by which a name is taken before its tools are registered.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::client::connect::link::Link;

static OPEN: Mutex<Vec<Weak<Link>>> = Mutex::new(Vec::new());

/// Adds a connection. Returns false if its registry has an open one of the same name, which may
/// have no tools: it is connecting, or its tools await approval.
pub(crate) fn add(link: &Arc<Link>) -> bool {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|link| link.upgrade().is_some_and(|link| !link.closed.is_cancelled()));
    let is_same = |other: Arc<Link>| {
        other.name == link.name && other.registry.is_same_registry(&link.registry)
    };
    let is_free = !open.iter().filter_map(Weak::upgrade).any(is_same);
    if is_free {
        open.push(Arc::downgrade(link));
    }
    is_free
}
