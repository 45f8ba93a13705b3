/// Collection of strings, such as `[key]`, `vec![key, token]` or a `Vec<String>`.
///
/// Every iterable of values that convert into `String` implements it. A single text does not:
/// write it as an array.
///
/// ```
/// use tool_runtime::Policy;
///
/// let key = String::from("k3y-0f-th3-h0us3");
/// let policy = Policy::new().secrets([key]).secrets(vec!["hunter22", "s3cret"]);
/// assert!(!format!("{policy:?}").contains("hunter22"));
/// ```
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a collection of strings",
    label = "write a single value as an array: `[value]`",
    note = "`Policy::secrets` and `Policy::grant` take an array, a `Vec` or another collection, whose \
            items are `&str` or `String`"
)]
pub trait IntoStrings {
    /// Converts the collection into owned strings.
    fn into_strings(self) -> impl Iterator<Item = String>;
}

#[diagnostic::do_not_recommend]
impl<I: IntoIterator<Item: Into<String>>> IntoStrings for I {
    fn into_strings(self) -> impl Iterator<Item = String> {
        self.into_iter().map(Into::into)
    }
}
