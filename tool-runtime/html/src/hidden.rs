//! Decides whether a page hides an element from its readers, by its attributes and by the styles
//! within the page.
//!
//! Text that only a model reads could give it instructions. Styles in other files and changes by
//! scripts are not read.

use std::collections::HashSet;

use crate::style::{self, Declarations};

/// The most selectors of a page that are kept.
const MAX_SELECTORS: usize = 10_000;

/// The selectors of a page that hide what they select.
#[derive(Debug, Default)]
pub(crate) struct HidingStyles {
    selectors: HashSet<String>,
}

impl HidingStyles {
    /// Adds the rules of a `style` element.
    ///
    /// A rule counts if it selects by one name, class or id, or by a name and one of them. Others,
    /// such as rules for the screen's width, may not apply.
    pub(crate) fn add(&mut self, css: &str) {
        let css = style::without_comments(css);
        for (selectors, declarations) in style::rules(&css) {
            if !Declarations::parse(declarations).hide() {
                continue;
            }
            for selector in selectors.split(',').map(str::trim) {
                let is_simple = !selector.is_empty()
                    && selector.chars().all(|c| c.is_alphanumeric() || "-_.#".contains(c))
                    && selector.matches(['.', '#']).count() <= 1;
                if is_simple && self.selectors.len() < MAX_SELECTORS {
                    self.selectors.insert(selector.to_lowercase());
                }
            }
        }
    }

    /// Whether an element with these attributes, whose names are in lower case, is not shown.
    pub(crate) fn hide<'a>(
        &self,
        tag: &str,
        attributes: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> bool {
        let mut is_hidden = self.selects(tag, "");
        let (mut is_dialog, mut is_open) = (tag == "dialog", false);
        for (name, value) in attributes {
            is_hidden |= match name {
                "hidden" => true,
                "aria-hidden" => value.trim().eq_ignore_ascii_case("true"),
                "style" => Declarations::parse(value).hide(),
                "class" => {
                    value.split_whitespace().any(|class| self.selects(tag, &format!(".{class}")))
                }
                "id" => self.selects(tag, &format!("#{}", value.trim())),
                _ => false,
            };
            is_dialog |= name == "popover";
            is_open |= name == "open";
        }
        // Shown by a script only.
        is_hidden || is_dialog && !is_open
    }

    fn selects(&self, tag: &str, part: &str) -> bool {
        if self.selectors.is_empty() {
            return false;
        }
        let part = part.to_lowercase();
        let selects = |selector: &str| !selector.is_empty() && self.selectors.contains(selector);
        selects(&part) || selects(&format!("{tag}{part}"))
    }
}

#[cfg(test)]
mod tests {
    use super::HidingStyles;

    fn is_hidden(css: &str, tag: &str, attributes: &[(&str, &str)]) -> bool {
        let mut styles = HidingStyles::default();
        styles.add(css);
        styles.hide(tag, attributes.iter().copied())
    }

    #[test]
    fn attributes_hide_an_element() {
        for (name, value) in
            [("hidden", ""), ("hidden", "until-found"), ("aria-hidden", " TRUE"), ("popover", "")]
        {
            assert!(is_hidden("", "p", &[(name, value)]), "{name}");
        }
        assert!(is_hidden("", "dialog", &[]) && !is_hidden("", "dialog", &[("open", "")]));
        for (name, value) in [
            ("aria-hidden", "false"),
            ("data-hidden", ""),
            ("title", "hidden"),
            ("class", "hidden"),
        ] {
            assert!(!is_hidden("", "p", &[(name, value)]), "{name}");
        }
    }

    #[test]
    fn styles_of_the_page_hide_what_they_select() {
        let css = "/* .no { */ p.a, .B , #c{ display : none } .d{color:red}\n\
            @media print{.e{display:none}} .f .g{display:none} aside{opacity:0}\n\
            .h{display:block;visibility:hidden} .i:hover{display:none} <!-- .j{opacity:0}-->";
        for (tag, attributes, expected) in [
            ("p", ("class", "x a"), true),
            ("div", ("class", "a"), false),
            ("i", ("class", "b"), true),
            ("i", ("id", "c"), true),
            ("i", ("class", "c"), false),
            ("i", ("class", "d"), false),
            ("i", ("class", "e"), false),
            ("i", ("class", "g"), false),
            ("aside", ("class", "x"), true),
            ("i", ("class", "h"), true),
            ("i", ("class", "i"), false),
            ("i", ("class", "j"), true),
        ] {
            assert_eq!(is_hidden(css, tag, &[attributes]), expected, "{tag} {attributes:?}");
        }
    }
}
