//! Finds the declarations of CSS that hide an element.

/// A length from which an element is off the screen, in pixels.
const OFF_SCREEN: f64 = 500.0;

/// The largest font, in pixels, that is too small to read.
const UNREADABLE_FONT: f64 = 2.0;

/// The largest share of light at which a text is not seen.
const UNSEEN_OPACITY: f64 = 0.1;

/// Pixels of one unit of a length. Those that depend on the page are those of its defaults.
const UNITS: [(&str, f64); 14] = [
    // Longer names precede those that they end with.
    ("rem", FONT),
    ("em", FONT),
    ("ex", 8.0),
    ("ch", 8.0),
    ("vmin", 8.0),
    ("vmax", 8.0),
    ("vw", 12.0),
    ("vh", 8.0),
    ("px", 1.0),
    ("pt", 1.33),
    ("pc", 16.0),
    ("mm", 3.78),
    ("cm", 37.8),
    ("in", 96.0),
];

/// The length that is assumed for 100 %, in pixels.
const PERCENT_BASE: f64 = 500.0;

/// The pixels of a usual font.
const FONT: f64 = 16.0;

/// The most declarations of an element that are read.
const MAX_DECLARATIONS: usize = 200;

/// The most bytes of a declaration that are read.
const MAX_DECLARATION_LEN: usize = 2_000;

/// The declarations of a `style` attribute or a rule, in lower case and without comments.
#[derive(Debug)]
pub(crate) struct Declarations(Vec<(String, String)>);

impl Declarations {
    pub(crate) fn parse(css: &str) -> Self {
        let css = without_comments(css);
        let declarations = css.split(';').take(MAX_DECLARATIONS).filter_map(|declaration| {
            let (name, value) = first(declaration, MAX_DECLARATION_LEN).split_once(':')?;
            let value = unescaped(value).to_ascii_lowercase();
            let value = value.split_once('!').map_or(value.as_str(), |(value, _)| value);
            let words: Vec<_> = value.split_whitespace().collect();
            Some((unescaped(name).trim().to_ascii_lowercase(), words.join(" ")))
        });
        Self(declarations.collect())
    }

    /// Whether a reader does not see the text of an element with these declarations.
    pub(crate) fn hide(&self) -> bool {
        self.0.iter().any(|(name, value)| hides(name, value))
            || self.is_off_screen()
            || self.is_clipped()
            || self.has_one_color()
    }

    /// Returns the last value of a property.
    fn get(&self, property: &str) -> Option<&str> {
        self.0.iter().rev().find(|(name, _)| name == property).map(|(_, value)| value.as_str())
    }

    fn is_off_screen(&self) -> bool {
        let is_placed = matches!(self.get("position"), Some("absolute" | "fixed" | "relative"));
        let far =
            |property| self.get(property).and_then(pixels).is_some_and(|at| at >= 4.0 * OFF_SCREEN);
        let before =
            |property| self.get(property).and_then(pixels).is_some_and(|at| at <= -OFF_SCREEN);
        // A place far below or to the right may be seen after scrolling.
        is_placed
            && (["left", "top", "inset"].into_iter().any(before) || far("right") || far("bottom"))
            || ["margin-left", "margin-top", "text-indent", "margin"].into_iter().any(before)
    }

    /// Whether the element has no room for its text and hides what does not fit.
    fn is_clipped(&self) -> bool {
        let hides_rest = ["overflow", "overflow-x", "overflow-y"]
            .into_iter()
            .filter_map(|property| self.get(property))
            .any(|value| value.contains("hidden") || value.contains("clip"));
        let sizes = ["width", "height", "max-width", "max-height", "line-height"];
        let is_small = |property: &str| {
            self.get(property).and_then(pixels).is_some_and(|size| size <= UNREADABLE_FONT)
        };
        hides_rest && sizes.into_iter().any(is_small)
    }

    /// Whether the text has the color of what is behind it.
    fn has_one_color(&self) -> bool {
        let background = self.get("background-color").or_else(|| self.get("background"));
        let text = self.get("color").filter(|text| {
            // The values of others are not known.
            !matches!(*text, "inherit" | "initial" | "unset" | "revert") && !text.contains("var(")
        });
        text.zip(background).is_some_and(|(text, background)| color(text) == color(background))
    }
}

/// Whether one declaration alone hides an element.
fn hides(name: &str, value: &str) -> bool {
    let at_most = |limit: f64| number(value).is_some_and(|it| it <= limit);
    match name {
        "display" => value == "none",
        "visibility" => matches!(value, "hidden" | "collapse"),
        "content-visibility" => value == "hidden",
        "opacity" => at_most(UNSEEN_OPACITY),
        "zoom" | "scale" => at_most(UNSEEN_OPACITY),
        "font-size" => is_unreadable(value),
        // The size precedes the height of a line: `0/0 a`, `bold 1px/2 serif`.
        "font" => value.split(' ').any(|word| {
            let size = word.split_once('/').map_or(word, |(size, _)| size);
            let is_size = word.contains('/') || !size.bytes().all(|byte| byte.is_ascii_digit());
            (is_size || size == "0") && is_unreadable(size)
        }),
        "color" | "-webkit-text-fill-color" => is_transparent(value),
        "clip" => value.starts_with("rect(") && is_empty_rectangle(arguments(value)),
        "clip-path" => match value.split_once('(') {
            Some(("inset", _)) => {
                let sides: Vec<_> =
                    arguments(value).map(|side| number(side).unwrap_or(0.0)).collect();
                match *sides.as_slice() {
                    [all] => all >= 0.5,
                    [top, side] => top >= 0.5 || side >= 0.5,
                    [top, side, bottom] => top + bottom >= 1.0 || side >= 0.5,
                    [top, right, bottom, left, ..] => top + bottom >= 1.0 || right + left >= 1.0,
                    [] => false,
                }
            }
            Some(("circle" | "ellipse", _)) => {
                arguments(value).next().and_then(pixels).is_some_and(|size| size <= 1.0)
            }
            Some(("polygon", _)) => arguments(value).all(|at| number(at) == Some(0.0)),
            _ => false,
        },
        "filter" => function(value, "opacity").is_some_and(|it| it <= UNSEEN_OPACITY),
        "transform" => {
            ["scale", "scalex", "scaley", "scale3d"]
                .into_iter()
                .any(|name| function(value, name).is_some_and(|it| it <= UNSEEN_OPACITY))
                || value.contains("translate")
                    && arguments(value).any(|at| pixels(at).is_some_and(|at| at <= -OFF_SCREEN))
        }
        _ => false,
    }
}

/// Whether a font of this size is too small to read.
fn is_unreadable(size: &str) -> bool {
    let share = size.strip_suffix('%').and_then(|_| number(size));
    share.map(|share| share * FONT).or_else(|| pixels(size)).is_some_and(|it| it <= UNREADABLE_FONT)
}

/// Returns the length in pixels. Those without a number, such as `auto`, have none.
fn pixels(value: &str) -> Option<f64> {
    let value = value.split(' ').next()?;
    if value.ends_with('%') {
        return number(value).map(|share| share * PERCENT_BASE);
    }
    let unit = UNITS.iter().find_map(|(unit, size)| Some((value.strip_suffix(unit)?, size)));
    let (digits, size) = unit.unwrap_or((value, &1.0));
    digits.trim().parse::<f64>().ok().map(|length| length * size)
}

/// Returns a number, or a percentage as a share.
fn number(value: &str) -> Option<f64> {
    match value.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => value.trim().parse().ok(),
    }
}

/// Returns the first argument of a function in a value.
fn function(value: &str, name: &str) -> Option<f64> {
    let mut calls = value.split(' ').filter_map(|word| word.split_once('('));
    let (_, arguments) = calls.find(|(callee, _)| *callee == name)?;
    number(arguments.split([',', ')', ' ']).next()?)
}

/// Returns what stands between the parentheses of a value.
fn arguments(value: &str) -> impl Iterator<Item = &str> {
    let inner = value.split_once('(').map_or("", |(_, inner)| inner);
    inner.split([',', ' ', '(', ')']).filter(|argument| !argument.is_empty())
}

/// Whether the four sides of a rectangle leave no room between them.
fn is_empty_rectangle<'a>(sides: impl Iterator<Item = &'a str>) -> bool {
    let sides: Vec<_> = sides.map(|side| pixels(side).unwrap_or(f64::NAN)).collect();
    match sides.as_slice() {
        [top, right, bottom, left] => {
            (bottom - top).abs() <= UNREADABLE_FONT || (right - left).abs() <= UNREADABLE_FONT
        }
        _ => false,
    }
}

fn is_transparent(color: &str) -> bool {
    let hex = color.strip_prefix('#').unwrap_or_default();
    let has_no_alpha = match hex.len() {
        4 => hex.ends_with('0'),
        8 => hex.ends_with("00"),
        _ => false,
    };
    let parts: Vec<_> =
        color.split(['(', ',', ' ', '/', ')']).filter(|it| !it.is_empty()).collect();
    let alpha = parts.last().filter(|_| {
        parts.len() == 5 && ["rgb", "hsl"].iter().any(|function| color.starts_with(function))
    });
    color == "transparent"
        || has_no_alpha
        || alpha.and_then(|alpha| number(alpha)).is_some_and(|alpha| alpha <= UNSEEN_OPACITY)
}

/// Returns one spelling of a color.
fn color(value: &str) -> String {
    match value {
        "white" => "#ffffff".to_owned(),
        "black" => "#000000".to_owned(),
        value => match value.strip_prefix('#') {
            Some(hex) if hex.len() == 3 => {
                let doubled: String = hex.chars().flat_map(|digit| [digit, digit]).collect();
                format!("#{doubled}")
            }
            _ => value.replace(' ', ""),
        },
    }
}

/// Returns the selectors and the declarations of each rule that applies to every screen. The style
/// has no comments.
pub(crate) fn rules(css: &str) -> Vec<(String, &str)> {
    let mut rules = Vec::new();
    let mut rest = css;
    while let Some((selectors, after)) = rest.split_once('{') {
        // A style may be within the marks of a comment of HTML; `@import` has no block.
        let selectors = selectors.rsplit([';', '}']).next().unwrap_or_default();
        let selectors = selectors.replace("<!--", " ").replace("-->", " ");
        if selectors.trim_start().starts_with('@') {
            rest = after_block(after);
            continue;
        }
        let (declarations, after) = after.split_once('}').unwrap_or((after, ""));
        rules.push((selectors, declarations));
        rest = after;
    }
    rules
}

/// Returns what follows a block, whose content may have blocks.
fn after_block(content: &str) -> &str {
    let mut depth = 1_usize;
    for (at, c) in content.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return content.get(at + 1..).unwrap_or_default();
        }
    }
    ""
}

pub(crate) fn without_comments(css: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(css.len()), css);
    while let Some((before, comment)) = rest.split_once("/*") {
        text.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text
}

/// Decodes escapes such as `\6e` or `\n` for the letter itself.
fn unescaped(css: &str) -> String {
    let mut text = String::with_capacity(css.len());
    let mut chars = css.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let mut code = String::new();
        while code.len() < 6
            && let Some(digit) = chars.next_if(char::is_ascii_hexdigit)
        {
            code.push(digit);
        }
        if code.is_empty() {
            text.extend(chars.next());
            continue;
        }
        chars.next_if(|c| c.is_ascii_whitespace());
        text.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
    }
    text
}

fn first(text: &str, len: usize) -> &str {
    let end = (0..=len.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Declarations;

    #[test]
    fn hiding_declarations_are_recognized() {
        for css in [
            "display:none",
            "DISPLAY : None !important",
            "display:/**/none",
            "d\\69splay:n\\6f ne",
            "color:red;visibility:hidden",
            "visibility:collapse",
            "content-visibility:hidden",
            "opacity:0",
            "opacity: .01",
            "opacity:0%",
            "filter:blur(2px) opacity(0)",
            "font-size:0",
            "font-size: 0px !important",
            "font-size:1px",
            "font-size:0.1em",
            "font-size:1%",
            "font:0/0 a",
            "font: bold 1px serif",
            "color:transparent",
            "color:rgba(0, 0, 0, 0)",
            "color:rgb(0 0 0 / 0%)",
            "color:#fff0",
            "color:white;background:#FFF",
            "background-color:rgb(1, 2, 3);color:rgb(1,2,3)",
            "position:absolute;left:-9999px",
            "position:fixed; top:-100em",
            "position:absolute;right:9999px",
            "text-indent:-9999px",
            "margin-left:-5000px",
            "transform:translateX(-9999px)",
            "transform:translate(0, -200%)",
            "transform:scale(0)",
            "scale:0",
            "zoom:0",
            "clip:rect(0 0 0 0)",
            "clip:rect(1px, 1px, 1px, 1px)",
            "clip-path:inset(50%)",
            "clip-path:circle(0)",
            "clip-path:polygon(0 0, 0 0, 0 0)",
            "width:1px;height:1px;overflow:hidden",
            "max-height:0;overflow-y:clip",
        ] {
            assert!(Declarations::parse(css).hide(), "{css}");
        }
    }

    #[test]
    fn other_declarations_hide_nothing() {
        for css in [
            "",
            ";;:",
            "display:block",
            "display:none-such",
            "visibility:visible",
            "opacity:1",
            "opacity:0.5",
            "font-size:12px",
            "font-size:80%",
            "font-size:0.8em",
            "font-size:larger",
            "font:italic 100 12px/1 serif",
            "font:1.2em/0.9 serif",
            "color:#fff",
            "color:white;background:black",
            "color:rgba(0,0,0,.8)",
            "position:absolute;left:10px;top:900px",
            "left:-9999px",
            "margin:-10px",
            "text-indent:-2em",
            "transform:translateX(-50%)",
            "transform:scale(1.2)",
            "clip:rect(0, 100px, 50px, 0)",
            "clip:auto",
            "clip-path:inset(5%)",
            "clip-path:polygon(0 0, 100% 0, 50% 50%)",
            "width:100%;overflow:hidden",
            "height:1px",
            "--x: display:none",
            "background:url(a;display) no",
        ] {
            assert!(!Declarations::parse(css).hide(), "{css}");
        }
    }
}
