//! A thread for the conversion: its recursion needs more stack than threads have.

use std::io;

use tokio::sync::oneshot;

use crate::STACK_LEN;

/// Runs a conversion on a thread whose stack is large enough for a page of any nesting; `None` if
/// it panics.
///
/// # Errors
/// Returns an error if the thread can't be started.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let deep = "<div>".repeat(100_000) + "Tea";
/// let page = tool_html::on_thread(move || tool_html::to_plain_text(&deep)).await?;
/// assert_eq!(page.expect("the conversion returns").text, "Tea");
/// # Ok(())
/// # }
/// ```
pub async fn on_thread<T: Send + 'static>(
    convert: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let (sender, receiver) = oneshot::channel();
    std::thread::Builder::new().name("html to markdown".to_owned()).stack_size(STACK_LEN).spawn(
        move || {
            // The caller may have ended meanwhile.
            let _ = sender.send(convert());
        },
    )?;
    // The sender is dropped without a value if the converter panics.
    Ok(receiver.await.ok())
}
