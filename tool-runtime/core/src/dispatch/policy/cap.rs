//! Limits of the text of a result and of its images, audio and files.

use crate::message::{
    ContentPart, EmbeddedResource, ResourceData, ToolResult, keep_head, keep_tail,
};

/// The default size limit of a result's text in bytes: about 25,000 tokens.
pub(in crate::dispatch) const DEFAULT_MAX_OUTPUT_BYTES: usize = 100_000;

/// The default limit of the images, audio and files of a result in bytes: the size of a request
/// that Gemini accepts (<https://ai.google.dev/gemini-api/docs/image-understanding>).
pub(in crate::dispatch) const DEFAULT_MAX_MEDIA_BYTES: usize = 20_000_000;

/// Replaces the images, audio and files that exceed `limit` bytes, together with those before them,
/// by notes.
pub(in crate::dispatch) fn limit_media(result: &mut ToolResult, limit: usize) {
    let mut left = limit;
    for part in &mut result.parts {
        let Some(media) = part.media() else { continue };
        match left.checked_sub(media.byte_len()) {
            Some(rest) => left = rest,
            None => *part = ContentPart::text(media.note()),
        }
    }
}

/// Truncates the texts of a result that together exceed `limit` bytes; returns the complete text if
/// they do.
///
/// The first texts are kept, the one that exceeds the limit keeps its head and its tail, and a note
/// takes the place of those after it. Images and other data stay where they are.
pub(in crate::dispatch) fn truncate_result(
    result: &mut ToolResult,
    limit: usize,
) -> Option<String> {
    if result.parts.is_empty() {
        let short = truncate_middle(&result.text, limit)?;
        return Some(std::mem::replace(&mut result.text, short));
    }
    let texts = result.parts.iter().filter(|part| part.media().is_none());
    let bytes: usize = texts.map(|part| part.plain_text().len()).sum();
    if result.text.len().saturating_add(bytes) <= limit {
        return None;
    }
    let full_text = result.plain_text().into_owned();
    let mut left = limit.saturating_sub(result.text.len());
    let mut is_cut = false;
    if let Some(short) = truncate_middle(&result.text, limit) {
        result.text = short;
        is_cut = true;
    }
    let (mut omitted_parts, mut omitted_bytes) = (0, 0);
    result.parts.retain_mut(|part| {
        if part.media().is_some() {
            return true;
        }
        let bytes = part.plain_text().len();
        if !is_cut && bytes <= left {
            left -= bytes;
            return true;
        }
        if !std::mem::replace(&mut is_cut, true) && truncate_part(part, bytes, left) {
            return true;
        }
        omitted_parts += 1;
        omitted_bytes += bytes;
        false
    });
    if omitted_parts > 0 {
        let note = format!("[… {omitted_bytes} bytes in {omitted_parts} more parts left out …]");
        result.parts.push(ContentPart::text(note));
    }
    Some(full_text)
}

/// Truncates a part of `bytes` bytes to `limit`; returns false if that is not possible.
fn truncate_part(part: &mut ContentPart, bytes: usize, limit: usize) -> bool {
    let text = match part {
        ContentPart::Text { text } => text,
        ContentPart::Resource(EmbeddedResource { data: ResourceData::Text(text), .. }) => text,
        _ => return false,
    };
    // The URI stands before the text of a resource.
    let short =
        limit.checked_sub(bytes - text.len()).and_then(|limit| truncate_middle(text, limit));
    short.map(|short| *text = short).is_some()
}

/// Returns the head and the tail of a text that is longer than `limit` bytes, with a note about the
/// omitted bytes between them; `None` if the text is short enough.
///
/// The tail is kept because the end of an output, such as the outcome of a build, matters as much
/// as its beginning. Untrusted text stays marked on both sides.
fn truncate_middle(text: &str, limit: usize) -> Option<String> {
    if text.len() <= limit {
        return None;
    }
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let head_end = (0..=limit / 2).rev().find(is_boundary)?;
    let tail_start = (text.len() - (limit - limit / 2)..=text.len()).find(is_boundary)?;
    let (head, tail) = (keep_head(text, head_end), keep_tail(text, tail_start));
    let (omitted, total) = (tail_start - head_end, text.len());
    Some(format!("{head}\n[… {omitted} of {total} bytes left out …]\n{tail}"))
}

#[cfg(test)]
mod tests {
    use super::{limit_media, truncate_middle, truncate_result};
    use crate::message::{
        ContentPart, EmbeddedResource, Image, ResourceLink, ToolCall, ToolResult, Untrusted,
    };

    #[test]
    fn texts_of_a_result_share_the_limit() {
        let image = || Image { media_type: "image/png".into(), base64: "AAAA".into() };
        let parts = || -> Vec<ContentPart> {
            vec![
                "12345".into(),
                image().into(),
                EmbeddedResource::text("a:b", "123456").into(),
                ResourceLink::new("c:d", "e").into(),
                image().into(),
                "1".into(),
            ]
        };
        let first_parts = |count: usize| parts().into_iter().take(count);
        let cut = EmbeddedResource::text("a:b", "1\n[… 4 of 6 bytes left out …]\n6");
        let note = |text: &str| ContentPart::text(text);
        for (limit, text, expected) in [
            (36, "1234", parts()),
            (35, "1234", first_parts(5).chain([note("\n[… 1 of 1 bytes left out …]\n")]).collect()),
            (
                34,
                "1234",
                first_parts(3)
                    .chain([image().into(), note("[… 15 bytes in 2 more parts left out …]")])
                    .collect(),
            ),
            (
                17,
                "1234",
                first_parts(2)
                    .chain([cut.into(), image().into()])
                    .chain([note("[… 15 bytes in 2 more parts left out …]")])
                    .collect(),
            ),
            (
                2,
                "1\n[… 2 of 4 bytes left out …]\n4",
                vec![
                    image().into(),
                    image().into(),
                    note("[… 32 bytes in 4 more parts left out …]"),
                ],
            ),
        ] {
            let mut result = ToolResult::success(&ToolCall::new("1", "t", "{}"), "1234");
            result.parts = parts();
            let full_text = result.plain_text().into_owned();
            let complete = truncate_result(&mut result, limit);
            assert_eq!((result.text.as_str(), result.parts), (text, expected), "{limit}");
            assert_eq!(complete, (limit < 36).then_some(full_text), "{limit}");
        }
    }

    #[test]
    fn media_beyond_the_limit_are_replaced_by_notes() {
        let part = |len: usize| Image { media_type: "image/png".into(), base64: "A".repeat(len) };
        let parts = [part(8).into(), "a text".into(), part(12).into(), part(4).into()];
        for (limit, left_out) in [
            (18, vec![]),
            (17, vec![3]),
            (14, vec![2]),
            (9, vec![2]),
            (6, vec![2, 3]),
            (5, vec![0, 2]),
        ] {
            let mut result = ToolResult::success(&ToolCall::new("1", "t", "{}"), "");
            result.parts = parts.to_vec();
            limit_media(&mut result, limit);
            for (number, (part, before)) in result.parts.iter().zip(&parts).enumerate() {
                let expected = match before.media().filter(|_| left_out.contains(&number)) {
                    Some(media) => ContentPart::text(media.note()),
                    None => before.clone(),
                };
                assert_eq!(*part, expected, "{limit}");
            }
        }
    }

    #[test]
    fn long_text_keeps_its_head_and_tail() {
        assert_eq!(truncate_middle("short", 5), None);
        let text = truncate_middle("0123456789", 4).unwrap();
        assert_eq!(text, "01\n[… 6 of 10 bytes left out …]\n89");
        // No character is split, and no byte appears twice.
        let text = truncate_middle("äöüß", 5).unwrap();
        assert_eq!(text, "ä\n[… 4 of 8 bytes left out …]\nß");
        assert_eq!(truncate_middle("äö", 1).unwrap(), "\n[… 4 of 4 bytes left out …]\n");
        assert_eq!(truncate_middle("ab", 0).unwrap(), "\n[… 2 of 2 bytes left out …]\n");
    }
    #[test]
    fn untrusted_text_is_marked_on_both_sides_of_a_cut() {
        let page = Untrusted::new("a page", "Obey. ".repeat(1_000)).to_string();
        let mut result = ToolResult::success(&ToolCall::new("1", "t", "{}"), page.clone());
        result.parts = vec![EmbeddedResource::text("a:b", format!("{page}The end.")).into()];
        for limit in [0, 200, 1_000, 5_000, 7_000, 10_000] {
            let mut result = result.clone();
            truncate_result(&mut result, limit).unwrap();
            let text = result.plain_text().into_owned();
            let mut rest = text.as_str();
            while let Some((before, marked)) = rest.split_once("<untrusted source=\"a page\">\n") {
                assert!(!before.contains("Obey"), "{limit}: {text}");
                (_, rest) = marked.split_once("\n</untrusted>").unwrap();
            }
            assert!(!rest.contains("Obey") && !rest.contains("untrusted>"), "{limit}: {text}");
        }
    }
}
