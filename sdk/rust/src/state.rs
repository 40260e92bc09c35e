//! What functions keep between calls: of a key, a window, or a split of a source.

use crate::answer::Answer;
use crate::fixed::Plain;
use crate::frame::{Frame, STATE_BYTES};
use std::marker::PhantomData;
use std::mem::{size_of, MaybeUninit};

/// What is kept: `()` for nothing, a struct of `plain!`, or [`Bytes`].
pub trait State {
    #[doc(hidden)]
    const KEPT: bool;
}

impl State for () {
    const KEPT: bool = false;
}

/// A state of at most 4,096 bytes whose memory is what the host keeps: a changed layout
/// needs a new SCHEMA.
impl<T: Plain> State for T {
    const KEPT: bool = {
        assert!(size_of::<T>() > 0 && size_of::<T>() <= 4096, "a fixed state has 1 to 4,096 bytes");
        true
    };
}

/// A state that varies in size, which the function writes and reads itself, of at most
/// 1 MiB.
pub struct Bytes;

impl State for Bytes {
    const KEPT: bool = true;
}

/// A state as a function finds it, and the one that it leaves.
pub struct Slot<'a, S> {
    now: &'a [u8],
    next: Vec<u8>, // what has been set
    set: bool,
    state: PhantomData<S>,
}

impl<'a, S> Slot<'a, S> {
    fn bytes(&self) -> &[u8] {
        match self.set {
            true => &self.next,
            false => self.now,
        }
    }

    fn replace(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= STATE_BYTES, "tidemark: a state is longer than 1 MiB");
        self.next.clear();
        self.next.extend_from_slice(bytes);
        self.set = true;
    }

    /// Removes the state.
    pub fn clear(&mut self)
    where
        S: State,
    {
        self.replace(&[])
    }
}

impl<'a, T: Plain> Slot<'a, T> {
    /// Gives the state; None: there is none, or the one that is there has another size.
    pub fn get(&self) -> Option<T> {
        let bytes = self.bytes();
        let mut v = MaybeUninit::<T>::uninit();
        if bytes.len() != size_of::<T>() {
            return None;
        }
        // Of a plain type every sequence of bytes is a value.
        unsafe {
            v.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            Some(v.assume_init())
        }
    }

    /// Replaces the state.
    pub fn set(&mut self, v: T) {
        // A plain type has no padding.
        self.replace(unsafe { std::slice::from_raw_parts((&v as *const T).cast(), size_of::<T>()) })
    }
}

impl<'a> Slot<'a, Bytes> {
    /// Gives the state, nothing if there is none.
    pub fn get(&self) -> &[u8] {
        self.bytes()
    }

    /// Replaces the state with a copy; one of no bytes is removed.
    pub fn set(&mut self, bytes: &[u8]) {
        self.replace(bytes)
    }
}

/// The states of one sort that the items of a frame find and leave behind.
pub(crate) struct States<'a, S> {
    what: u32, // of an entry with a new state
    now: Vec<&'a [u8]>,
    spare: Vec<u8>, // the memory of a slot that was left
    state: PhantomData<S>,
}

impl<'a, S: State> States<'a, S> {
    /// Takes n states whose table lies at an offset.
    pub fn open(f: &'a Frame, at: u32, n: u32, what: u32) -> Option<States<'a, S>> {
        let mut now = Vec::new();
        if S::KEPT {
            let table = f.pieces(at, n as usize)?;
            now.extend((0..n as usize).map(|i| table.at(i)));
        }
        Some(States { what, now, spare: Vec::new(), state: PhantomData })
    }

    /// The state with a number; None: there is no such state.
    pub fn slot(&mut self, number: u32) -> Option<Slot<'a, S>> {
        let now = match S::KEPT {
            true => *self.now.get(number as usize)?,
            false => &[],
        };
        Some(Slot { now, next: std::mem::take(&mut self.spare), set: false, state: PhantomData })
    }

    /// Answers a state that was set, where later items of the frame find it.
    pub fn leave(&mut self, number: u32, slot: Slot<'a, S>, answer: &Answer) {
        if slot.set {
            if let Some(at) = answer.bytes(self.what, &slot.next) {
                // The entry stays where it is until the call ends.
                self.now[number as usize] = unsafe { std::slice::from_raw_parts(at, slot.next.len()) };
            }
        }
        self.spare = slot.next;
    }
}
