//! The open containers, with their elements so far.

use std::ops::Range;

use super::builder::Builder;
use super::schema_keys::{SchemaKeys, Subschemas};

/// The kind of an open container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContainerKind {
    Object,
    Array,
    Tuple,
    /// An array in braces.
    Set,
}

impl ContainerKind {
    pub(super) const fn closer(self) -> u8 {
        match self {
            Self::Object | Self::Set => b'}',
            Self::Array => b']',
            Self::Tuple => b')',
        }
    }
}

/// An open container.
struct Frame<'s, B: Builder> {
    kind: ContainerKind,
    start: usize,
    items: Vec<B::Value>,
    members: B::Members,
    key: Option<(String, Range<usize>)>,
    /// The position of the comma after the last element, until the next one begins.
    comma: Option<usize>,
    subschemas: Subschemas<'s>,
}

/// The effect of a value on its container.
pub(super) enum Insertion {
    /// The value is the root.
    Root,
    Element,
    /// The key at this span came before, and whether its value was equal.
    RepeatedKey(Range<usize>, bool),
}

/// A container that was closed.
pub(super) struct Closed<V> {
    pub(super) kind: ContainerKind,
    pub(super) span: Range<usize>,
    pub(super) value: V,
}

/// The open containers, innermost last, and the root value.
pub(super) struct Containers<'s, B: Builder> {
    frames: Vec<Frame<'s, B>>,
    root: Option<B::Value>,
    /// The number of closed objects inside objects, and the position of the last one.
    closed_objects: (usize, usize),
}

impl<'s, B: Builder> Containers<'s, B> {
    pub(super) const fn new() -> Self {
        Self { frames: Vec::new(), root: None, closed_objects: (0, 0) }
    }

    pub(super) fn into_root(self) -> Option<B::Value> {
        self.root
    }

    #[inline]
    pub(super) const fn depth(&self) -> usize {
        self.frames.len()
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The kind of the innermost container.
    #[inline]
    pub(super) fn kind(&self) -> Option<ContainerKind> {
        self.frames.last().map(|frame| frame.kind)
    }

    /// The kind of the innermost of the first `depth` containers.
    #[inline]
    pub(super) fn kind_at(&self, depth: usize) -> Option<ContainerKind> {
        self.frames.get(depth.checked_sub(1)?).map(|frame| frame.kind)
    }

    /// The number of containers around the innermost of the first `depth` that `closer` closes.
    pub(super) fn closed_by(&self, closer: u8, depth: usize) -> Option<usize> {
        let open = self.frames.get(..depth).unwrap_or_default();
        open.iter().rposition(|frame| frame.kind.closer() == closer)
    }

    /// The closing brackets, outermost first.
    pub(super) fn closers(&self) -> impl Iterator<Item = u8> {
        self.frames.iter().map(|frame| frame.kind.closer())
    }

    /// The start of the outermost container of this kind.
    pub(super) fn start_of(&self, kind: ContainerKind) -> Option<usize> {
        self.frames.iter().find(|frame| frame.kind == kind).map(|frame| frame.start)
    }

    /// The number of closed objects inside objects, and the position of the last one.
    pub(super) const fn closed_objects(&self) -> (usize, usize) {
        self.closed_objects
    }

    pub(super) const fn set_closed_objects(&mut self, count: usize, last: usize) {
        self.closed_objects = (count, last);
    }

    /// The span of the key whose value comes next.
    #[inline]
    pub(super) fn key_span(&self) -> Option<&Range<usize>> {
        self.frames.last()?.key.as_ref().map(|(_, span)| span)
    }

    /// The key of the innermost member whose value is being read.
    pub(super) fn nearest_key(&self) -> Option<&str> {
        self.frames.iter().rev().find_map(|frame| frame.key.as_ref()).map(|(key, _)| key.as_str())
    }

    /// Begins a member.
    #[inline]
    pub(super) fn set_key(&mut self, key: String, span: Range<usize>) {
        if let Some(frame) = self.frames.last_mut() {
            frame.key = Some((key, span));
            frame.comma = None;
        }
    }

    /// Removes the key whose value comes next, and returns its span.
    pub(super) fn drop_key(&mut self) -> Option<Range<usize>> {
        self.frames.last_mut()?.key.take().map(|(_, span)| span)
    }

    /// Makes the object an array in braces, whose first item is its key.
    pub(super) fn become_set(&mut self) {
        if let Some(frame) = self.frames.last_mut()
            && let Some((key, span)) = frame.key.take()
        {
            frame.kind = ContainerKind::Set;
            frame.items.push(B::string(key, false, span));
        }
    }

    /// The position of the comma after the last element, until the next one begins.
    #[inline]
    pub(super) fn comma(&self) -> Option<usize> {
        self.frames.last()?.comma
    }

    #[inline]
    pub(super) fn set_comma(&mut self, comma: Option<usize>) {
        if let Some(frame) = self.frames.last_mut() {
            frame.comma = comma;
        }
    }

    /// Returns whether the innermost container has no complete member.
    pub(super) fn has_no_members(&self) -> bool {
        self.frames.last().is_some_and(|frame| B::is_empty(&frame.members))
    }

    /// The subschemas of the innermost container.
    pub(super) fn subschemas(&self) -> Option<&Subschemas<'s>> {
        self.frames.last().map(|frame| &frame.subschemas)
    }

    /// The subschemas of the next value.
    pub(super) fn next_subschemas(&self, keys: &SchemaKeys<'s>) -> Subschemas<'s> {
        match self.frames.last() {
            None => keys.root(),
            Some(Frame { key: Some((key, _)), subschemas, .. }) => keys.member(subschemas, key),
            Some(frame) => keys.item(&frame.subschemas),
        }
    }

    /// Opens a container without elements.
    pub(super) fn open(&mut self, kind: ContainerKind, start: usize, subschemas: Subschemas<'s>) {
        self.reopen(kind, start, subschemas, Vec::new(), B::Members::default(), None);
    }

    /// Opens a container with the elements that another parser has built.
    pub(super) fn reopen(
        &mut self,
        kind: ContainerKind,
        start: usize,
        subschemas: Subschemas<'s>,
        items: Vec<B::Value>,
        members: B::Members,
        key: Option<(String, Range<usize>)>,
    ) {
        let frame = Frame { kind, start, items, members, key, comma: None, subschemas };
        self.frames.push(frame);
    }

    /// Closes the innermost container before `end`.
    #[inline]
    pub(super) fn close(&mut self, end: usize) -> Option<Closed<B::Value>> {
        let Frame { kind, start, mut items, members, comma, .. } = self.frames.pop()?;
        let span = start..end;
        if kind == ContainerKind::Object && self.kind() == Some(ContainerKind::Object) {
            self.closed_objects = (self.closed_objects.0 + 1, end);
        }
        let value = match (kind, items.pop()) {
            (ContainerKind::Object, _) => B::object(members, span.clone()),
            // Parentheses around a single value are not an array.
            (ContainerKind::Tuple, Some(item)) if items.is_empty() && comma.is_none() => item,
            (_, last) => {
                items.extend(last);
                B::array(items, span.clone())
            }
        };
        Some(Closed { kind, span, value })
    }

    /// Inserts a value into the innermost container.
    #[inline]
    pub(super) fn insert(&mut self, value: B::Value) -> Insertion {
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(value);
            return Insertion::Root;
        };
        let Some((key, span)) = frame.key.take() else {
            frame.items.push(value);
            return Insertion::Element;
        };
        match B::insert(&mut frame.members, key, span.clone(), value) {
            None => Insertion::Element,
            Some(is_equal) => Insertion::RepeatedKey(span, is_equal),
        }
    }
}
