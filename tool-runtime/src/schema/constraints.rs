pub(crate) fn is_constrained(_s: &serde_json::Value) -> bool {
    false
}
