package abi

// WASIModule is the only module that a guest may import from (SPEC section 7).
const WASIModule = "wasi_snapshot_preview1"

// Errno is an error number of WASI.
type Errno uint32

// The error numbers that the host answers with.
const (
	ErrnoSuccess Errno = 0
	ErrnoBadF    Errno = 8
	ErrnoFault   Errno = 21
	ErrnoInval   Errno = 28
)

// ClockStart is what every clock of a fresh instance shows, in nanoseconds.
const ClockStart = 1_000_000_000

// WASIFunc is a function that a guest may import. Its type in short: i and l stand
// for parameters of type i32 and i64; all but proc_exit answer an i32.
type WASIFunc struct {
	Name   string
	params string
}

// Type returns the function's type.
func (f WASIFunc) Type() FuncType {
	t := FuncType{Params: make([]ValType, len(f.params))}
	for i, p := range f.params {
		t.Params[i] = I32
		if p == 'l' {
			t.Params[i] = I64
		}
	}
	if f.Name != "proc_exit" {
		t.Results = []ValType{I32}
	}
	return t
}

// WASI returns the functions that a guest may import. Those with an answer of their
// own come first; the rest, on descriptors, paths and sockets, answer EBADF.
func WASI() []WASIFunc {
	return []WASIFunc{
		{"args_get", "ii"},
		{"args_sizes_get", "ii"},
		{"clock_time_get", "ili"},
		{"environ_get", "ii"},
		{"environ_sizes_get", "ii"},
		{"fd_write", "iiii"},
		{"poll_oneoff", "iiii"},
		{"proc_exit", "i"},
		{"random_get", "ii"},
		{"sched_yield", ""},

		{"fd_advise", "illi"},
		{"fd_allocate", "ill"},
		{"fd_close", "i"},
		{"fd_datasync", "i"},
		{"fd_fdstat_get", "ii"},
		{"fd_fdstat_set_flags", "ii"},
		{"fd_fdstat_set_rights", "ill"},
		{"fd_filestat_get", "ii"},
		{"fd_filestat_set_size", "il"},
		{"fd_filestat_set_times", "illi"},
		{"fd_pread", "iiili"},
		{"fd_prestat_dir_name", "iii"},
		{"fd_prestat_get", "ii"},
		{"fd_pwrite", "iiili"},
		{"fd_read", "iiii"},
		{"fd_readdir", "iiili"},
		{"fd_renumber", "ii"},
		{"fd_seek", "ilii"},
		{"fd_sync", "i"},
		{"fd_tell", "ii"},
		{"path_create_directory", "iii"},
		{"path_filestat_get", "iiiii"},
		{"path_filestat_set_times", "iiiilli"},
		{"path_link", "iiiiiii"},
		{"path_open", "iiiiillii"},
		{"path_readlink", "iiiiii"},
		{"path_remove_directory", "iii"},
		{"path_rename", "iiiiii"},
		{"path_symlink", "iiiii"},
		{"path_unlink_file", "iii"},
		{"sock_accept", "iii"},
		{"sock_recv", "iiiiii"},
		{"sock_send", "iiiii"},
		{"sock_shutdown", "ii"},
	}
}
