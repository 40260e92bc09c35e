package stream

// Window is a half-open range [Start, End) of event time. A global window is
// [MinTime, MaxTime].
type Window struct{ Start, End Time }

// Global is the one window that holds everything (S39).
var Global = Window{MinTime, MaxTime}

// MaxTimestamp is M(w), the highest timestamp that belongs to the window (S38).
func (w Window) MaxTimestamp() Time {
	if w == Global {
		return MaxTime
	}
	return w.End - 1
}

// Cleanup is the time from which on the window's state is gone: M(w) plus the
// allowed lateness, saturating (S40). MaxTime means never.
func (w Window) Cleanup(lateness Time) Time { return w.MaxTimestamp().Add(lateness) }
