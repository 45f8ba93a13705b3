//! JSON text as a tree in which values can be replaced.
//!
//! Scalars keep their spelling, because a `Value` would lose the digits beyond 64 bits, and keys
//! can occur twice.

use serde_json::Value;

use super::location::{Location, Step};
use super::tokens::{TextToken, Tokens};
use crate::json;

/// A value in the text.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// The JSON of a scalar.
    Scalar(String),
    /// The items.
    List(Vec<Self>),
    /// The members.
    Object(Vec<(String, Self)>),
}

impl Node {
    /// Parses valid JSON.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::from_tokens(&mut Tokens::new(text).filter(|token| !matches!(token.text, "," | ":")))
    }

    /// The parser of the arguments has limited their depth, so recursion is bounded.
    fn from_tokens<'t>(tokens: &mut impl Iterator<Item = TextToken<'t>>) -> Option<Self> {
        let token = tokens.next()?;
        Self::from_token(&token, tokens)
    }

    fn from_token<'t>(
        token: &TextToken<'_>,
        tokens: &mut impl Iterator<Item = TextToken<'t>>,
    ) -> Option<Self> {
        match token.text {
            "[" => {
                let mut items = Vec::new();
                while let token = tokens.next()?
                    && token.text != "]"
                {
                    items.push(Self::from_token(&token, tokens)?);
                }
                Some(Self::List(items))
            }
            "{" => {
                let mut members = Vec::new();
                while let token = tokens.next()?
                    && token.text != "}"
                {
                    let key = serde_json::from_str(token.text).ok()?;
                    members.push((key, Self::from_tokens(tokens)?));
                }
                // An adjacently tagged enum whose tag precedes its content is not buffered.
                members.sort_by_key(|(_, member)| !matches!(member, Self::Scalar(_)));
                Some(Self::Object(members))
            }
            scalar => Some(Self::Scalar(normalized(scalar))),
        }
    }

    fn from_value(value: &Value) -> Option<Self> {
        Self::parse(&value.to_string())
    }

    /// Returns the JSON text.
    pub(super) fn to_json(&self) -> String {
        let mut json = String::new();
        self.write(&mut json);
        json
    }

    pub(super) fn to_value(&self) -> Value {
        serde_json::from_str(&self.to_json()).unwrap_or_default()
    }

    pub(super) fn write(&self, json: &mut String) {
        match self {
            Self::Scalar(scalar) => json.push_str(scalar),
            Self::List(items) => {
                json.push('[');
                for item in items {
                    start_child(json, None);
                    item.write(json);
                }
                json.push(']');
            }
            Self::Object(members) => {
                json.push('{');
                for (key, member) in members {
                    start_child(json, Some(key));
                    member.write(json);
                }
                json.push('}');
            }
        }
    }

    pub(super) fn at(&self, location: &Location) -> Option<&Self> {
        location.steps().iter().try_fold(self, |node, step| node.child(step))
    }

    fn child(&self, step: &Step) -> Option<&Self> {
        match (self, step) {
            (Self::List(items), Step::Index(index)) => items.get(*index),
            (Self::Object(members), Step::Key(key)) => {
                members.iter().find(|(name, _)| name == key).map(|(_, member)| member)
            }
            _ => None,
        }
    }

    fn child_mut(&mut self, step: &Step) -> Option<&mut Self> {
        match (self, step) {
            (Self::List(items), Step::Index(index)) => items.get_mut(*index),
            (Self::Object(members), Step::Key(key)) => {
                members.iter_mut().find(|(name, _)| name == key).map(|(_, member)| member)
            }
            _ => None,
        }
    }

    /// Returns the tree with this value at a location; if it is missing, as a new member.
    pub(super) fn with(&self, location: &Location, value: &Value) -> Option<Self> {
        self.with_node(location, Self::from_value(value)?)
    }

    /// Returns the tree with this node at a location.
    pub(super) fn with_node(&self, location: &Location, replacement: Self) -> Option<Self> {
        let mut tree = self.clone();
        let Some((last, parent)) = location.steps().split_last() else { return Some(replacement) };
        let container = parent.iter().try_fold(&mut tree, |node, step| node.child_mut(step))?;
        match (container.child_mut(last), last) {
            (Some(node), _) => *node = replacement,
            (None, Step::Key(key)) => match container {
                Self::Object(members) => members.push((key.clone(), replacement)),
                _ => return None,
            },
            (None, Step::Index(_)) => return None,
        }
        Some(tree)
    }

    /// Returns the tree without the member at a location.
    pub(super) fn without(&self, location: &Location) -> Option<Self> {
        let mut tree = self.clone();
        let (last, parent) = location.steps().split_last()?;
        let container = parent.iter().try_fold(&mut tree, |node, step| node.child_mut(step))?;
        match (container, last) {
            (Self::Object(members), Step::Key(key)) => members.retain(|(name, _)| name != key),
            _ => return None,
        }
        Some(tree)
    }

    /// Returns the locations of the first scalars at or below a location, at most `max`.
    pub(super) fn scalars(&self, location: &Location, max: usize) -> Vec<Location> {
        let mut scalars = Vec::new();
        let mut open: Vec<_> =
            self.at(location).map(|node| (location.clone(), node)).into_iter().collect();
        while scalars.len() < max
            && let Some((location, node)) = open.pop()
        {
            match node {
                Self::Scalar(_) => scalars.push(location),
                _ => open.extend(
                    node.children()
                        .into_iter()
                        .rev()
                        .map(|(step, child)| (location.join(&[step]), child)),
                ),
            }
        }
        scalars
    }

    /// Returns a container of the same kind with these items or members, or the scalar itself.
    pub(super) fn with_children<'n>(
        &'n self,
        children: impl Iterator<Item = (Step, Self)> + 'n,
    ) -> Self {
        match self {
            Self::Scalar(scalar) => Self::Scalar(scalar.clone()),
            Self::List(_) => Self::List(children.map(|(_, child)| child).collect()),
            Self::Object(_) => Self::Object(
                children
                    .filter_map(|(step, child)| match step {
                        Step::Key(key) => Some((key, child)),
                        Step::Index(_) => None,
                    })
                    .collect(),
            ),
        }
    }

    /// Returns the items or members.
    pub(super) fn children(&self) -> Vec<(Step, &Self)> {
        match self {
            Self::Scalar(_) => Vec::new(),
            Self::List(items) => {
                items.iter().enumerate().map(|(at, item)| (Step::Index(at), item)).collect()
            }
            Self::Object(members) => {
                members.iter().map(|(key, member)| (Step::Key(key.clone()), member)).collect()
            }
        }
    }
}

/// Writes what precedes an item or a member.
pub(super) fn start_child(json: &mut String, key: Option<&str>) {
    if !json.ends_with(['[', '{']) {
        json.push(',');
    }
    if let Some(key) = key {
        json.push_str(&Value::from(key).to_string());
        json.push(':');
    }
}

/// Writes an integral float as an integer, which types of integers require.
fn normalized(scalar: &str) -> String {
    let is_float = scalar.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        && scalar.contains(['.', 'e', 'E']);
    match serde_json::from_str::<Value>(scalar).ok().filter(|_| is_float) {
        Some(mut value) => {
            let is_changed = json::normalize_integers(&mut value);
            if is_changed { value.to_string() } else { scalar.to_owned() }
        }
        None => scalar.to_owned(),
    }
}
