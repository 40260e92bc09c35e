//! How an author says no.

use std::borrow::Cow;
use std::fmt;

/// The text of a refusal, for people; the host shows at most 4,096 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(Cow<'static, str>);

impl Refusal {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for Refusal {
    fn from(text: &'static str) -> Refusal {
        Refusal(text.into())
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Refusal {
        Refusal(text.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}
