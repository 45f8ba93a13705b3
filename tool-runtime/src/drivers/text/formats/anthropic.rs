//! `<function_calls>`, in it `<invoke name="NAME">` and `<parameter name="KEY">VALUE</parameter>`, each tag at
//! times with the prefix `antml:`: Claude behind proxies that turn calls into text, models that are
//! prompted so. A bare `invoke` counts where it begins a line.
//!
//! Source: openclaw/openclaw#97750, Luce-Org/lucebox#627, cline/cline#3887.

use super::super::Opener;
use super::super::grammar::{Nesting, Style, Tagged};

pub(super) const ANTHROPIC: Tagged = Tagged {
    name: "anthropic",
    openers: &[
        Opener::Marker("<function_calls>"),
        Opener::Marker("<antml:function_calls>"),
        Opener::Line("<invoke "),
        Opener::Line("<antml:invoke "),
    ],
    style: Style::Attribute,
    tags: Nesting {
        around: &["<function_calls>", "<antml:function_calls>"],
        around_ends: &["</function_calls>", "</antml:function_calls>"],
        call: &["<invoke ", "<antml:invoke "],
        call_ends: &["</invoke>", "</antml:invoke>"],
        argument: &["<parameter ", "<antml:parameter "],
        argument_ends: &["</parameter>", "</antml:parameter>"],
    },
};
