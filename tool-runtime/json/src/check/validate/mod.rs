//! Validates a value against a schema.

pub(super) mod array;
pub(super) mod branch;
pub(super) mod closest_branch;
pub(super) mod equal;
pub(super) mod evaluated;
pub(super) mod exact_number;
pub(super) mod fault;
pub(super) mod keywords;
pub(super) mod limits;
pub(super) mod object;
pub(super) mod pattern;
pub(super) mod pointer;
pub(super) mod scalar;
pub(super) mod validator;
