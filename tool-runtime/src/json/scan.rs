//! The pass over the text: cuts it into parts and notes what could be the value.

use std::ops::Range;

use serde_json::Value;

use super::{
    Fix, FixKind, Options, Reading,
    around::Around,
    blank::{is_blank, is_odd_blank},
    coerce::Roots,
    found::Found,
    mark::Mark,
    parsed::Json,
    piece::Piece,
    recover::{Mode, Refusal, Resume, Values, recover, resume},
    scalar::begins_scalar,
};

/// How many steps the recovery parser takes for a byte, besides its looks ahead, which it counts.
pub(super) const STEPS: usize = 3;

/// Placeholders are shorter.
const PLACEHOLDER: usize = 256;

/// Several damaged values are hardly ever the same one, so few are tried.
const ATTEMPTS: usize = 4;

/// `name(` and `)`.
type Call = (Range<usize>, Range<usize>);

/// A stretch of the text and why it goes; `None` if it may be the value.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: Option<FixKind>,
    /// It is brackets and all that is in them.
    pub(super) is_piece: bool,
    pub(super) span: Range<usize>,
}

impl Part {
    pub(super) const fn new(kind: FixKind, span: Range<usize>) -> Self {
        Self { kind: Some(kind), is_piece: false, span }
    }
}

/// What the pass has seen; at its end, all that there is to judge by.
pub(super) struct Scan<'t, 's> {
    pub(super) text: &'t str,
    pub(super) wanted: Roots,
    pub(super) reading: Reading<'t>,
    /// What the text begins with is known to be no JSON.
    is_first: bool,
    /// Where recovery of that may begin.
    resume: Option<Resume>,
    /// How many damaged values may still be read.
    pub(super) attempts: usize,
    pub(super) steps: &'s mut usize,
    pub(super) at: usize,
    pub(super) in_fence: bool,
    pub(super) has_tag: bool,
    /// Brackets are around a fence.
    is_braced: bool,
    /// Where the value ends at the latest, by whether a fence is open and a tag came before.
    pub(super) ends: [Option<usize>; 4],
    pub(super) parts: Vec<Part>,
    /// No prose and no value so far.
    marks_only: bool,
    /// The first candidate of a wanted type.
    pub(super) found: Option<Found>,
    /// A value that counts only if all the other parts are marks.
    pub(super) alone: Option<Found>,
    pub(super) candidates: Vec<Range<usize>>,
    pub(super) ambiguous: bool,
    /// The first damage and where it is.
    pub(super) damage: Option<(usize, Damage)>,
    /// What is wrong with the scalar that the text begins with; it counts if there is no value.
    pub(super) alone_damage: Option<Refusal>,
}

/// How it shows that a value is not whole.
#[derive(Debug)]
pub(super) enum Damage {
    /// What the recovery parser says of what begins with a bracket.
    Refused(Refusal),
    /// What the brackets and the text around them say.
    Sign(&'static str),
}

impl<'t, 's> Scan<'t, 's> {
    /// Passes over `text`; `steps` counts the work.
    pub(super) fn new(
        text: &'t str,
        wanted: Roots,
        reading: Reading<'t>,
        is_first: bool,
        resume: Option<Resume>,
        steps: &'s mut usize,
    ) -> Self {
        let mut scan = Self {
            text,
            wanted,
            reading,
            attempts: ATTEMPTS,
            is_first,
            resume,
            steps,
            at: 0,
            in_fence: false,
            has_tag: false,
            is_braced: false,
            ends: [None; 4],
            parts: Vec::new(),
            marks_only: true,
            found: None,
            alone: None,
            candidates: Vec::new(),
            ambiguous: false,
            damage: None,
            alone_damage: None,
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
            if self.begins_backtick_text() {
                self.scalar();
                continue;
            }
            if let Some(mark) = Mark::at(self.rest(), self.in_fence, self.steps) {
                self.mark(mark);
                continue;
            }
            match c {
                '{' | '[' if self.opens_around_fence() => {
                    self.is_braced = true;
                    self.cut(FixKind::Fence, 1);
                }
                '{' | '[' => self.piece(),
                '｛' | '［' if self.marks_only || self.is_argument() => {
                    self.damaged_piece(c.len_utf8(), false)
                }
                '}' | ']' if self.is_braced && self.rest().trim_end().len() == 1 => {
                    self.cut(FixKind::Fence, 1);
                }
                ',' => match self.left_over(",") {
                    Some(len) => self.cut(FixKind::Comma, len),
                    None => self.cut(FixKind::Prose, 1),
                },
                '/' if self.is_comment() => self.comment(),
                '}' | ']' => match self.left_over("}])") {
                    Some(len) => self.cut(FixKind::ExtraCloser, len),
                    None => {
                        self.damaged(Damage::Sign("this bracket closes nothing"));
                        self.cut(FixKind::Prose, 1);
                    }
                },
                '\u{feff}' if self.at == 0 => self.cut(FixKind::Bom, c.len_utf8()),
                c if self.marks_only && begins_scalar(c) => self.scalar(),
                '\\' if self.marks_only && self.escaped_text() => {}
                '(' if self.begins_fence() => self.scalar(),
                '(' if self.is_sole_call() => self.scalar_in_call(),
                c if is_blank(c) => self.at += 1,
                c if is_odd_blank(c) => self.cut(FixKind::Blank, c.len_utf8()),
                c => self.cut(FixKind::Prose, c.len_utf8()),
            }
        }
    }

    fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::Fence(len) => {
                self.in_fence = !self.in_fence;
                self.cut(FixKind::Fence, len);
            }
            Mark::Tag(len) => {
                self.has_tag = true;
                self.cut(FixKind::Tag, len);
            }
            Mark::Reasoning(len) => self.cut(FixKind::Reasoning, len),
            Mark::ReasoningStart(len) => {
                self.damaged(Damage::Sign("the reasoning that begins here never ends"));
                self.cut(FixKind::Reasoning, len);
            }
            Mark::ReasoningEnd(len) => {
                self.parts.retain(|part| part.kind == Some(FixKind::Bom));
                let start = self.parts.last().map_or(0, |bom| bom.span.end);
                self.at += len;
                self.parts.push(Part::new(FixKind::Reasoning, start..self.at));
                self.candidates.clear();
                (self.found, self.alone, self.damage) = (None, None, None);
                (self.in_fence, self.marks_only, self.ambiguous) = (false, true, false);
            }
        }
    }

    /// Passes the next `len` bytes, which are no part of the value.
    pub(super) fn cut(&mut self, kind: FixKind, len: usize) {
        let span = self.at..self.at + len;
        self.at = span.end;
        self.marks_only &= kind != FixKind::Prose;
        match self.parts.last_mut() {
            Some(last) if last.kind == Some(kind) && !last.is_piece => last.span.end = span.end,
            _ => self.parts.push(Part::new(kind, span)),
        }
    }

    /// Passes a piece that is not the value.
    fn cut_piece(&mut self, len: usize) {
        let span = self.at..self.at + len;
        self.at = span.end;
        self.marks_only = false;
        self.parts.push(Part { kind: Some(FixKind::Prose), is_piece: true, span });
    }

    /// Gives back the end of the prose before, from `from` at the earliest: it is part of
    /// something else. Returns where that begins.
    fn uncut(&mut self, from: usize) -> usize {
        let is_prose = |last: &mut Part| last.kind == Some(FixKind::Prose) && !last.is_piece;
        let Some(last) = self.parts.pop_if(is_prose) else {
            return self.at;
        };
        let from = from.max(last.span.start);
        if last.span.start < from {
            self.parts.push(Part::new(FixKind::Prose, last.span.start..from));
        }
        from
    }

    fn damaged(&mut self, damage: Damage) {
        self.damage.get_or_insert((self.at, damage));
    }

    /// How far `signs` go on, if there is nothing else between the value and the end of the text.
    fn left_over(&mut self, signs: &str) -> Option<usize> {
        let is_value = |part: &Part| {
            part.kind.is_none() || matches!(part.kind, Some(FixKind::ExtraCloser | FixKind::Comma))
        };
        let before = self.parts.last().filter(|part| is_value(part))?.span.end;
        // What follows a scalar is no bracket too many, but the end of something larger.
        let is_bracket = |c| matches!(c, '}' | ']' | ')' | ',' | '｝' | '］' | '）');
        let after_bracket = self.text.get(..before)?.ends_with(is_bracket);
        // A colon alone has lost its key.
        let is_sign = |part: &Part| {
            let text = self.text.get(part.span.clone()).unwrap_or_default();
            part.kind == Some(FixKind::Prose) && !text.contains(char::is_alphabetic)
        };
        if !after_bracket && signs != "," || self.parts.first().is_some_and(is_sign) {
            return None;
        }
        let rest = self.rest();
        let len = rest.find(|c| !is_blank(c) && !signs.contains(c)).unwrap_or(rest.len());
        *self.steps += len;
        let (tail, after) = rest.split_at_checked(len)?;
        // Marks may end it as well: the fence that it is in, a tag.
        let is_end = after.is_empty()
            || self.in_fence && after.starts_with("```")
            || matches!(Mark::at(after, self.in_fence, self.steps), Some(Mark::Tag(_)));
        is_end.then(|| tail.trim_end_matches(is_blank).len())
    }

    /// Whether the text is brackets around a fence: they hold nothing but what the fence does.
    fn opens_around_fence(&self) -> bool {
        let rest = self.rest();
        let inside = rest.get(1..).unwrap_or_default();
        let end = if rest.starts_with('{') { "```}" } else { "```]" };
        self.parts.is_empty() && inside.starts_with("```") && rest.trim_end().ends_with(end)
    }

    fn is_argument(&self) -> bool {
        self.text.get(..self.at).is_some_and(|before| before.ends_with('('))
    }

    fn is_comment(&self) -> bool {
        let before = self.text.get(..self.at).and_then(|text| text.chars().next_back());
        let begins_word =
            before.is_none_or(|c| is_blank(c) || matches!(c, '{' | '}' | '[' | ']' | ',' | ';'));
        let rest = self.rest();
        begins_word && (rest.starts_with("//") || rest.starts_with("/*"))
    }

    fn comment(&mut self) {
        let rest = self.rest();
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            rest.find("*/").map_or(rest.len(), |len| len + 2)
        };
        *self.steps += len;
        let marks_only = self.marks_only;
        self.cut(FixKind::Comment, len);
        self.marks_only = marks_only;
    }

    fn piece(&mut self) {
        let rest = self.rest();
        // Such a value need not be tried by another parser before.
        let is_first = self.is_first && self.parts.is_empty();
        if is_first && !begins_word(rest) {
            let reach = rest.len();
            self.is_first = false;
            return self.damaged_piece(reach, true);
        }
        let Some(piece) = Piece::at(rest) else {
            *self.steps += rest.len();
            if self.escaped_piece(rest.trim_end()) {
                return;
            }
            return self.damaged_piece(rest.len(), false);
        };
        let len = piece.text.len();
        *self.steps += len * if piece.escaped { 5 } else { 2 };
        match piece.read() {
            Ok(_) if self.goes_on(len) => self.damaged_piece(len, false),
            Ok((value, json)) => self.candidate(piece, value, Json::Text(json)),
            Err(_) if piece.is_placeholder() => self.cut_piece(len),
            Err(_) if piece.escaped && self.escaped_piece(piece.text) => {}
            Err(_) if piece.escaped && Piece::begins_escaped(piece.text) => {
                self.damaged(Damage::Sign("without its escapes this is no JSON either"));
                self.cut_piece(len);
            }
            Err(_) => self.damaged_piece(len, false),
        }
    }

    /// How a piece is read. A limit is no reason to read the text another way: it is for the fixes of
    /// the whole, and what a piece is decides where the next begins.
    pub(super) fn mode(&self, in_prose: bool) -> Mode<'t> {
        let mut mode = self.reading.mode(in_prose);
        let depth = self.reading.options.max_depth;
        mode.options = Options::default().with_max_depth(depth);
        mode
    }

    /// Has the recovery parser read `text`, which stands here and was escaped one level too often.
    fn escaped_piece(&mut self, text: &str) -> bool {
        let Some(attempts) = self.attempts.checked_sub(1).filter(|_| self.marks_only) else {
            return false;
        };
        let Some(json) = Piece::unescaped(text) else { return false };
        self.attempts = attempts;
        *self.steps += (5 + STEPS) * text.len();
        let read = recover::<Values>(&json, 0, json.len(), self.mode(false), self.steps);
        let Ok(read) = read else { return false };
        let is_whole = json.get(read.end..).is_some_and(|rest| rest.trim().is_empty());
        if !is_whole {
            return false;
        }
        let span = self.at..self.at + text.len();
        let mends = read.fixes.iter().map(|fix| Fix::new(fix.kind, span.clone())).collect();
        let counts = self.wanted.allows(&read.value);
        let (value, truncated) = (read.value, read.truncated);
        let json = Json::damaged(json, false);
        self.value(Found { value, json, span, escaped: true, mends, truncated }, counts);
        true
    }

    /// Whether the first object of the text seems to end too early: `{"a": 1}, "b": 2}`.
    fn goes_on(&self, len: usize) -> bool {
        let rest = self.rest().get(len..).unwrap_or_default();
        let next = rest.trim_start_matches(is_blank).strip_prefix(',');
        self.marks_only
            && next.is_some_and(|next| next.trim_start_matches(is_blank).starts_with('"'))
    }

    /// Has the recovery parser read what begins here, which may be what the text begins with. If it
    /// can't, `len` bytes go.
    fn damaged_piece(&mut self, len: usize, is_first: bool) {
        let end = self.end_of_value();
        let reach = end - self.at;
        let Some(attempts) = self.attempts.checked_sub(1) else {
            self.damaged(Damage::Sign("there are too many damaged values"));
            return self.cut_piece(len);
        };
        self.attempts = attempts;
        let mode = self.mode(!self.marks_only);
        let resumed = self.resume.take().filter(|_| is_first).filter(|from| from.is_within(end));
        let read = match resumed {
            Some(from) => resume(self.text, self.at, end, mode, from, self.steps),
            None => recover::<Values>(self.text, self.at, end, mode, self.steps),
        };
        match read {
            Ok(read) if self.wanted.allows(&read.value) || self.marks_only => {
                *self.steps += STEPS * (read.end - self.at) + reach;
                let span = self.at..read.end;
                let text = self.text.get(self.at..end).unwrap_or_default().to_owned();
                let json = Json::damaged(text, !self.marks_only);
                let around = Around::new(self.text, &span);
                *self.steps += around.steps();
                let counts = self.wanted.allows(&read.value);
                let call = around.call();
                let found = Found {
                    value: read.value,
                    json,
                    span,
                    escaped: false,
                    mends: read.fixes,
                    truncated: read.truncated,
                };
                self.called(found, counts, call);
            }
            Ok(read) => {
                *self.steps += STEPS * reach;
                self.damaged(Damage::Sign("this value is damaged and of another type"));
                self.cut_piece(read.end - self.at);
            }
            Err(refusal) => {
                *self.steps += STEPS * reach;
                self.damaged(Damage::Refused(refusal));
                self.cut_piece(len);
            }
        }
    }

    fn candidate(&mut self, piece: Piece<'_>, value: Value, json: Json) {
        let mut span = self.at..self.at + piece.text.len();
        let around = Around::new(self.text, &span);
        *self.steps += around.steps();
        let in_prose = self.parts.last().is_some_and(|last| last.kind == Some(FixKind::Prose));
        let quoted = piece.escaped && in_prose && around.is_quoted();
        let counts = self.wanted.allows(&value);
        if !counts && !self.marks_only {
            return self.cut_piece(piece.text.len());
        }
        let mut call = around.call();
        if quoted {
            // The quotes belong to the escaped text.
            span = self.uncut(span.start - 1)..span.end + 1;
            call = None;
        }
        let (mends, truncated) = (Vec::new(), false);
        self.called(
            Found { value, json, span, escaped: piece.escaped, mends, truncated },
            counts,
            call,
        );
    }

    /// A value, and the call it is in.
    fn called(&mut self, found: Found, counts: bool, call: Option<Call>) {
        if let Some((name, _)) = &call {
            *self.steps += name.len();
            let start = self.uncut(name.start);
            self.parts.push(Part::new(FixKind::Call, start..name.end));
        }
        self.value(found, counts);
        if let Some((_, end)) = call {
            self.at = end.start;
            self.cut(FixKind::Call, end.len());
        }
    }

    pub(super) fn value(&mut self, found: Found, counts: bool) {
        self.at = found.span.end;
        self.marks_only = false;
        let span = found.span.clone();
        let mut kind = None;
        if counts {
            self.candidates.push(span.clone());
            match &self.found {
                None => self.found = Some(found),
                Some(first) if first.is_same(&found) => kind = Some(FixKind::Repeat),
                Some(_) => self.ambiguous = true,
            }
        } else {
            self.alone = Some(found);
        }
        self.parts.push(Part { kind, is_piece: false, span });
    }
}

/// Whether a word or an escape follows the bracket, so that it may be a placeholder or escaped.
fn begins_word(text: &str) -> bool {
    let first = text.trim_start_matches(|c: char| matches!(c, '{' | '[' | '/') || is_blank(c));
    let head = text.get(..PLACEHOLDER).unwrap_or(text);
    first.starts_with('\\')
        || first.starts_with(|c: char| c.is_alphabetic() || c == '_') && Piece::at(head).is_some()
}
