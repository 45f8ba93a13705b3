//! Quotation marks of several languages, each with the marks that close it.

/// Returns the marks that close a quotation which `opening_mark` opens.
pub(crate) fn closing_marks(opening_mark: char) -> Option<&'static str> {
    Some(match opening_mark {
        '"' => "\"",
        '\'' => "'",
        '“' => "”“",
        '”' => "”",
        '„' | '‟' => "“”",
        '‘' => "’",
        '’' => "’",
        '‚' | '‛' => "‘’",
        '«' => "»",
        '»' => "«»",
        '‹' => "›",
        '›' => "‹›",
        '「' => "」",
        '『' => "』",
        '｢' => "｣",
        '《' => "》",
        '〈' => "〉",
        '〝' => "〞〟",
        '＂' => "＂",
        '❝' => "❞",
        '❛' => "❜",
        _ => return None,
    })
}

/// Returns true for a mark that opens a quotation wherever it stands.
pub(crate) fn is_opening_mark(c: char) -> bool {
    closing_marks(c).is_some() && !is_ambiguous(c)
}

/// Returns true for marks that close quotations in some languages and open them in others.
pub(crate) fn is_ambiguous(c: char) -> bool {
    matches!(c, '”' | '’' | '»' | '›')
}

/// Returns true for marks that are apostrophes as well.
pub(crate) fn may_be_apostrophe(closing_marks: &str) -> bool {
    matches!(closing_marks, "'" | "’")
}
