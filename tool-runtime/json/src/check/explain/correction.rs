//! Corrections of what a schema does not allow, so that the type can decode the rest.

use serde_json::Value;

use super::sample::Sampler;
use crate::check::validate::fault::{PathSegment, ViolatedRule};
use crate::check::validate::validator::Validator;

/// The correction of one mismatch.
#[doc(hidden)]
#[derive(Debug)]
pub struct Correction<'v> {
    /// The path of the wrong, missing or unknown value.
    pub path: Vec<PathSegment<'v>>,
    /// The edit at the path.
    pub edit: Edit,
    /// True for the member that selects the shape of its object: which shape the other members
    /// should have is then unknown.
    pub is_tag: bool,
}

/// An edit of a value.
#[doc(hidden)]
#[derive(Debug)]
pub enum Edit {
    /// None: types don't check rules such as ranges.
    Keep,
    /// Remove the unknown member.
    Remove,
    /// Insert one of these values, the likeliest first.
    Insert(Vec<Value>),
}

/// Returns a correction for each mismatch that [`check`](crate::check::check) reports.
#[doc(hidden)]
pub fn corrections<'v>(schema: &'v Value, value: &'v Value) -> Vec<Correction<'v>> {
    let sampler = Sampler::new(schema);
    let faults = Validator::run(schema, value).into_iter();
    let correct = faults.map(|fault| {
        let mut path = fault.path;
        let is_tag = match &fault.rule {
            ViolatedRule::Missing { expected_schemas, .. } => expected_schemas.len() > 1,
            rule => matches!(rule, ViolatedRule::Tag(_)),
        };
        let edit = match &fault.rule {
            ViolatedRule::Missing { name, expected_schemas, .. } => {
                path.push(PathSegment::Key(name));
                Edit::Insert(sampler.samples(expected_schemas))
            }
            ViolatedRule::NoneOf(expected_schemas) | ViolatedRule::Tag(expected_schemas) => {
                Edit::Insert(sampler.samples(expected_schemas))
            }
            ViolatedRule::Unknown { .. } => Edit::Remove,
            _ => Edit::Keep,
        };
        Correction { path, edit, is_tag }
    });
    correct.collect()
}
