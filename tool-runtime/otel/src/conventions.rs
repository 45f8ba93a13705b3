use std::env;

/// The variable by which OpenTelemetry lets operators choose.
const OPT_IN: &str = "OTEL_SEMCONV_STABILITY_OPT_IN";

/// The value of the variable that selects the latest conventions.
const LATEST: &str = "gen_ai_latest_experimental";

/// The version of OpenTelemetry's conventions for generative AI whose names a program emits.
///
/// Give the same value to [`Metrics`](crate::Metrics) and to
/// [`ConventionsExporter`](crate::ConventionsExporter). The conventions are in development, and many
/// backends still read the names of version 1.36.
///
/// ```
/// use tool_runtime::otel::Conventions;
///
/// let from_operator = Conventions::from_opt_in("http,gen_ai_latest_experimental");
/// assert_eq!(from_operator, Conventions::Latest);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conventions {
    /// Release 0.1.0 of `semantic-conventions-genai`, with names such as
    /// `gen_ai.provider.name` and `gen_ai.client.inference.duration`.
    #[default]
    Latest,
    /// Version 1.36, such as `gen_ai.system` and `gen_ai.client.operation.duration`. Newer
    /// attributes are left out, and with them messages, arguments and results.
    V1_36,
    /// The names of both versions, while dashboards are changed. The data is larger.
    Both,
}

impl Conventions {
    /// Chooses the version by the environment variable `OTEL_SEMCONV_STABILITY_OPT_IN`, as
    /// OpenTelemetry defines it. Nothing in this crate reads the variable otherwise.
    ///
    /// ```
    /// use tool_runtime::otel::Conventions;
    ///
    /// println!("names of {:?}", Conventions::from_env());
    /// ```
    pub fn from_env() -> Self {
        Self::from_opt_in(&env::var(OPT_IN).unwrap_or_default())
    }

    /// Chooses the version by the value of `OTEL_SEMCONV_STABILITY_OPT_IN`, a list with commas: the
    /// latest with `gen_ai_latest_experimental`, and version 1.36 without.
    ///
    /// ```
    /// use tool_runtime::otel::Conventions;
    ///
    /// assert_eq!(Conventions::from_opt_in("http"), Conventions::V1_36);
    /// ```
    pub fn from_opt_in(list: &str) -> Self {
        let is_latest = list.split(',').any(|category| category.trim() == LATEST);
        if is_latest { Self::Latest } else { Self::V1_36 }
    }

    /// Whether the latest names are emitted.
    pub(crate) fn has_latest(self) -> bool {
        self != Self::V1_36
    }

    /// Whether the names of version 1.36 are emitted.
    pub(crate) fn has_v1_36(self) -> bool {
        self != Self::Latest
    }
}
