//! The table of look-alike characters against its source, and properties of what is shown.

use proptest::prelude::{any, proptest};
use serde_json::{Value, json};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};
use unicode_security::confusable_detection::skeleton;

use super::invisible::invisible_character;
use super::table::{
    COMBINING, COMPATIBILITY_FORMS, INVISIBLE, LETTERS, LETTERS_OF_PROSE, PUNCTUATION, contains,
};
use super::{strip_invisible, visible, visible_json, visible_value};

#[test]
fn table_has_the_confusables_of_its_source() {
    let skeleton_of = |c: char| skeleton(&c.to_string()).collect::<String>();
    let ascii = |predicate: fn(char) -> bool| -> Vec<String> {
        ('!'..='~').filter(|c| predicate(*c)).map(skeleton_of).collect()
    };
    let letters = ascii(|c| c.is_ascii_alphanumeric());
    let punctuation = ascii(|c| "/.:-\\".contains(c));
    // No other planes have characters that look like others.
    for c in ('\u{40000}'..='\u{dffff}').chain('\u{f0000}'..=char::MAX) {
        assert!(!contains(LETTERS, c) && !contains(PUNCTUATION, c), "{c:?}");
    }
    for c in ('\u{80}'..'\u{40000}').chain('\u{e0000}'..'\u{f0000}') {
        let is_form = contains(COMPATIBILITY_FORMS, c);
        let is_left_out = is_form || LETTERS_OF_PROSE.contains(&c) || !c.is_alphanumeric();
        let skeleton = skeleton_of(c);
        let is_letter = letters.contains(&skeleton) && !is_left_out;
        assert_eq!(contains(LETTERS, c), is_letter, "{c:?}");
        assert_eq!(contains(PUNCTUATION, c), punctuation.contains(&skeleton), "{c:?}");
    }
}

#[test]
fn tables_have_the_categories_of_their_source() {
    for c in '\u{80}'..=char::MAX {
        let (code, category) = (u32::from(c), c.general_category());
        let is_mark =
            matches!(category, GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark);
        assert_eq!(contains(COMBINING, c), is_mark, "{c:?}");
        // A skeleton has none of the characters that are ignored.
        let is_ignored = skeleton(&c.to_string()).next().is_none();
        let is_format = category == GeneralCategory::Format;
        let is_line = matches!(c, '\u{2028}' | '\u{2029}');
        let is_blank = matches!(c, '\u{2800}' | '\u{1d159}');
        let is_noncharacter = code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code);
        // Signs before Arabic, Syriac and Kaithi numbers.
        let has_shape = matches!(
            c, '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
                | '\u{8e2}' | '\u{110bd}' | '\u{110cd}'
        );
        let is_needed = matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
        let is_unseen = is_format || is_ignored || is_line || is_blank || is_noncharacter;
        let is_invisible = (is_unseen || code >= 0xf0000) && !has_shape && !is_needed;
        assert_eq!(contains(INVISIBLE, c), is_invisible, "{c:?}");
    }
}

#[test]
fn long_sequence_of_marks_is_replaced_by_its_number() {
    let flood = |mark: char, count: usize| mark.to_string().repeat(count);
    for (text, expected) in [
        (
            format!("rm{} -rf", flood('\u{301}', 900)),
            "rm\u{301}\u{301}\u{301}\u{301}<+896 combining characters> -rf",
        ),
        (
            format!("a{}", flood('\u{489}', 5)),
            "a\u{489}\u{489}\u{489}\u{489}<+1 combining characters>",
        ),
        (format!("a{}", flood('\u{489}', 4)), "a\u{489}\u{489}\u{489}\u{489}"),
        // A joiner does not end the flood.
        (
            format!("é{}b", "\u{302}\u{200d}".repeat(100)),
            "é\u{302}\u{200d}\u{302}\u{200d}\u{302}\u{200d}\u{302}<+96 combining characters><U+200D>b",
        ),
        // Parts of a syllable are drawn on each other.
        (
            format!("\u{1112}{}", flood('\u{1161}', 7)),
            "\u{1112}\u{1161}\u{1161}\u{1161}\u{1161}<+3 combining characters>",
        ),
        ("\u{301}".repeat(6), "\u{301}\u{301}\u{301}\u{301}<+2 combining characters>"),
        (
            format!("{0}\n{0}", "e\u{301}\u{302}\u{303}"),
            "e\u{301}\u{302}\u{303}\ne\u{301}\u{302}\u{303}",
        ),
    ] {
        assert_eq!(visible(&text), expected, "{text:?}");
        assert_eq!(visible(expected), expected);
        let json = visible_json(json!([text]).to_string());
        let decoded: Vec<String> = serde_json::from_str(&json).unwrap();
        if !text.contains('\n') {
            assert_eq!(decoded[0], expected);
        }
    }
}

#[test]
fn deceptive_characters_are_marked() {
    for (text, expected) in [
        ("\u{1b}[2J", "<U+001B>[2J"),
        ("a\rb\r\n", "a<U+000D>b\r\n"),
        ("\u{202e}gnp.exe", "<U+202E>gnp.exe"),
        ("pay\u{200b}pal", "pay<U+200B>pal"),
        ("hi\u{e0068}\u{e0069}", "hi<U+E0068><U+E0069>"),
        ("a\u{a0}b\u{3000}c", "a<U+00A0>b<U+3000>c"),
        ("a\u{3164}b\u{fe01}", "a<U+3164>b<U+FE01>"),
        ("a\u{200d}b", "a<U+200D>b"),
        ("a\u{13430}b\u{1d159}", "a<U+13430>b<U+1D159>"),
        ("a\u{fdd0}\u{f0041}b", "a<U+FDD0><U+F0041>b"),
        // Cyrillic, Greek, Armenian, Cherokee and Latin letters beside those of ASCII.
        ("p\u{430}ypal", "p<U+0430>ypal"),
        ("g\u{3bf}\u{3bf}gle", "g<U+03BF><U+03BF>gle"),
        ("g\u{585}", "g<U+0585>"),
        ("\u{13aa}o", "<U+13AA>o"),
        ("\u{251}b", "<U+0251>b"),
        // Zero-width characters separate no words.
        ("p\u{200b}\u{430}y", "p<U+200B><U+0430>y"),
        // Whole words that could be ASCII, where nothing else is of their script.
        ("rm \u{440}\u{430}\u{443}", "rm <U+0440><U+0430><U+0443>"),
        ("\u{ff41}\u{ff11}", "<U+FF41><U+FF11>"),
        ("\u{1d41a}\u{2163}", "<U+1D41A><U+2163>"),
        ("Москва p\u{430}y", "Москва p<U+0430>y"),
        // Punctuation of paths and addresses.
        ("a\u{2215}b", "a<U+2215>b"),
        ("bank\u{2024}com", "bank<U+2024>com"),
        ("10\u{2024}0", "10<U+2024>0"),
        ("https\u{a789}//", "https<U+A789>//"),
        ("rm \u{2013}rf", "rm <U+2013>rf"),
        ("C:\u{29f5}a", "C:<U+29F5>a"),
    ] {
        assert_eq!(visible(text), expected, "{text:?}");
    }
}

#[test]
fn prose_of_many_scripts_and_emoji_stay_as_they_are() {
    for text in [
        "plain\ttext\r\n of <U+0041>",
        "naïve – “so” … 3–5 − 2, ½ ×",
        "Съешь же ещё этих мягких французских булок, а потом чаю",
        "Γνῶθι σεαυτόν, ο άνθρωπος",
        "Բարեւ, ինչպես ես",
        "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
        "שלום עולם, مرحبا بالعالم ٥",
        "می‌خواهم، क्‍ष नमस्ते ०",
        "日本語、中文　漢字：ＡＢＣ１２３ ノート",
        "안녕하세요 ㅇㅇ",
        "það ıssız ʋu ɣi",
        "สวัสดี ქართული አማርኛ",
        "עִבְרִ֔ית ཧཱུྃ Tiếng Việt n\u{303}o\u{302}\u{301}",
        "👩‍💻 👨‍👩‍👧 ❤️ 🏳️‍🌈 ℹ️ 1️⃣ ☎︎ 🇳🇴",
    ] {
        assert_eq!(visible(text), text);
    }
}

proptest! {
    #[test]
    fn marked_text_has_nothing_to_mark(text in any::<String>()) {
        let marked = visible(&text).into_owned();
        assert_eq!(visible(&marked), marked);
        assert_eq!(invisible_character(&marked), None);
        assert!(!text.is_ascii() || marked == text || text.contains(|c: char| c.is_control()));
    }

    #[test]
    fn adversarial_text_is_marked_once(
        text in "[ap1./\u{430}\u{440}\u{444}\u{3bf}\u{200b}\u{200d}\u{fe0f}\u{3000}\u{2013}\u{2024}\u{ff41}漢é\u{20e3}❤\"\\\\\r\n]{0,12}",
    ) {
        let expected = visible(&text).into_owned();
        assert_eq!(visible(&expected), expected, "{text:?}");
        assert_eq!(invisible_character(&expected), None, "{text:?}");
        // In JSON, escapes are beside the characters, so more of them may be marked.
        let marked = visible_json(json!([text]).to_string());
        let marked: Vec<String> = serde_json::from_str(&marked).unwrap();
        assert_eq!(invisible_character(&marked[0]), None, "{text:?}");
    }
}

#[test]
fn json_stays_valid_and_an_escape_is_in_no_word() {
    let json = "{\"p\u{430}th\":\"Москва\\nВолга\\u0430\",\"n\":1e2}".to_owned();
    assert_eq!(visible_json(json.clone()), json.replace("p\u{430}th", "p<U+0430>th"));
    let value: Value = serde_json::from_str(&json).unwrap();
    assert!(visible_value(value).get("p<U+0430>th").is_some());
}

#[test]
fn no_member_hides_another_one() {
    let value = visible_value(json!({ "<U+0430>": 1, "\u{430}": 2 }));
    assert_eq!(value.as_object().unwrap().len(), 2);
}

#[test]
fn stripped_joiner_loses_its_base_too() {
    // Without the tag characters, the joiner stands beside ASCII.
    assert_eq!(strip_invisible("a\u{200d}\u{e0041}\u{200d}b"), "ab");
    assert_eq!(strip_invisible("\u{1b}[2J\u{feff}x\u{2066}y"), "[2Jxy");
}

proptest! {
    #[test]
    fn stripped_text_has_no_invisible_character(text in any::<String>(), hidden in "[\u{200b}-\u{200f}\u{e0001}-\u{e007f}a-zé]{0,12}") {
        for text in [text, hidden] {
            let stripped = strip_invisible(&text);
            assert_eq!(invisible_character(&stripped), None);
            assert_eq!(strip_invisible(&stripped), stripped);
        }
    }
}
