use rmcp::model::PaginatedRequestParams;

/// The number of items in one response.
const PAGE: usize = 500;

/// Returns a page of sorted items, and the cursor of the next page. A cursor is the key of the last
/// item before it, so it stays valid when items are added or removed.
pub(crate) fn page<T>(
    items: impl Iterator<Item = T>,
    params: Option<PaginatedRequestParams>,
    key: impl Fn(&T) -> &String,
) -> (Vec<T>, Option<String>) {
    let after = params.and_then(|params| params.cursor);
    let is_after = |item: &T| after.as_ref().is_none_or(|cursor| key(item) > cursor);
    let mut items = items.filter(is_after);
    let page: Vec<T> = items.by_ref().take(PAGE).collect();
    let cursor = match items.next() {
        Some(_) => page.last().map(|item| key(item).clone()),
        None => None,
    };
    (page, cursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_contain_every_item_once() {
        for count in [0, 1, PAGE, PAGE + 1, 3 * PAGE + 7] {
            let all: Vec<String> = (0..count).map(|n| format!("{n:06}")).collect();
            let (mut listed, mut cursor) = (Vec::new(), None);
            loop {
                let params = PaginatedRequestParams::default().with_cursor(cursor);
                let (items, next) = page(all.clone().into_iter(), Some(params), |item| item);
                listed.extend(items);
                cursor = next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(listed, all);
        }
    }
}
