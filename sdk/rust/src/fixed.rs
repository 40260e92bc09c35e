//! Accumulators of a fixed size, changed in place: they lie in the frame itself.

use crate::aggregate::{Aggregate, Answers, Call, Kept};
use crate::apply::{Agenda, MERGE, RECORD, RESET, RESULT};
use crate::column::Record;
use crate::frame::Status;
use crate::upgrade::padded;
use std::marker::PhantomData;
use std::mem::{align_of, size_of};

/// Accumulators of plain numbers, at most 4,096 bytes: nothing is copied, encoded or
/// allocated. Their layout in memory is what the host keeps, so a changed layout needs
/// a new SCHEMA.
pub struct Fixed;

/// A type whose bytes can be kept by a host and given back: `plain!` implements it.
///
/// # Safety
/// Every sequence of bytes is a value; there are no pointers and there is no padding.
pub unsafe trait Plain: Copy + 'static {}

macro_rules! plain_numbers {
    ($($type:ty)*) => { $(unsafe impl Plain for $type {})* };
}
plain_numbers!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 crate::Timestamp);

unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Fails to compile for what is not plain.
#[doc(hidden)]
pub const fn is_plain<T: Plain>() -> usize {
    size_of::<T>()
}

/// Declares an accumulator of a fixed size: numbers, and arrays of them. A fresh one is
/// zero in all fields.
///
/// ```
/// tidemark::plain! { struct Tally { above: i64, all: i64, bins: [u32; 40] } }
/// ```
///
/// What a host could not keep does not compile: pointers,
///
/// ```compile_fail
/// tidemark::plain! { struct Names { all: Vec<String> } }
/// ```
///
/// gaps between the fields,
///
/// ```compile_fail
/// tidemark::plain! { struct Gap { flag: u8, count: i64 } }
/// ```
///
/// and values that some bytes are not.
///
/// ```compile_fail
/// tidemark::plain! { struct Flag { set: bool } }
/// ```
#[macro_export]
macro_rules! plain {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        $(#[$meta])* #[derive(Clone, Copy, Debug, PartialEq)] #[repr(C)]
        $vis struct $name { $($(#[$doc])* pub $field: $type),+ }
        const _: () = assert!(
            ::std::mem::size_of::<$name>() == 0 $(+ $crate::inner::is_plain::<$type>())+,
            "there are gaps between the fields: put large ones first, and fill up with a field of bytes"
        );
        unsafe impl $crate::Plain for $name {}
        impl Default for $name {
            fn default() -> $name {
                // Of plain fields every sequence of bytes is a value.
                unsafe { ::std::mem::zeroed() }
            }
        }
    };
}

impl<A: Aggregate + Plain> Kept<A> for Fixed {
    const WIDTH: usize = Accs::<A>::WIDTH;

    fn create(c: &Call<'_, A>) -> Option<Status> {
        let accs = Accs::<A>::open(c, c.frame.header().acc)?;
        for i in 0..c.frame.header().groups as usize {
            c.frame.at_op(i);
            unsafe { accs.renew(i, A::fresh(c.params)) };
        }
        Some(Status::Ok)
    }

    fn add(c: &Call<'_, A>) -> Option<Status> {
        let accs = Accs::<A>::open(c, c.frame.header().acc)?;
        let columns = A::Record::bound(c.columns);
        let groups = c.frame.group_of()?;
        let frame = c.frame; // whose address nothing takes: it stays in a register
        // The record path. The group is below groups and the columns have the row.
        for (i, &g) in groups.iter().enumerate() {
            frame.at_op(i);
            let done = unsafe { (*accs.at(g as usize)).add(A::Record::read(&columns, i), c.params) };
            if let Err(e) = done {
                return Some(c.frame.refuse(e.text()));
            }
        }
        Some(Status::Ok)
    }

    fn merge(c: &Call<'_, A>) -> Option<Status> {
        let accs = Accs::<A>::open(c, c.frame.header().acc)?;
        let from = Accs::<A>::open(c, c.frame.header().from)?;
        for i in 0..c.frame.header().groups as usize {
            c.frame.at_op(i);
            let done = unsafe { (*accs.at(i)).merge(*from.at(i), c.params) };
            if let Err(e) = done {
                return Some(c.frame.refuse(e.text()));
            }
        }
        Some(Status::Ok)
    }

    fn result(c: &Call<'_, A>, out: &mut Answers<'_, A>) -> Option<Status> {
        let accs = Accs::<A>::open(c, c.frame.header().acc)?;
        for i in 0..c.frame.header().groups as usize {
            c.frame.at_op(i);
            let acc = unsafe { &*accs.at(i) };
            if let Some(ended) = out(i, i, acc.result(c.params)) {
                return Some(ended);
            }
        }
        Some(Status::Ok)
    }

    fn apply(c: &Call<'_, A>, agenda: &Agenda<'_>, out: &mut Answers<'_, A>) -> Option<Status> {
        let accs = Accs::<A>::open(c, c.frame.header().acc)?;
        let columns = A::Record::bound(c.columns);
        // The record path. The agenda names accumulators and rows that are there.
        for (i, op) in agenda.ops.iter().enumerate() {
            c.frame.at_op(i);
            let (acc, arg) = (op.acc as usize, op.arg as usize);
            let done = match op.what {
                RECORD => unsafe { (*accs.at(acc)).add(A::Record::read(&columns, arg), c.params) },
                RESULT => {
                    if let Some(ended) = out(i, arg, unsafe { (*accs.at(acc)).result(c.params) }) {
                        return Some(ended);
                    }
                    Ok(())
                }
                RESET => {
                    unsafe { accs.renew(acc, A::fresh(c.params)) };
                    Ok(())
                }
                MERGE => unsafe {
                    let from = *accs.at(arg);
                    (*accs.at(acc)).merge(from, c.params)
                },
                _ => return None,
            };
            if let Err(e) = done {
                return Some(c.frame.refuse(e.text()));
            }
        }
        Some(Status::Ok)
    }
}

/// A row of accumulators in the frame.
struct Accs<A>(*mut u8, PhantomData<A>);

impl<A: Plain> Accs<A> {
    const WIDTH: usize = {
        assert!(size_of::<A>() > 0 && size_of::<A>() <= 4096, "an accumulator of a fixed size has 1 to 4,096 bytes");
        assert!(align_of::<A>() <= 8, "an accumulator is aligned to at most 8");
        padded(size_of::<A>())
    };

    fn open<B: Aggregate>(c: &Call<'_, B>, off: u32) -> Option<Accs<A>> {
        Some(Accs(c.frame.get(off, c.frame.header().groups as usize * Self::WIDTH)?, PhantomData))
    }

    /// The address of accumulator i, which is below groups.
    #[inline(always)]
    unsafe fn at(&self, i: usize) -> *mut A {
        self.0.add(i * Self::WIDTH).cast()
    }

    /// Writes a fresh accumulator in place of accumulator i.
    unsafe fn renew(&self, i: usize, fresh: A) {
        self.at(i).cast::<u8>().write_bytes(0, Self::WIDTH); // the end, too: equal accumulators are equal bytes
        self.at(i).write(fresh);
    }
}
