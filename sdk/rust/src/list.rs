//! Lists of records in a frame, with their event times in front of the columns, and the
//! block of the frame that names them (abi/SPEC.md, section 3).

use crate::column::{Column, Columns, Field, Input, Record};
use crate::frame::{Frame, MAX_COUNT};
use crate::value::{Kind, Timestamp, Value};
use std::marker::PhantomData;

/// The part of a frame that all kinds but aggregates have, and tm_aggregate_apply, as it
/// lies in memory.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Block {
    pub items: u32,
    pub keys: u32,
    pub nkeys: u32,
    pub windows: u32,
    pub nwindows: u32,
    pub results: u32, // of tm_aggregate_apply: rows of the output columns
    pub lists: [ListBlock; 2],
}

#[doc(hidden)]
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct ListBlock {
    pub rows: u32,
    pub cols: u32,
    pub ncols: u32,
}

const _: () = assert!(std::mem::size_of::<Block>() == 48);

impl Block {
    pub fn of(f: &Frame) -> Option<Block> {
        f.slice::<Block>(f.header().block, 1).map(|b| b[0])
    }
}

/// A record with its event time.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed<R> {
    /// None: it has none.
    pub time: Option<Timestamp>,
    pub record: R,
}

impl<R> Timed<R> {
    /// A record with a time in milliseconds since 1970.
    pub fn at(ms: i64, record: R) -> Timed<R> {
        Timed { time: Some(Timestamp(ms)), record }
    }

    /// A record without a time.
    pub fn never(record: R) -> Timed<R> {
        Timed { time: None, record }
    }
}

/// The columns of a list, bound to the frame.
#[doc(hidden)]
pub struct Bound<'a, R: Record<'a>> {
    times: Column<'a>,
    columns: R::Bound,
    rows: u32,
}

impl<'a, R: Record<'a>> Clone for Bound<'a, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, R: Record<'a>> Copy for Bound<'a, R> {}

impl<'a, R: Record<'a>> Bound<'a, R> {
    /// Binds a list; None: it has other columns, or does not lie in the frame.
    pub(crate) fn open(f: &Frame, b: &ListBlock) -> Option<Bound<'a, R>> {
        let kinds: Vec<Kind> = std::iter::once(Kind::Timestamp).chain(R::FIELDS.iter().map(|f| f.kind)).collect();
        let mut all = Columns(Vec::new());
        if b.rows > MAX_COUNT || !all.bind(f, b.cols, b.ncols, b.rows as usize, kinds.into_iter()) {
            return None;
        }
        let times = all.0.remove(0);
        Some(Bound { times, columns: R::bound(&all), rows: b.rows })
    }

    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    /// Reads a record; None: there is no such row.
    #[inline(always)]
    pub(crate) fn at(&self, row: u32) -> Option<Timed<R::Of>> {
        if row >= self.rows {
            return None;
        }
        // The columns hold all rows.
        Some(unsafe { Timed { time: Option::<Timestamp>::at(&self.times, row as usize), record: R::read(&self.columns, row as usize) } })
    }
}

/// Some records, in order of arrival.
pub struct List<'a, R: Record<'a>> {
    bound: Bound<'a, R>,
    from: u32,
    to: u32,
}

impl<'a, R: Record<'a>> Clone for List<'a, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, R: Record<'a>> Copy for List<'a, R> {}

impl<'a, R: Record<'a>> List<'a, R> {
    fn new(bound: &Bound<'a, R>, span: Span) -> Option<List<'a, R>> {
        (span.from <= span.to && span.to <= bound.rows).then(|| List { bound: *bound, from: span.from, to: span.to })
    }

    /// Their number.
    pub fn len(&self) -> usize {
        (self.to - self.from) as usize
    }

    pub fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Reads record i, counted from 0; None: there are fewer.
    #[inline(always)]
    pub fn get(&self, i: usize) -> Option<Timed<R::Of>> {
        if i >= self.len() {
            return None;
        }
        self.bound.at(self.from + i as u32)
    }

    /// Reads them one by one.
    pub fn iter(&self) -> Iter<'a, R> {
        Iter { list: *self }
    }
}

impl<'a, R: Record<'a>> IntoIterator for List<'a, R> {
    type Item = Timed<R::Of>;
    type IntoIter = Iter<'a, R>;
    fn into_iter(self) -> Iter<'a, R> {
        self.iter()
    }
}

/// What `List::iter` gives.
pub struct Iter<'a, R: Record<'a>> {
    list: List<'a, R>, // that is left
}

impl<'a, R: Record<'a>> Iterator for Iter<'a, R> {
    type Item = Timed<R::Of>;
    #[inline(always)]
    fn next(&mut self) -> Option<Timed<R::Of>> {
        let r = self.list.get(0)?;
        self.list.from += 1;
        Some(r)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.list.len(), Some(self.list.len()))
    }
}

impl<'a, R: Record<'a>> ExactSizeIterator for Iter<'a, R> {}

/// Rows of a list, as they lie in memory.
#[doc(hidden)]
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Span {
    pub from: u32,
    pub to: u32,
}

/// Which lists of records a process function is shown: `()` for none, [`Records`] or
/// [`CoGroup`].
pub trait Lists<'a> {
    /// What `Firing::records` is.
    type Of;
    /// What a test shows.
    type Given: Clone;
    #[doc(hidden)]
    const MEMBERS: &'static [(&'static str, &'static [Field])];
    #[doc(hidden)]
    type Bound;
    #[doc(hidden)]
    fn bind(f: &Frame, lists: &[ListBlock; 2]) -> Option<Self::Bound>;
    #[doc(hidden)]
    fn of(bound: &Self::Bound, spans: &[Span; 2]) -> Option<Self::Of>;
    /// The rows of each list, times first.
    #[doc(hidden)]
    fn values(given: Self::Given) -> Vec<Vec<Vec<Value>>>;
}

/// No records.
impl<'a> Lists<'a> for () {
    type Of = ();
    type Given = ();
    const MEMBERS: &'static [(&'static str, &'static [Field])] = &[];
    type Bound = ();
    fn bind(_: &Frame, _: &[ListBlock; 2]) -> Option<()> {
        Some(())
    }
    fn of(_: &(), _: &[Span; 2]) -> Option<()> {
        Some(())
    }
    fn values(_: ()) -> Vec<Vec<Vec<Value>>> {
        Vec::new()
    }
}

/// The records of the window: `Firing::records` is a [`List`].
pub struct Records<R>(PhantomData<R>);

impl<'a, R: Record<'a>> Lists<'a> for Records<R> {
    type Of = List<'a, R>;
    type Given = Vec<Timed<R::Of>>;
    const MEMBERS: &'static [(&'static str, &'static [Field])] = &[("records", R::FIELDS)];
    type Bound = Bound<'a, R>;
    fn bind(f: &Frame, lists: &[ListBlock; 2]) -> Option<Bound<'a, R>> {
        Bound::open(f, &lists[0])
    }
    fn of(bound: &Bound<'a, R>, spans: &[Span; 2]) -> Option<List<'a, R>> {
        List::new(bound, spans[0])
    }
    fn values(given: Vec<Timed<R::Of>>) -> Vec<Vec<Vec<Value>>> {
        vec![rows::<R>(given)]
    }
}

/// The records of the two sides of a coGroup: `Firing::records` is [`Both`].
pub struct CoGroup<L, R>(PhantomData<(L, R)>);

/// The records of two sides.
pub struct Both<'a, L: Record<'a>, R: Record<'a>> {
    pub left: List<'a, L>,
    pub right: List<'a, R>,
}

impl<'a, L: Record<'a>, R: Record<'a>> Lists<'a> for CoGroup<L, R> {
    type Of = Both<'a, L, R>;
    type Given = (Vec<Timed<L::Of>>, Vec<Timed<R::Of>>);
    const MEMBERS: &'static [(&'static str, &'static [Field])] = &[("left", L::FIELDS), ("right", R::FIELDS)];
    type Bound = (Bound<'a, L>, Bound<'a, R>);
    fn bind(f: &Frame, lists: &[ListBlock; 2]) -> Option<Self::Bound> {
        Some((Bound::open(f, &lists[0])?, Bound::open(f, &lists[1])?))
    }
    fn of(bound: &Self::Bound, spans: &[Span; 2]) -> Option<Both<'a, L, R>> {
        Some(Both { left: List::new(&bound.0, spans[0])?, right: List::new(&bound.1, spans[1])? })
    }
    fn values((left, right): Self::Given) -> Vec<Vec<Vec<Value>>> {
        vec![rows::<L>(left), rows::<R>(right)]
    }
}

/// The rows of a list, times first.
pub(crate) fn rows<'a, R: Record<'a>>(records: Vec<Timed<R::Of>>) -> Vec<Vec<Value>> {
    let row = |r: Timed<R::Of>| std::iter::once(r.time.into()).chain(R::values(r.record)).collect();
    records.into_iter().map(row).collect()
}
