use serde_json::Value;
/// TEMP
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// p
    pub path: String,
}
/// k
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MismatchKind {}
impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path)
    }
}
pub(crate) fn check(_s: &Value, _v: &Value) -> Vec<Mismatch> {
    vec![]
}
