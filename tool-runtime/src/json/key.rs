//! Keys, labels and elements around a value: names of which it may be the member.

use super::{token::Kind, whole::Surroundings};

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

impl Surroundings<'_> {
    /// Whether something around the values is a key, or a label too many.
    pub(super) fn has_key(&self) -> bool {
        // The words since the last comma or line break; the labels and values of this line.
        let (mut words, mut line_labels, mut line_values) = (0_usize, 0_usize, 0_usize);
        let (mut labels, mut leads, mut past_value) = (0_usize, 0_usize, false);
        let mut is_all = true;
        for (at, token) in self.tokens.iter().enumerate() {
            match token.kind {
                Kind::Open(name, rest) if is_member(name, rest) => return true,
                Kind::Break => (words, line_labels, line_values) = (0, 0, 0),
                Kind::Value => {
                    (words, line_values, past_value) = (0, line_values + 1, true);
                }
                Kind::Sign(',' | ';' | '(' | '&') | Kind::Open(..) | Kind::Close(_) => words = 0,
                Kind::Word(_) | Kind::Scalar | Kind::Piece => {
                    words += 1;
                    if past_value && !is_all {
                        return true;
                    }
                }
                Kind::Sign(sign @ (':' | '=')) => match self.name(at, sign, words) {
                    Name::None => {}
                    Name::Key => return true,
                    Name::Label if self.leads(at) => (leads, is_all) = (leads + 1, false),
                    Name::Whole if self.leads(at) => leads += 1,
                    Name::Label | Name::Whole => {
                        (labels, line_labels) = (labels + 1, line_labels + 1)
                    }
                },
                _ => {}
            }
            if line_labels > 0 && line_values > 0 {
                return true;
            }
        }
        leads > 1 || leads == 1 && labels > 0
    }

    /// What the sign at `at`, a colon or an equals sign, makes of what stands before it.
    fn name(&self, at: usize, sign: char, words: usize) -> Name {
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
                    Name::Whole
                } else if sign == ':' && !word.starts_with(char::is_lowercase) {
                    Name::Label
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
enum Name {
    None,
    Key,
    /// It may be a label of the whole.
    Label,
    /// It is one, if there is no other.
    Whole,
}

/// `<parameter …>`, `<x=name>`, `<x name="…">`; but what `<function name="…">` names is the tool.
fn is_member(name: &str, rest: &str) -> bool {
    let small = name.to_lowercase();
    let is = |names: &[&str]| names.contains(&small.as_str());
    let names_more = rest.starts_with('=') || rest.contains('=') && !is(&WHOLE);
    is(&MEMBERS) || names_more && !is(&CALLS)
}
