package guest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"tidemark/abi"
	"tidemark/abi/meter"
	"tidemark/internal/fault"
)

// Trap says that a guest broke down, or broke the ABI. Its class is
// fault.ErrGuest.
type Trap struct {
	// Op is the guest's field op, unchecked; abi.NoOp when it is not known.
	Op uint32
	// Message is for the plug-in's author: what the guest printed before it ended,
	// else the reason and the functions that it was in. At most abi.MaxMessage bytes.
	Message string
}

func (t *Trap) Error() string { return t.Message }

// Unwrap gives the error its class.
func (t *Trap) Unwrap() error { return fault.ErrGuest }

// maxFrames bounds how many functions a message names.
const maxFrames = 5

// newTrap takes the one useful line and the names out of the runtime's report, and
// the guest's own words where it had any.
func newTrap(err error, printed string) *Trap {
	reason, stack, _ := strings.Cut(err.Error(), "\nwasm stack trace:\n")
	reason = strings.TrimSuffix(strings.TrimPrefix(reason, "wasm error: "), " (recovered by wazero)")
	exit, exited := errors.AsType[*sys.ExitError](err)
	if exited {
		reason = fmt.Sprintf("exit with status %d", exit.ExitCode())
	}
	// Behind its message a Go guest prints the stack of each goroutine; where its
	// runtime itself gave up, as for want of memory, the runtime's own stack first.
	printed, _, _ = strings.Cut(printed, "\n\ngoroutine ")
	printed, _, _ = strings.Cut(printed, "\n\nruntime stack:")
	printed = strings.TrimSpace(printed)

	text := printed
	switch {
	case printed == "":
		text = reason
		if names := functions(stack); len(names) > 0 {
			text += " in " + strings.Join(names, ", called by ")
		}
	case !exited && reason != "unreachable": // these two are how a panic ends
		text += " (" + reason + ")"
	}
	return &Trap{Op: abi.NoOp, Message: strings.ToValidUTF8(text[:min(len(text), abi.MaxMessage)], "")}
}

// functions returns the innermost names of a stack trace, whose lines look like
// "\t.name(i32,i32) i32".
func functions(stack string) []string {
	var names []string
	for line := range strings.Lines(stack) {
		name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "."), "(")
		if ok && name != "" && name != meter.Module+"."+meter.Yield && len(names) < maxFrames {
			names = append(names, name)
		}
	}
	return names
}
