//! Errors of session stores.

use tool_runtime::agent::session::{SessionError, SessionWrite};

#[test]
fn errors_name_session_condition_and_values() {
    let conflict = SessionWrite::update(3).check("ada", 4, 0).unwrap_err();
    let unfit = SessionWrite::update(4).messages(2, &[]).check("ada", 4, 1).unwrap_err();
    for (error, text) in [
        (
            conflict,
            "session `ada` was changed by another writer: expected revision 3, found 4; load it again \
             and continue from there",
        ),
        (
            unfit,
            "invalid write to session `ada`: starts at message 2, but the session's message count is 1",
        ),
        (
            SessionError::Corrupt {
                session: "ada".into(),
                message_index: Some(2),
                reason: "no".into(),
            },
            "record of session `ada` can't be decoded at message 2: no; it was left unchanged: repair the record, or delete the session",
        ),
        (
            SessionError::unavailable("the disk is full"),
            "session store unavailable: the disk is full",
        ),
    ] {
        assert_eq!(error.to_string(), text);
        assert_eq!(error.is_transient(), matches!(error, SessionError::Unavailable { .. }));
    }
}
