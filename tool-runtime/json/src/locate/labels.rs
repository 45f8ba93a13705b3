//! Finds the keys, labels and elements around a value that may make it a member of something.

use super::token::{SurroundingTokens, Token, TokenKind};
use crate::recover::SchemaKeys;

pub(super) const MEMBER: &str = "this value is a member of something that is not there";
const TOO_MANY_LABELS: &str =
    "this label may name a part of something that the value belongs to: send the value alone";
const LABEL_AND_WORDS: &str = "this value has a label before it and text behind it, and may be a part of something: send it alone";

/// Names that announce a complete value.
const PAYLOAD_NAMES: [&str; 14] = [
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
/// Elements that enclose a complete call; their attribute names the tool.
const CALL_ELEMENTS: [&str; 8] =
    ["action", "call", "function", "function_call", "invoke", "tool", "tool_call", "tool_use"];
/// Elements that enclose a part of a call.
const MEMBER_ELEMENTS: [&str; 16] = [
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

impl<'t> SurroundingTokens<'t> {
    /// Looks for a key, or for one label too many, around the values, the first of which begins at
    /// `start`. Returns its position and the reason to refuse the value.
    pub(super) fn find_owner(
        &self,
        start: usize,
        keys: &SchemaKeys<'_>,
    ) -> Option<(usize, &'static str)> {
        let mut state = LabelState::default();
        for (at, token) in self.tokens.iter().enumerate() {
            let position = token.span.start;
            match token.kind {
                TokenKind::OpenTag(name, rest) if is_member(name, rest) => {
                    return Some((start, MEMBER));
                }
                TokenKind::Break => {
                    state.words = 0;
                    state.line_label = None;
                    state.line_values = 0;
                    state.has_value_on_line = false;
                }
                TokenKind::Value => {
                    state.words = 0;
                    state.line_values += 1;
                    state.is_after_value = true;
                    state.has_value_on_line = true;
                }
                TokenKind::Sign(',' | ';' | '(' | '&')
                | TokenKind::OpenTag(..)
                | TokenKind::CloseTag(_) => {
                    state.words = 0;
                }
                TokenKind::Word(_) | TokenKind::Scalar | TokenKind::Bracketed => {
                    state.words += 1;
                    let is_near = match state.leading {
                        Some(LeadingLabel::OnLine) => state.is_after_value,
                        Some(LeadingLabel::Above) => state.has_value_on_line,
                        Some(LeadingLabel::Complete) | None => false,
                    };
                    if is_near {
                        return Some((start, LABEL_AND_WORDS));
                    }
                }
                TokenKind::Sign(sign @ (':' | '=')) => {
                    match self.sign_role(at, sign, state.words) {
                        SignRole::None => {}
                        SignRole::Key => return Some((start, MEMBER)),
                        SignRole::Label(_, announces_payload) if self.leads_to_value(at) => {
                            let is_above = self.kind(Some(at + 1)) == Some(TokenKind::Break);
                            let leading = match (announces_payload, is_above) {
                                (true, _) => LeadingLabel::Complete,
                                (false, true) => LeadingLabel::Above,
                                (false, false) => LeadingLabel::OnLine,
                            };
                            if state.leading.replace(leading).is_some() {
                                return Some((position, TOO_MANY_LABELS));
                            }
                        }
                        SignRole::Label(word, announces_payload) => {
                            state.line_label = Some(position);
                            // This label counts even if the leading one announces a complete value.
                            let is_part = keys.has_root_key(word)
                                || !announces_payload && !state.is_after_value;
                            if is_part {
                                state.part_label.get_or_insert(position);
                            }
                            state.other_label.get_or_insert(position);
                        }
                    }
                }
                _ => {}
            }
            if let Some(label) = state.line_label.filter(|_| state.line_values > 0) {
                return Some((label, TOO_MANY_LABELS));
            }
        }
        let label = if state.leading? == LeadingLabel::Complete {
            state.part_label
        } else {
            state.other_label
        };
        label.map(|position| (position, TOO_MANY_LABELS))
    }

    /// Classifies the text before the sign at `at`, a colon or an equals sign.
    fn sign_role(&self, at: usize, sign: char, words: usize) -> SignRole<'t> {
        let next = self.kind(Some(at + 1)).filter(|_| self.touch(at, at + 1));
        // `==`, `Foo::bar` and `https://` are no keys.
        if matches!(next, Some(TokenKind::Sign(c)) if c == sign || c == '/') {
            return SignRole::None;
        }
        match self.kind(at.checked_sub(1)) {
            Some(TokenKind::Quote) => SignRole::Key,
            Some(TokenKind::Bracketed) if sign == '=' => SignRole::Key,
            Some(TokenKind::Scalar) if sign == '=' || words == 1 => SignRole::Key,
            Some(TokenKind::Word(word)) if sign == '=' || words == 1 => {
                let lower = word.to_lowercase();
                if PAYLOAD_NAMES.contains(&lower.as_str()) {
                    SignRole::Label(word, true)
                } else if sign == ':' && !word.starts_with(char::is_lowercase) {
                    SignRole::Label(word, false)
                } else {
                    SignRole::Key
                }
            }
            _ => SignRole::None,
        }
    }

    /// Returns whether a value follows the sign at `at`.
    fn leads_to_value(&self, at: usize) -> bool {
        let next = self.after(at).0;
        let quoted = self.kind(Some(next)) == Some(TokenKind::Quote) && self.touch(next, next + 1);
        self.kind(Some(next + usize::from(quoted))) == Some(TokenKind::Value)
    }

    /// The tools named by the elements around the values: `<function=find>`,
    /// `<invoke name="find">`.
    pub(super) fn callees(&self) -> Vec<String> {
        let callee = |token: &Token<'t>| match token.kind {
            TokenKind::OpenTag(name, rest)
                if CALL_ELEMENTS.contains(&name.to_lowercase().as_str()) =>
            {
                callee(rest)
            }
            _ => None,
        };
        self.tokens.iter().filter_map(callee).collect()
    }

    /// Returns whether the value is one element among others that hold text.
    pub(super) fn has_sibling(&self) -> bool {
        let (mut open, mut has_text, mut siblings, mut is_element) = (None, false, false, false);
        for (at, token) in self.tokens.iter().enumerate() {
            match token.kind {
                TokenKind::OpenTag(name, _) => (open, has_text) = (Some(name), false),
                TokenKind::CloseTag(name) => {
                    siblings |= has_text && open == Some(name);
                    open = None;
                }
                TokenKind::Value => {
                    has_text = false;
                    if let Some(TokenKind::OpenTag(name, _)) = self.kind(self.before(at).0) {
                        is_element |=
                            !PAYLOAD_NAMES.contains(&name) && !CALL_ELEMENTS.contains(&name);
                    }
                    open = None;
                }
                TokenKind::Word(_) | TokenKind::Scalar | TokenKind::Quote => has_text = true,
                _ => {}
            }
        }
        siblings && is_element
    }
}

/// The role of a word before a colon or an equals sign.
enum SignRole<'t> {
    None,
    Key,
    /// The word, and whether it announces a complete value.
    Label(&'t str, bool),
}

/// The state before a token.
#[derive(Default)]
struct LabelState {
    /// The number of words since the last comma or line break.
    words: usize,
    /// The label and the number of values of this line.
    line_label: Option<usize>,
    line_values: usize,
    /// Whether a value came before, in the text and on this line.
    is_after_value: bool,
    has_value_on_line: bool,
    leading: Option<LeadingLabel>,
    /// The positions of the first other label, and of the first that cannot describe the whole.
    other_label: Option<usize>,
    part_label: Option<usize>,
}

/// A label directly before a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeadingLabel {
    /// The label announces a complete value.
    Complete,
    /// The label ends the line above, like an introduction.
    Above,
    OnLine,
}

/// Returns `find` for `=find` and for ` name="find"`.
fn callee(rest: &str) -> Option<String> {
    let named = rest.strip_prefix('=').or_else(|| Some(rest.split_once("name=")?.1))?;
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
    let name = named.trim_start_matches(ends).split(ends).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns whether an element such as `<parameter …>`, `<x=name>` or `<x name="…">` encloses a
/// member; the attribute of `<function name="…">` names the tool instead.
fn is_member(name: &str, rest: &str) -> bool {
    let lower = name.to_lowercase();
    let is_named = |names: &[&str]| names.contains(&lower.as_str());
    let names_more = rest.starts_with('=') || rest.contains('=') && !is_named(&PAYLOAD_NAMES);
    is_named(&MEMBER_ELEMENTS) || names_more && !is_named(&CALL_ELEMENTS)
}
