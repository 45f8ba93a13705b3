//! Panics that tests cause on purpose.

use std::panic;
use std::sync::Once;

/// Suppresses the reports of panics whose message ends in "on purpose".
///
/// The hook is one for the process, and the tests of a binary share it. Reports of other panics
/// must remain, because they explain why a test failed.
pub fn silence_panics_on_purpose() {
    static INSTALL_HOOK: Once = Once::new();
    INSTALL_HOOK.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let message = info.payload_as_str().and_then(|text| text.lines().next());
            if !message.is_some_and(|message| message.ends_with("on purpose")) {
                report(info);
            }
        }));
    });
}
