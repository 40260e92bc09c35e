package guest_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

// endless puts a loop that does not end to the start of a function of sum.
func endless(t *testing.T, function string) []byte {
	t.Helper()
	text := wasmtest.Text(t, "sum")
	if function == abi.ExportInitialize {
		text += "func _initialize\n"
	}
	before, rest, ok := strings.Cut(text, "func "+function)
	if !ok {
		t.Fatalf("no function %s", function)
	}
	types, rest, _ := strings.Cut(rest, "\n")
	file, err := wasmtest.Assemble(before + "func " + function + types + "\n  loop br 0 end\n" + rest)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEveryExportHasALimit(t *testing.T) {
	for _, c := range []struct{ function, want string }{
		{abi.ExportInitialize, "used more than 500000000 fuel in _initialize"},
		{abi.ExportArena, "used more than 500000000 fuel in tm_arena"},
		{abi.ExportConfigure, "used more than 501000000 fuel in a call with 1 record in tm_configure"},
		{abi.ExportCreate, "used more than 503000000 fuel in a call with 1 record and 2 accumulators in tm_aggregate_create"},
		{abi.ExportAdd, "used more than 503000000 fuel in a call with 1 record and 2 accumulators in tm_aggregate_add"},
		{abi.ExportMerge, "used more than 503000000 fuel in a call with 1 record and 2 accumulators in tm_aggregate_merge"},
		{abi.ExportResult, "used more than 503000000 fuel in a call with 1 record and 2 accumulators in tm_aggregate_result"},
	} {
		t.Run(c.function, func(t *testing.T) {
			t.Parallel()
			i, err := compile(t, endless(t, c.function)).Instantiate(t.Context())
			for f := guest.Configure; f <= guest.Result && err == nil; f++ {
				put(i, min(int(f), 1)*2, 1)
				_, err = i.Call(f)
			}
			trap, ok := errors.AsType[*guest.Trap](err)
			if !ok || trap.Message != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A call of a job that ends returns, whatever its guest does, and is no trap.
func TestTheEndOfAContextEndsACall(t *testing.T) {
	for _, code := range []string{
		"loop br 0 end",
		"loop call tm_arena drop br 0 end",
		"0 call forever drop",
		"loop 0 0 196608 memory.fill br 0 end",
	} {
		t.Run(code, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			add := "func tm_aggregate_merge f:i32 -> i32 | i:i32 n:i32 a:i32 b:i32\n"
			// The recursion of sum does not end by itself.
			i, err := compile(t, wasmtest.Guest(t, "sum", add, add+"  "+code+"\n",
				"$n 1 i32.add call forever 1 i32.add", "$n 1 i32.add call forever drop loop br 0 end 0",
				"func forever n:i32 -> i32\n", "func forever n:i32 -> i32\n  $n 1000 i32.ge_u if loop br 0 end end\n")).Instantiate(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer i.Close()
			put(i, 0, 1)
			if _, err := i.Call(guest.Configure); err != nil {
				t.Fatal(err)
			}
			why := errors.New("enough")
			cancel(why)
			put(i, 1, 5)
			_, err = i.Call(guest.Merge)
			if _, trap := errors.AsType[*guest.Trap](err); trap || !errors.Is(err, why) || !i.Broken() {
				t.Errorf("got %v, want %v", err, why)
			}
		})
	}
}

func TestFuelIsTheSameEverywhere(t *testing.T) {
	calls := func(values ...int64) (used []int64) {
		i := instance(t)
		for range 3 {
			before := i.Fuel()
			put(i, 2, values...)
			if s, err := i.Call(guest.Add); s != abi.OK || err != nil {
				t.Fatalf("add: %d, %v", s, err)
			}
			used = append(used, i.Fuel()-before)
		}
		return used
	}
	one, two, ten := calls(1), calls(1, 2), calls(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	if one[0] <= 0 || one[0] != one[1] || one[0] != one[2] {
		t.Errorf("a record costs %v", one)
	}
	if each := two[0] - one[0]; each <= 0 || ten[2] != one[2]+9*each {
		t.Errorf("1, 2 and 10 records cost %v, %v and %v", one, two, ten)
	}
	if again := calls(1, 2); again[0] != two[0] {
		t.Errorf("another instance: %v and %v", two, again)
	}
}

func TestHostFunctionsAreCharged(t *testing.T) {
	cost := func(code, function string) int64 {
		_, fuel := callWASI(t, code, function)
		return fuel
	}
	none, one, two := cost("", "clock_time_get"), cost("1 i64.const 1 64 call clock_time_get drop", "clock_time_get"),
		cost("1 i64.const 1 64 call clock_time_get drop 1 i64.const 1 64 call clock_time_get drop", "clock_time_get")
	if one != none+5+100 || two != none+2*(5+100) { // five instructions each
		t.Errorf("no call, one and two cost %d, %d and %d fuel", none, one, two)
	}
	for _, c := range []struct {
		name, function, little, much string
		bytes                        int64 // more in much than in little
	}{
		{"random numbers", "random_get", "64 8 call random_get drop", "64 80008 call random_get drop", 80_000},
		{"printing", "fd_write", "64 1024 i32.store 0 68 8 i32.store 0 2 64 1 72 call fd_write drop",
			"64 1024 i32.store 0 68 8008 i32.store 0 2 64 1 72 call fd_write drop", 8_000},
		{"the list of what is printed", "fd_write", "2 96 1 72 call fd_write drop", "2 96 101 72 call fd_write drop", 800},
		{"waiting", "poll_oneoff", "64 60000 1 1024 call poll_oneoff drop", "64 60000 11 1024 call poll_oneoff drop", 10 * (48 + 32)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := cost(c.much, c.function) - cost(c.little, c.function); got != c.bytes/8 {
				t.Errorf("%d bytes cost %d fuel, want %d", c.bytes, got, c.bytes/8)
			}
		})
	}
}

// Deep recursion ends without the memory that the runtime's own limit takes, 130 MB.
func TestRecursionCostsLittleMemory(t *testing.T) {
	i := instance(t)
	put(i, 1, -9)
	allocated := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	before := allocated()
	if _, err := i.Call(guest.Add); err == nil || !strings.Contains(err.Error(), "stack overflow") {
		t.Fatalf("got %v", err)
	}
	if took := (allocated() - before) >> 20; took > 30 {
		t.Errorf("took %d MiB", took)
	}
}

// The collector stops the world while a guest works that does not end; without fuel
// each stop would last until the end of the call. On a machine that is busy with other
// things some may take long anyway.
func TestTheCollectorIsNotHeldUp(t *testing.T) {
	const most = 0.1 // seconds
	for _, code := range []string{
		"loop br 0 end",
		"loop 33554432 0 33554432 memory.copy br 0 end",
		"loop $g i32.load 0 $g i32.add 1664525 i32.mul 1013904223 i32.add 67108860 i32.and =g br 0 end",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		create := "func tm_aggregate_create f:i32 -> i32\n"
		i, err := compile(t, wasmtest.Guest(t, "sum", "memory 3", "memory 1024", create,
			"func tm_aggregate_create f:i32 -> i32 | g:i32\n  "+code+"\n")).Instantiate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		put(i, 1, 1)
		ended := make(chan error)
		go func() {
			_, err := i.Call(guest.Create)
			ended <- err
		}()
		all, long := stops(most)
		for range 10 {
			runtime.GC()
		}
		allAfter, longAfter := stops(most)
		all, long = allAfter-all, longAfter-long
		cancel()
		if err := <-ended; err == nil || all == 0 || 2*long > all {
			t.Errorf("%s: %d of %d stops took more than %v s; the call ended with %v", code, long, all, most, err)
		}
		i.Close()
	}
}

// stops is how many stops for the collector there were, and how many took longer than
// so many seconds.
func stops(longer float64) (all, long uint64) {
	s := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}}
	metrics.Read(s)
	h := s[0].Value.Float64Histogram()
	for k, count := range h.Counts {
		all += count
		if h.Buckets[k] > longer {
			long += count
		}
	}
	return all, long
}

func TestWhatCannotBeMeteredIsRefused(t *testing.T) {
	// The global behind the module's own would be the fuel.
	file := wasmtest.Guest(t, "sum", "global.get scale i64.eqz if unreachable end", "")
	at := strings.Index(string(file), "\x24\x00") // the first global.set
	file[at+1] = 1
	_, err := compiler(t).Compile(t.Context(), file)
	if err == nil || !strings.Contains(err.Error(), "plug-in sum: function 3: byte ") || !strings.Contains(err.Error(), "global 1, and there are 1") || !errors.Is(err, fault.ErrUser) {
		t.Errorf("got %v", err)
	}
}
