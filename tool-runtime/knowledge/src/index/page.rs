//! Pages in HTML as Markdown, by which they are divided and searched.

use url::Url;

use tool_html::{Page, on_thread, to_markdown, to_plain_text};

/// Returns a page as Markdown, with its title as the first heading. A page that can't be converted
/// is reduced to its text.
pub(crate) async fn page_text(source: &str, html: String) -> String {
    // Of a page without a URL, only absolute links are kept.
    let url = Url::parse(source).or_else(|_| Url::parse("about:blank"));
    let page = html.clone();
    let convert = move || url.ok().map(|url| with_title(to_markdown(&page, &url)));
    let converted = on_thread(convert).await.ok().flatten().flatten();
    converted.unwrap_or_else(|| to_plain_text(&html).text)
}

fn with_title(page: Page) -> String {
    let text = page.text.trim().to_owned();
    match page.title {
        Some(title) if !text.starts_with("# ") => format!("# {title}\n\n{text}"),
        _ => text,
    }
}
