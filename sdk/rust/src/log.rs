//! What a function tells whoever looks for the reason of a trap. The module's is in raw.rs.

/// Writes a line to the host's log of the call. A host keeps the first and the last 2,048
/// bytes of a call and shows them when it traps; tests print them.
pub fn log(text: &str) {
    eprintln!("{}", text);
}
