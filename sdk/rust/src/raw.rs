//! The raw ABI: the functions of abi/SPEC.md, section 4, and what a module needs around
//! them. The only file that knows WebAssembly.

use crate::frame::ARENA_BYTES;
use crate::plugin::{Instance, Op, Plugin};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;

/// What a module has one of. A guest is single-threaded, and the host makes one call at a
/// time.
struct Only<T>(UnsafeCell<T>);
unsafe impl<T> Sync for Only<T> {}

#[repr(align(8))]
struct Arena(#[allow(dead_code)] [u8; ARENA_BYTES]);

/// Where the host writes frames.
static ARENA: Only<Arena> = Only(UnsafeCell::new(Arena([0; ARENA_BYTES])));

fn address_and_size(at: *const u8, size: usize) -> i64 {
    (at as i64) << 32 | size as i64
}

pub fn arena() -> i64 {
    address_and_size(ARENA.0.get().cast(), ARENA_BYTES)
}

/// The module's plug-in, which `plugin!` makes.
pub struct Module<P: Plugin>(Only<Instance<P>>);

impl<P: Plugin> Module<P> {
    pub const fn new() -> Module<P> {
        Module(Only(UnsafeCell::new(Instance::new())))
    }

    pub fn call(&self, op: Op, frame: i32) -> i32 {
        if op == Op::Configure {
            // The standard library has nowhere to print a panic.
            std::panic::set_hook(Box::new(|info| {
                let text = match (info.payload().downcast_ref::<&str>(), info.payload().downcast_ref::<String>()) {
                    (Some(text), _) => text,
                    (_, Some(text)) => text.as_str(),
                    _ => "a value that is not a text",
                };
                match info.location() {
                    Some(at) => die(&[text, "\n\tat ", at.file(), ":", &at.line().to_string()]),
                    None => die(&[text]),
                }
            }));
        }
        let arena: *mut u8 = ARENA.0.get().cast();
        // A frame below the arena wraps and is refused.
        let at = (frame as usize).wrapping_sub(arena as usize);
        // The arena is for frames alone, and calls come one after the other.
        unsafe { (*self.0 .0.get()).call(op, arena, at) as i32 }
    }

    pub fn manifest(&self) -> i64 {
        match P::manifest() {
            Ok(m) => {
                let m = Box::leak(m.into_boxed_str()); // the caller is about to read it
                address_and_size(m.as_ptr(), m.len())
            }
            Err(problem) => die(&["tidemark: ", &problem]),
        }
    }
}

/// What `plugin!` becomes in a module: the exports of the calls that its kind has.
#[doc(hidden)]
#[macro_export]
macro_rules! exports {
    ($plugin:ty, $($export:ident $op:ident),+) => {
        const _: () = {
            static MODULE: $crate::raw::Module<$plugin> = $crate::raw::Module::new();

            #[no_mangle]
            extern "C" fn tm_arena() -> i64 {
                $crate::raw::arena()
            }
            #[no_mangle]
            extern "C" fn tm_manifest() -> i64 {
                MODULE.manifest()
            }
            #[no_mangle]
            extern "C" fn tm_configure(frame: i32) -> i32 {
                MODULE.call($crate::inner::Op::Configure, frame)
            }
            $(#[no_mangle]
            extern "C" fn $export(frame: i32) -> i32 {
                MODULE.call($crate::inner::Op::$op, frame)
            })+
        };
    };
}

#[repr(C)]
struct Part {
    at: *const u8,
    len: usize,
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
extern "C" {
    fn fd_write(fd: i32, parts: *const Part, n: usize, written: *mut usize) -> i32;
}

fn print(text: &str) {
    let part = Part { at: text.as_ptr(), len: text.len() };
    let mut written = 0;
    // Whether it could, nobody is left to hear.
    unsafe { fd_write(2, &part, 1, &mut written) };
}

/// Writes a line to the host's log of the call. A host keeps the first and the last 2,048
/// bytes of a call and shows them when it traps; tests print them.
pub fn log(text: &str) {
    print(text);
    print("\n");
}

fn die(parts: &[&str]) -> ! {
    print("panic: ");
    for p in parts {
        print(p);
    }
    print("\n");
    core::arch::wasm32::unreachable()
}

/// Says it when memory runs out; the standard library has nowhere to say it.
struct Memory;

unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        some(System.alloc(layout))
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        some(System.alloc_zeroed(layout))
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        some(System.realloc(at, layout, size))
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        System.dealloc(at, layout)
    }
}

fn some(at: *mut u8) -> *mut u8 {
    if at.is_null() {
        die(&["out of memory"])
    }
    at
}

#[global_allocator]
static MEMORY: Memory = Memory;
