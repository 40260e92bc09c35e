//! What accumulators that vary in size are written with.

/// Appends a number, 7 bits a byte, the lowest first; the top bit says that more follow.
pub fn put_uvarint(to: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        to.push(v as u8 | 0x80);
        v >>= 7;
    }
    to.push(v as u8);
}

/// Takes what `put_uvarint` wrote off the beginning; None: it is cut off, or no number.
pub fn take_uvarint(left: &mut &[u8]) -> Option<u64> {
    let mut v = 0;
    for (i, &b) in left.iter().take(10).enumerate() {
        if i == 9 && b > 1 {
            return None; // more than 64 bits
        }
        v |= u64::from(b & 0x7f) << (7 * i);
        if b < 0x80 {
            *left = &left[i + 1..];
            return Some(v);
        }
    }
    None
}

/// Takes n bytes off the beginning; None: there are fewer.
pub fn take<'a>(left: &mut &'a [u8], n: u64) -> Option<&'a [u8]> {
    let n = usize::try_from(n).ok().filter(|&n| n <= left.len())?;
    let (taken, rest) = left.split_at(n);
    *left = rest;
    Some(taken)
}
