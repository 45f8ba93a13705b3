//! The pass over the text: cuts it into segments and collects the candidates.

use std::ops::Range;

use super::{bracketed::begins_scalar, candidate_value::CandidateValue, markup::Markup};
use crate::{
    FixKind,
    coerce::TypeSet,
    recover::{Checkpoint, ParseSettings, RecoveryError},
    whitespace::{is_json_whitespace, is_non_json_whitespace},
};

/// The maximum number of attempts: several damaged values are rarely the same value.
const MAX_ATTEMPTS: usize = 4;

/// A segment of the text and the reason to remove it; `None` if it may be the value.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) kind: Option<FixKind>,
    /// Whether the segment is a bracketed text.
    pub(super) is_bracketed: bool,
    pub(super) span: Range<usize>,
}

impl Segment {
    pub(super) const fn new(kind: FixKind, span: Range<usize>) -> Self {
        Self { kind: Some(kind), is_bracketed: false, span }
    }
}

/// The state of the pass, and at its end the findings.
pub(super) struct Scan<'t, 's> {
    pub(super) text: &'t str,
    pub(super) expected: TypeSet,
    pub(super) settings: ParseSettings<'t>,
    /// Whether the first bracketed text is known to be invalid.
    pub(super) starts_damaged: bool,
    /// The position at which recovery of that one may begin.
    pub(super) checkpoint: Option<Checkpoint>,
    /// The number of damaged values that may still be recovered.
    pub(super) attempts: usize,
    pub(super) steps: &'s mut usize,
    pub(super) at: usize,
    pub(super) in_fence: bool,
    pub(super) has_tag: bool,
    /// Whether brackets enclose a code fence.
    is_braced: bool,
    /// The cached value limits, indexed by whether a fence is open and a tag came before.
    pub(super) value_limits: [Option<usize>; 4],
    pub(super) segments: Vec<Segment>,
    /// Whether there was no prose and no value so far.
    pub(super) only_markup: bool,
    /// The first candidate of an expected type.
    pub(super) first: Option<CandidateValue>,
    /// A value that counts only if all other segments are markup.
    pub(super) sole: Option<CandidateValue>,
    pub(super) candidate_spans: Vec<Range<usize>>,
    pub(super) ambiguous: bool,
    /// The first damage and its position.
    pub(super) damage: Option<(usize, Damage)>,
    /// The error in the scalar at the start of the text; it counts if there is no value.
    pub(super) scalar_error: Option<RecoveryError>,
}

/// Evidence that a value is not complete.
#[derive(Debug)]
pub(super) enum Damage {
    /// The recovery parser refused a bracketed text.
    Unrecoverable(RecoveryError),
    /// The brackets or the surrounding text are inconsistent.
    Inconsistent(&'static str),
}

impl<'t, 's> Scan<'t, 's> {
    /// Scans `text`; `steps` counts the work.
    pub(super) fn new(
        text: &'t str,
        expected: TypeSet,
        settings: ParseSettings<'t>,
        starts_damaged: bool,
        checkpoint: Option<Checkpoint>,
        steps: &'s mut usize,
    ) -> Self {
        let mut scan = Self {
            text,
            expected,
            settings,
            attempts: MAX_ATTEMPTS,
            starts_damaged,
            checkpoint,
            steps,
            at: 0,
            in_fence: false,
            has_tag: false,
            is_braced: false,
            value_limits: [None; 4],
            segments: Vec::new(),
            only_markup: true,
            first: None,
            sole: None,
            candidate_spans: Vec::new(),
            ambiguous: false,
            damage: None,
            scalar_error: None,
        };
        scan.run();
        scan
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn run(&mut self) {
        while let Some(c) = self.rest().chars().next() {
            *self.steps += c.len_utf8();
            if self.starts_backtick_text() {
                self.scan_scalar();
                continue;
            }
            if let Some(markup) = Markup::at(self.rest(), self.in_fence, self.steps) {
                self.scan_markup(markup);
                continue;
            }
            match c {
                '{' | '[' if self.encloses_fence() => {
                    self.is_braced = true;
                    self.discard(FixKind::Fence, 1);
                }
                '{' | '[' => self.scan_bracketed(),
                '｛' | '［' if self.only_markup || self.follows_parenthesis() => {
                    self.recover_bracketed(c.len_utf8(), false)
                }
                '}' | ']' if self.is_braced && self.rest().trim_end().len() == 1 => {
                    self.discard(FixKind::Fence, 1);
                }
                ',' => match self.trailing_signs_len(",") {
                    Some(len) => self.discard(FixKind::Comma, len),
                    None => self.discard(FixKind::Prose, 1),
                },
                '/' if self.is_comment() => self.scan_comment(),
                '}' | ']' => match self.trailing_signs_len("}])") {
                    Some(len) => self.discard(FixKind::ExtraCloser, len),
                    None => {
                        self.record_damage(Damage::Inconsistent(
                            "this bracket closes nothing: leave it out",
                        ));
                        self.discard(FixKind::Prose, 1);
                    }
                },
                '\u{feff}' if self.at == 0 => self.discard(FixKind::Bom, c.len_utf8()),
                c if self.only_markup && begins_scalar(c) => self.scan_scalar(),
                '\\' if self.only_markup && self.scan_escaped_text() => {}
                '(' if self.is_after_opening_fence() => self.scan_scalar(),
                '(' if self.is_sole_call() => self.scan_scalar_in_call(),
                c if is_json_whitespace(c) => self.at += 1,
                c if is_non_json_whitespace(c) => self.discard(FixKind::Whitespace, c.len_utf8()),
                c => self.discard(FixKind::Prose, c.len_utf8()),
            }
        }
    }

    fn scan_markup(&mut self, markup: Markup) {
        match markup {
            Markup::Fence(len) => {
                self.in_fence = !self.in_fence;
                self.discard(FixKind::Fence, len);
            }
            Markup::Tag(len) => {
                self.has_tag = true;
                self.discard(FixKind::Tag, len);
            }
            Markup::Reasoning(len) => self.discard(FixKind::Reasoning, len),
            Markup::ReasoningStart(len) => {
                self.record_damage(Damage::Inconsistent(
                    "the reasoning that begins here never ends",
                ));
                self.discard(FixKind::Reasoning, len);
            }
            Markup::ReasoningEnd(len) => {
                self.segments.retain(|segment| segment.kind == Some(FixKind::Bom));
                let start = self.segments.last().map_or(0, |bom| bom.span.end);
                self.at += len;
                self.segments.push(Segment::new(FixKind::Reasoning, start..self.at));
                self.candidate_spans.clear();
                self.first = None;
                self.sole = None;
                self.damage = None;
                self.in_fence = false;
                self.only_markup = true;
                self.ambiguous = false;
            }
        }
    }

    /// Skips the next `len` bytes, which are not part of the value.
    pub(super) fn discard(&mut self, kind: FixKind, len: usize) {
        let span = self.at..self.at + len;
        self.at = span.end;
        self.only_markup &= kind != FixKind::Prose;
        match self.segments.last_mut() {
            Some(last) if last.kind == Some(kind) && !last.is_bracketed => last.span.end = span.end,
            _ => self.segments.push(Segment::new(kind, span)),
        }
    }

    /// Skips a bracketed text that is not the value.
    pub(super) fn discard_bracketed(&mut self, len: usize) {
        let span = self.at..self.at + len;
        self.at = span.end;
        self.only_markup = false;
        self.segments.push(Segment { kind: Some(FixKind::Prose), is_bracketed: true, span });
    }

    /// Takes back the end of the previous prose, from `from` at the earliest, because it belongs to
    /// another segment. Returns the position where it begins.
    pub(super) fn reclaim_prose(&mut self, from: usize) -> usize {
        let is_prose = |last: &mut Segment| last.kind == Some(FixKind::Prose) && !last.is_bracketed;
        let Some(last) = self.segments.pop_if(is_prose) else {
            return self.at;
        };
        let from = from.max(last.span.start);
        if last.span.start < from {
            self.segments.push(Segment::new(FixKind::Prose, last.span.start..from));
        }
        from
    }

    pub(super) fn record_damage(&mut self, damage: Damage) {
        self.damage.get_or_insert((self.at, damage));
    }

    /// The length of a run of `signs`, if nothing but the run is between the value and the end of
    /// the text.
    fn trailing_signs_len(&mut self, signs: &str) -> Option<usize> {
        let is_value = |segment: &Segment| {
            segment.kind.is_none()
                || matches!(segment.kind, Some(FixKind::ExtraCloser | FixKind::Comma))
        };
        let before = self.segments.last().filter(|segment| is_value(segment))?.span.end;
        // A bracket after a scalar is not one too many, but the end of something larger.
        let is_bracket = |c| matches!(c, '}' | ']' | ')' | ',' | '｝' | '］' | '）');
        let after_bracket = self.text.get(..before)?.ends_with(is_bracket);
        // A colon without a word before it has lost its key.
        let is_sign = |segment: &Segment| {
            let text = self.text.get(segment.span.clone()).unwrap_or_default();
            segment.kind == Some(FixKind::Prose) && !text.contains(char::is_alphabetic)
        };
        if !after_bracket && signs != "," || self.segments.first().is_some_and(is_sign) {
            return None;
        }
        let rest = self.rest();
        let len = rest.find(|c| !is_json_whitespace(c) && !signs.contains(c)).unwrap_or(rest.len());
        *self.steps += len;
        let (tail, after) = rest.split_at_checked(len)?;
        // The closing fence or a tag may follow as well.
        let is_end = after.is_empty()
            || self.in_fence && after.starts_with("```")
            || matches!(Markup::at(after, self.in_fence, self.steps), Some(Markup::Tag(_)));
        is_end.then(|| tail.trim_end_matches(is_json_whitespace).len())
    }

    /// Returns whether the text is a code fence in brackets, which contain nothing else.
    fn encloses_fence(&self) -> bool {
        let rest = self.rest();
        let inside = rest.get(1..).unwrap_or_default();
        let end = if rest.starts_with('{') { "```}" } else { "```]" };
        self.segments.is_empty() && inside.starts_with("```") && rest.trim_end().ends_with(end)
    }

    fn follows_parenthesis(&self) -> bool {
        self.text.get(..self.at).is_some_and(|before| before.ends_with('('))
    }

    fn is_comment(&self) -> bool {
        let before = self.text.get(..self.at).and_then(|text| text.chars().next_back());
        let starts_with_word = before.is_none_or(|c| {
            is_json_whitespace(c) || matches!(c, '{' | '}' | '[' | ']' | ',' | ';')
        });
        let rest = self.rest();
        starts_with_word && (rest.starts_with("//") || rest.starts_with("/*"))
    }

    fn scan_comment(&mut self) {
        let rest = self.rest();
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            rest.find("*/").map_or(rest.len(), |len| len + 2)
        };
        *self.steps += len;
        let only_markup = self.only_markup;
        self.discard(FixKind::Comment, len);
        self.only_markup = only_markup;
    }
}
