use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;

/// The number of items in one response.
const PAGE: usize = 500;

/// Returns a page of sorted items, and the cursor of the next page. A cursor is the key of the last
/// item before it, so it stays valid when items are added or removed.
///
/// # Errors
/// The cursor is none of a list of this kind.
pub(crate) fn page<T>(
    kind: &str,
    items: impl Iterator<Item = T>,
    params: Option<PaginatedRequestParams>,
    key: impl Fn(&T) -> &String,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let after = match params.and_then(|params| params.cursor) {
        Some(cursor) => Some(read_cursor(kind, &cursor)?),
        None => None,
    };
    let is_after = |item: &T| after.as_ref().is_none_or(|after| key(item) > after);
    let mut items = items.filter(is_after);
    let page: Vec<T> = items.by_ref().take(PAGE).collect();
    let next = match items.next() {
        Some(_) => page.last().map(|item| cursor(kind, key(item))),
        None => None,
    };
    Ok((page, next))
}

/// Returns the cursor of the page after a key. The checksum is no secret: it distinguishes a cursor
/// of this list from any other text.
fn cursor(kind: &str, key: &str) -> String {
    format!("{:016x}{key}", checksum(kind, key))
}

fn read_cursor(kind: &str, text: &str) -> Result<String, ErrorData> {
    let key = text.get(16..).filter(|key| cursor(kind, key) == text).map(str::to_owned);
    key.ok_or_else(|| ErrorData::invalid_params(format!("invalid cursor of the {kind}"), None))
}

/// Returns the FNV-1a hash of a kind and a key, which is the same in every process.
fn checksum(kind: &str, key: &str) -> u64 {
    let bytes = kind.bytes().chain([0xff]).chain(key.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(cursor: Option<String>) -> Option<PaginatedRequestParams> {
        Some(PaginatedRequestParams::default().with_cursor(cursor))
    }

    #[test]
    fn pages_contain_every_item_once() {
        for count in [0, 1, PAGE, PAGE + 1, 3 * PAGE + 7] {
            let all: Vec<String> = (0..count).map(|n| format!("{n:06}")).collect();
            let (mut listed, mut cursor) = (Vec::new(), None);
            loop {
                let (items, next) =
                    page("tools", all.clone().into_iter(), params(cursor), |item| item).unwrap();
                listed.extend(items);
                cursor = next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(listed, all);
        }
    }

    #[test]
    fn cursor_of_no_page_is_refused() {
        let good = cursor("tools", "add");
        let list = |cursor: &str| {
            let items = ["add", "sub"].map(str::to_owned).into_iter();
            page("tools", items, params(Some(cursor.to_owned())), |item| item)
        };
        assert_eq!(list(&good).unwrap(), (vec!["sub".to_owned()], None));
        for bad in [
            "",
            "add",
            "banana",
            "0",
            good.get(1..).unwrap(),
            good.strip_suffix('d').unwrap(),
            &format!("{good}x"),
            &good.replacen(|c: char| c.is_ascii_hexdigit(), "+", 1),
            &cursor("prompts", "add"),
            "ééééééééé",
            &"9".repeat(10_000),
        ] {
            assert_eq!(list(bad).unwrap_err().code.0, -32602, "{bad}");
        }
    }
}
