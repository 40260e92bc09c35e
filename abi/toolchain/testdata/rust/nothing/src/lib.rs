//! A module, and no plug-in.
