//! What all kinds but aggregates answer: entries in the output area, one behind the other
//! (abi/SPEC.md, section 3).

use crate::frame::{Frame, Status, TEXT_BYTES};
use crate::output::{Cells, Row, LONG_TEXTS};
use crate::refusal::Refusal;
use crate::side::Side;
use std::cell::Cell;

/// What an entry is, beside a row of an output.
pub(crate) const KEY_STATE: u32 = 0x8000_0000;
pub(crate) const WINDOW_STATE: u32 = 0x8000_0001;

/// Bytes in front of an entry's body: item, what, size, and four that are zero.
pub(crate) const HEAD_BYTES: usize = 16;

/// What a function gives for the item of a frame that it is shown: a firing, a pair, a
/// record or an operation.
pub(crate) struct Answer {
    frame: Frame,
    item: Cell<usize>,
    full: Cell<bool>, // an entry did not fit: the item is shown again, in a frame with more room
    long: Cell<bool>, // a row's texts are longer than any frame can carry
}

impl Answer {
    pub fn new(frame: Frame) -> Answer {
        Answer { frame, item: Cell::new(0), full: Cell::new(false), long: Cell::new(false) }
    }

    /// Shows a function the items of the frame, one after the other. None, from it or from
    /// here: the frame cannot be read.
    pub fn to_each(&self, mut one: impl FnMut(usize) -> Option<Result<(), Refusal>>) -> Option<Status> {
        let f = self.frame;
        for item in 0..f.header().rows as usize {
            f.at_op(item);
            self.item.set(item);
            let start = f.header().out_used;
            if let Err(e) = one(item)? {
                return Some(f.refuse(e.text()));
            }
            if self.long.get() {
                return Some(f.refuse(LONG_TEXTS));
            }
            if self.full.get() {
                f.cut(start);
                return Some(f.full(item));
            }
        }
        Some(Status::Ok)
    }

    /// Appends a row of the results.
    pub fn row<R: Row>(&self, row: R) {
        self.cells(0, R::FIELDS.len(), |w| row.put(w))
    }

    /// Appends a row of a side output.
    pub fn side<S: Side>(&self, row: S) {
        let index = row.index();
        self.cells(1 + index as u32, S::SIDES[index].1.len(), |w| row.put(w))
    }

    /// Appends a row with a number of columns.
    #[inline(always)]
    fn cells(&self, what: u32, columns: usize, put: impl FnOnce(&mut EntryRow)) {
        let cells = 8 + 8 * columns;
        let (body, room) = match self.open(what, cells) {
            Some(opened) => opened,
            None => return,
        };
        let mut w = EntryRow { body, column: 0, bits: 0, used: cells, cells, room, full: false, long: false };
        put(&mut w);
        unsafe { body.cast::<u64>().write(w.bits) };
        if w.long {
            self.long.set(true);
        }
        match w.full {
            true => self.full.set(true),
            false => self.close(body, w.used),
        }
    }

    /// Appends an entry of some numbers.
    pub fn words<const N: usize>(&self, what: u32, words: [u64; N]) {
        if let Some((body, _)) = self.open(what, 8 * N) {
            unsafe { body.cast::<[u64; N]>().write(words) };
            self.close(body, 8 * N);
        }
    }

    /// Appends an entry of some bytes, and gives the place where they lie; None: there was
    /// no room.
    pub fn bytes(&self, what: u32, bytes: &[u8]) -> Option<*const u8> {
        let (body, _) = self.open(what, bytes.len())?;
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), body, bytes.len()) };
        self.close(body, bytes.len());
        Some(body)
    }

    /// Writes the head of an entry whose body has at least some bytes. Gives the body,
    /// which is aligned to 8, and how many bytes can be written there.
    fn open(&self, what: u32, size: usize) -> Option<(*mut u8, usize)> {
        let (free, room) = self.frame.free();
        let room = room & !7; // the end of the area may be no multiple of 8, but an entry's is
        if self.full.get() || HEAD_BYTES + size > room {
            self.full.set(true);
            return None;
        }
        unsafe {
            free.cast::<[u32; 4]>().write([self.item.get() as u32, what, 0, 0]);
            Some((free.add(HEAD_BYTES), room - HEAD_BYTES))
        }
    }

    /// Ends the entry that was opened, with the bytes of its body that were written.
    fn close(&self, body: *mut u8, size: usize) {
        let padded = (size + 7) & !7;
        // open has found room for a multiple of 8.
        unsafe {
            body.add(size).write_bytes(0, padded - size);
            body.sub(8).cast::<u32>().write(size as u32);
        }
        self.frame.use_up(HEAD_BYTES + padded);
    }
}

/// The body of a row: a word that says which columns have a value, a cell for each
/// column, and the texts.
struct EntryRow {
    body: *mut u8,
    column: usize, // that is written next
    bits: u64,
    used: usize,  // bytes of the body
    cells: usize, // those of them in front of the texts
    room: usize,  // bytes that the body can have
    full: bool,
    long: bool,
}

impl EntryRow {
    /// Writes the next column's cell, for which open has found room.
    #[inline(always)]
    fn cell(&mut self, v: u64, bit: u64) {
        unsafe { self.body.cast::<u64>().add(1 + self.column).write(v) };
        self.bits |= bit << self.column;
        self.column += 1;
    }
}

impl Cells for EntryRow {
    #[inline(always)]
    fn word(&mut self, v: u64) {
        self.cell(v, 1)
    }

    #[inline(always)]
    fn flag(&mut self, v: bool) {
        self.cell(u64::from(v), 1)
    }

    fn text(&mut self, v: &str) {
        self.long |= v.len() > TEXT_BYTES - (self.used - self.cells);
        self.full |= v.len() > self.room - self.used;
        if self.long || self.full {
            return self.null();
        }
        unsafe { std::ptr::copy_nonoverlapping(v.as_ptr(), self.body.add(self.used), v.len()) };
        self.cell(self.used as u64 | (v.len() as u64) << 32, 1);
        self.used += v.len();
    }

    #[inline(always)]
    fn null(&mut self) {
        self.cell(0, 0)
    }
}
