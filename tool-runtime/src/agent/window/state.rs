use serde::{Deserialize, Serialize};

/// What a window knows of a conversation: plain data, kept with it.
///
/// ```
/// use tool_runtime::agent::window::WindowState;
///
/// # fn main() -> Result<(), serde_json::Error> {
/// let mut state = WindowState::default();
/// state.correct(900, 1_200);
/// let kept = serde_json::to_string(&state)?;
/// assert_eq!(serde_json::from_str::<WindowState>(&kept)?, state);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowState {
    /// What is shown of earlier runs begins here.
    pub(super) from: usize,
    /// What is left out of the current run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) within: Option<Within>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<String>,
    /// What stands before this place is in the summary, or was when it could be made.
    pub(super) summarized: usize,
    /// The tokens of a request, as they were estimated and as its provider counted them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) measured: Option<Measured>,
}

/// The replies of one run that are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Within {
    /// Where the run began.
    pub(super) run: usize,
    /// They stand before this place.
    pub(super) to: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Measured {
    estimated: u64,
    counted: u64,
}

/// How far a provider's count is believed, as a multiple of the estimate and a part of it: some count
/// only what they have not cached.
const FURTHEST: u64 = 4;

impl WindowState {
    /// What stands for what fell out of the window; nothing where nothing was summed up.
    pub fn summary(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    /// Tells what a provider counted of a request that was [estimated](super::Window::estimate) so:
    /// from now on all estimates are taken in that proportion, up to four times as many or as few.
    pub fn correct(&mut self, estimated: u64, counted: u64) {
        if estimated > 0 && counted > 0 {
            self.measured = Some(Measured { estimated, counted });
        }
    }

    /// How many tokens by the counter are so many by the provider.
    pub(super) fn estimated(&self, counted: u64) -> u64 {
        let Some(Measured { estimated, counted: measured }) = self.measured else {
            return counted;
        };
        let most = estimated.saturating_mul(FURTHEST);
        let measured = measured.clamp((estimated / FURTHEST).max(1), most.max(1));
        let exact = u128::from(counted) * u128::from(estimated) / u128::from(measured);
        u64::try_from(exact).unwrap_or(u64::MAX)
    }
}
