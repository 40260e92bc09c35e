//! The layout of a frame (abi/SPEC.md, section 3), and what is checked of it. What the
//! host writes is reached by pointers: it lies in the arena, which no Rust value owns.

use std::mem::size_of;

/// Holds the largest call that must work: a merge of two accumulators of 1 MiB into a
/// third, or one record of 1 MiB, with room to spare.
pub(crate) const ARENA_BYTES: usize = 4 << 20;

/// Bounds rows and groups before they are multiplied: no frame in this arena can hold
/// more, since each row and each group needs at least 4 bytes.
pub(crate) const MAX_COUNT: u32 = (ARENA_BYTES / 4) as u32;

/// The longest text of a refusal (section 5).
pub(crate) const MESSAGE_BYTES: usize = 4096;

/// The longest accumulator that varies in size (section 2).
pub(crate) const ACC_BYTES: usize = 1 << 20;

/// The longest state of a key, a window or a split (section 2).
pub(crate) const STATE_BYTES: usize = 1 << 20;

/// Bounds the texts of one result row, as every result is bounded.
pub(crate) const TEXT_BYTES: usize = 1 << 20;

/// Bit of `Descriptor::flags`.
pub(crate) const HAS_VALIDITY: u32 = 1;

/// What a call answers (section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    Ok = 0,
    Refused = 1,
    OutputFull = 2,
    BadFrame = 3,
}

/// The head of a frame as it lies in memory.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Header {
    pub size: u32,
    pub rows: u32,
    pub groups: u32,
    pub cols: u32,
    pub ncols: u32,
    pub group: u32,
    pub acc: u32,
    pub from: u32,
    pub outcols: u32,
    pub noutcols: u32,
    pub out: u32,
    pub out_cap: u32,
    pub op: u32,
    pub done: u32,
    pub out_used: u32,
    pub block: u32,
    pub reserved: [u32; 8],
}

const _: () = assert!(size_of::<Header>() == 96 && size_of::<Descriptor>() == 32);

/// One column of a frame.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Descriptor {
    pub kind: u32,
    pub flags: u32,
    pub validity: u32,
    pub data: u32,
    pub blob: u32,
    pub blob_size: u32,
    pub reserved: [u32; 2],
}

/// One call's view of the arena: valid during that call.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Frame(*mut Header);

impl Frame {
    /// Checks what is cheap to check once a call: that the header and the areas that it
    /// names lie inside the arena.
    ///
    /// # Safety
    /// The arena has ARENA_BYTES bytes, is aligned to 8, and nothing else uses it while
    /// the frame lives.
    pub unsafe fn open(arena: *mut u8, at: usize) -> Option<Frame> {
        if at % 8 != 0 || at > ARENA_BYTES - size_of::<Header>() {
            return None;
        }
        let f = Frame(arena.add(at).cast());
        let h = f.header();
        let good = h.size as usize >= size_of::<Header>()
            && h.size as usize <= ARENA_BYTES - at
            && h.rows <= MAX_COUNT
            && h.groups <= MAX_COUNT
            && f.holds(h.out, h.out_cap as usize, 1)
            && h.out_used <= h.out_cap;
        good.then(|| f)
    }

    pub(crate) fn header(&self) -> Header {
        unsafe { *self.0 }
    }

    /// Says what is being worked on. Volatile: it must be in memory when the guest traps.
    #[inline(always)]
    pub fn at_op(&self, op: usize) {
        unsafe { std::ptr::addr_of_mut!((*self.0).op).write_volatile(op as u32) }
    }

    /// Whether n values of size bytes lie aligned inside the frame.
    fn holds(&self, off: u32, n: usize, size: usize) -> bool {
        let all = self.header().size;
        off % 8 == 0 && off <= all && n as u64 * size as u64 <= u64::from(all - off)
    }

    /// Gives the address of n values at an offset.
    pub fn get<T>(&self, off: u32, n: usize) -> Option<*mut T> {
        self.holds(off, n, size_of::<T>()).then(|| unsafe { self.0.cast::<u8>().add(off as usize).cast() })
    }

    /// Gives n values at an offset, for reading.
    pub fn slice<T: Copy>(&self, off: u32, n: usize) -> Option<&[T]> {
        Some(unsafe { std::slice::from_raw_parts(self.get(off, n)?, n) })
    }

    /// The group of each record, all of them below groups.
    pub fn group_of(&self) -> Option<&[u32]> {
        let h = self.header();
        let group = self.slice::<u32>(h.group, h.rows as usize)?;
        all_below(group, h.groups).then(|| group)
    }

    /// n pieces of bytes of varying size, whose table of offsets lies at an offset.
    pub(crate) fn pieces(&self, at: u32, n: usize) -> Option<Pieces<'_>> {
        if n > MAX_COUNT as usize {
            return None;
        }
        let off = self.slice::<u32>(at, n + 1)?;
        let start = at + ((4 * (n as u32 + 1) + 7) & !7);
        let data = self.slice::<u8>(start, off[n] as usize)?;
        off.windows(2).all(|w| w[0] <= w[1]).then(|| Pieces { off, data })
    }

    /// Appends to the output area; false: there is no room.
    pub fn append(&self, parts: &[&[u8]]) -> bool {
        let (mut to, room) = self.free();
        let n: usize = parts.iter().map(|p| p.len()).sum();
        if n > room {
            return false;
        }
        for p in parts {
            unsafe {
                std::ptr::copy_nonoverlapping(p.as_ptr(), to, p.len());
                to = to.add(p.len());
            }
        }
        self.use_up(n);
        true
    }

    /// The part of the output area that is not used, where it begins and its bytes.
    #[inline(always)]
    pub(crate) fn free(&self) -> (*mut u8, usize) {
        unsafe {
            let h = &*self.0;
            (self.0.cast::<u8>().add((h.out + h.out_used) as usize), (h.out_cap - h.out_used) as usize)
        }
    }

    /// Takes n bytes of it that were written.
    #[inline(always)]
    pub(crate) fn use_up(&self, n: usize) {
        unsafe { (*self.0).out_used += n as u32 }
    }

    /// Takes back what was appended behind used.
    pub fn cut(&self, used: u32) {
        unsafe { (*self.0).out_used = used }
    }

    /// Puts a text into the output area.
    pub fn refuse(&self, text: &str) -> Status {
        let room = MESSAGE_BYTES.min(self.header().out_cap as usize);
        let mut n = text.len().min(room);
        while !text.is_char_boundary(n) {
            n -= 1;
        }
        self.cut(0);
        self.append(&[&text.as_bytes()[..n]]);
        Status::Refused
    }

    /// Says that operation done did not fit.
    pub fn full(&self, done: usize) -> Status {
        unsafe { (*self.0).done = done as u32 }
        Status::OutputFull
    }
}

/// Whether all groups are below n, which is at most MAX_COUNT. Once a call, so that no
/// record path asks: two at a time, without a branch. The top bit of a number says that it
/// is too large, or that it has become so below zero; a borrow from the number beside it
/// says the same of that one.
fn all_below(group: &[u32], n: u32) -> bool {
    const TOP: u64 = 1 << 63 | 1 << 31;
    let last = u64::from(n.wrapping_sub(1)) * (1 << 32 | 1);
    let pairs = group.chunks_exact(2);
    let rest = pairs.remainder().iter().fold(0, |bad, &g| bad | u64::from(g));
    let pair = |p: &[u32]| u64::from(p[0]) | u64::from(p[1]) << 32;
    let bad = pairs.map(pair).chain([rest]).fold(0, |bad, g| bad | g | last.wrapping_sub(g));
    group.is_empty() || n > 0 && bad & TOP == 0
}

/// Accumulators that vary in size, or states.
pub(crate) struct Pieces<'a> {
    off: &'a [u32],
    data: &'a [u8],
}

impl<'a> Pieces<'a> {
    pub fn at(&self, i: usize) -> &'a [u8] {
        &self.data[self.off[i] as usize..self.off[i + 1] as usize]
    }
}
