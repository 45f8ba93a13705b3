//! The servers that a request may reach: none inside, and only those that a program allows.

mod addresses;
mod hosts;
mod rebinding;
mod redirects;
mod refusals;
