//! No module.
