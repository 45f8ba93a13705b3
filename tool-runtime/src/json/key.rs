//! Keys, labels and elements around a value: names of which it may be the member.

use super::{
    recover::Keys,
    token::{Kind, Token},
    whole::{MEMBER, Surroundings},
};

const LABELS: &str =
    "this label may name a part of something that the value belongs to: send the value alone";
const WORDS: &str = "this value has a label before it and text behind it, and may be a part of something: send it alone";

/// Names that say "here comes all of it".
const WHOLE: [&str; 14] = [
    "answer",
    "args",
    "arguments",
    "call",
    "input",
    "json",
    "output",
    "parameters",
    "params",
    "payload",
    "request",
    "response",
    "result",
    "tool_input",
];
/// Elements around a whole call; what they name is the tool.
const CALLS: [&str; 8] =
    ["action", "call", "function", "function_call", "invoke", "tool", "tool_call", "tool_use"];
/// Elements around a part of one.
const MEMBERS: [&str; 16] = [
    "arg",
    "arg_key",
    "arg_value",
    "argument",
    "entry",
    "field",
    "item",
    "key",
    "kwarg",
    "member",
    "option",
    "param",
    "parameter",
    "property",
    "value",
    "variable",
];

impl<'t> Surroundings<'t> {
    /// Whether something around the values, the first of which begins at `start`, is a key, or a
    /// label too many: where that is, and what it is.
    pub(super) fn names(&self, start: usize, keys: &Keys<'_>) -> Option<(usize, &'static str)> {
        let mut seen = Seen::default();
        for (at, token) in self.tokens.iter().enumerate() {
            let place = token.span.start;
            match token.kind {
                Kind::Open(name, rest) if is_member(name, rest) => return Some((start, MEMBER)),
                Kind::Break => {
                    (seen.words, seen.line_label, seen.line_values) = (0, None, 0);
                    seen.is_on_line = false;
                }
                Kind::Value => {
                    (seen.words, seen.line_values) = (0, seen.line_values + 1);
                    (seen.is_past, seen.is_on_line) = (true, true);
                }
                Kind::Sign(',' | ';' | '(' | '&') | Kind::Open(..) | Kind::Close(_) => {
                    seen.words = 0;
                }
                Kind::Word(_) | Kind::Scalar | Kind::Piece => {
                    seen.words += 1;
                    let is_near = match seen.lead {
                        Some(Lead::OnLine) => seen.is_past,
                        Some(Lead::Above) => seen.is_on_line,
                        Some(Lead::Whole) | None => false,
                    };
                    if is_near {
                        return Some((start, WORDS));
                    }
                }
                Kind::Sign(sign @ (':' | '=')) => match self.name(at, sign, seen.words) {
                    Name::None => {}
                    Name::Key => return Some((start, MEMBER)),
                    Name::Label(_, is_whole) if self.leads(at) => {
                        let is_above = self.kind(Some(at + 1)) == Some(Kind::Break);
                        let lead = match (is_whole, is_above) {
                            (true, _) => Lead::Whole,
                            (false, true) => Lead::Above,
                            (false, false) => Lead::OnLine,
                        };
                        if seen.lead.replace(lead).is_some() {
                            return Some((place, LABELS));
                        }
                    }
                    Name::Label(word, is_whole) => {
                        seen.line_label = Some(place);
                        // Not if the value is said to be all of it.
                        let is_part = keys.knows_at_root(word) || !is_whole && !seen.is_past;
                        if is_part {
                            seen.part.get_or_insert(place);
                        }
                        seen.label.get_or_insert(place);
                    }
                },
                _ => {}
            }
            if let Some(label) = seen.line_label.filter(|_| seen.line_values > 0) {
                return Some((label, LABELS));
            }
        }
        let label = if seen.lead? == Lead::Whole { seen.part } else { seen.label };
        label.map(|place| (place, LABELS))
    }

    /// What the sign at `at`, a colon or an equals sign, makes of what stands before it.
    fn name(&self, at: usize, sign: char, words: usize) -> Name<'t> {
        let next = self.kind(Some(at + 1)).filter(|_| self.touch(at, at + 1));
        // `==`, `Foo::bar`, `https://`.
        if matches!(next, Some(Kind::Sign(c)) if c == sign || c == '/') {
            return Name::None;
        }
        match self.kind(at.checked_sub(1)) {
            Some(Kind::Quote) => Name::Key,
            Some(Kind::Piece) if sign == '=' => Name::Key,
            Some(Kind::Scalar) if sign == '=' || words == 1 => Name::Key,
            Some(Kind::Word(word)) if sign == '=' || words == 1 => {
                let small = word.to_lowercase();
                if WHOLE.contains(&small.as_str()) {
                    Name::Label(word, true)
                } else if sign == ':' && !word.starts_with(char::is_lowercase) {
                    Name::Label(word, false)
                } else {
                    Name::Key
                }
            }
            _ => Name::None,
        }
    }

    /// Whether the sign at `at` leads to a value.
    fn leads(&self, at: usize) -> bool {
        let next = self.after(at).0;
        let quoted = self.kind(Some(next)) == Some(Kind::Quote) && self.touch(next, next + 1);
        self.kind(Some(next + usize::from(quoted))) == Some(Kind::Value)
    }

    /// What the elements around the values say is called: `<function=find>`, `<invoke name="find">`.
    pub(super) fn callees(&self) -> Vec<String> {
        let callee = |token: &Token<'t>| match token.kind {
            Kind::Open(name, rest) if CALLS.contains(&name.to_lowercase().as_str()) => callee(rest),
            _ => None,
        };
        self.tokens.iter().filter_map(callee).collect()
    }

    /// Whether the value is one element among others that hold text.
    pub(super) fn has_sibling(&self) -> bool {
        let (mut open, mut has_text, mut siblings, mut is_element) = (None, false, false, false);
        for (at, token) in self.tokens.iter().enumerate() {
            match token.kind {
                Kind::Open(name, _) => (open, has_text) = (Some(name), false),
                Kind::Close(name) => {
                    siblings |= has_text && open == Some(name);
                    open = None;
                }
                Kind::Value => {
                    has_text = false;
                    if let Some(Kind::Open(name, _)) = self.kind(self.before(at).0) {
                        is_element |= !WHOLE.contains(&name) && !CALLS.contains(&name);
                    }
                    open = None;
                }
                Kind::Word(_) | Kind::Scalar | Kind::Quote => has_text = true,
                _ => {}
            }
        }
        siblings && is_element
    }
}

/// What a word before a colon or an equals sign is.
enum Name<'t> {
    None,
    Key,
    /// This word; and whether it says that all of it comes.
    Label(&'t str, bool),
}

/// What came before a token.
#[derive(Default)]
struct Seen {
    /// The words since the last comma or line break.
    words: usize,
    /// A label and the values of this line.
    line_label: Option<usize>,
    line_values: usize,
    /// A value came, and on this line.
    is_past: bool,
    is_on_line: bool,
    lead: Option<Lead>,
    /// The first of the other labels, and the first that can't be a word about the whole.
    label: Option<usize>,
    part: Option<usize>,
}

/// A label that leads to a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    /// It says that all of it comes.
    Whole,
    /// It ends the line above, as what introduces something does.
    Above,
    OnLine,
}

/// `find`, of `=find` and of ` name="find"`.
fn callee(rest: &str) -> Option<String> {
    let named = rest.strip_prefix('=').or_else(|| Some(rest.split_once("name=")?.1))?;
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
    let name = named.trim_start_matches(ends).split(ends).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// `<parameter …>`, `<x=name>`, `<x name="…">`; but what `<function name="…">` names is the tool.
fn is_member(name: &str, rest: &str) -> bool {
    let small = name.to_lowercase();
    let is = |names: &[&str]| names.contains(&small.as_str());
    let names_more = rest.starts_with('=') || rest.contains('=') && !is(&WHOLE);
    is(&MEMBERS) || names_more && !is(&CALLS)
}
