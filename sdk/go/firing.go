package tidemark

// Firing is what a process function is shown: one firing of a window of a key. It means
// nothing after the function returns.
type Firing struct {
	*firingData
	answer
	p *ProcessFunction
}

func (f *Firing) slot(what uint32) uint32 {
	if what == windowState {
		return f.window
	}
	return f.key
}

func (f *Firing) entries() *answer { return &f.answer }

// Row names the values of the function's Inputs.
func (f *Firing) Row() Row { return Row{f.i} }

// Start and End bound the window: it holds times from Start up to, not including, End. A
// global window holds all times.
func (f *Firing) Start() Timestamp { return f.start }

// End is the first time that the window does not hold.
func (f *Firing) End() Timestamp { return f.firingData.end }

// Watermark is how far event time was when the window fired.
func (f *Firing) Watermark() Timestamp { return f.watermark }

// Now is the host's clock. Rows that depend on it differ from run to run.
func (f *Firing) Now() Timestamp { return f.now }

// Revision counts the earlier firings of the window: above 0 this one is an update.
func (f *Firing) Revision() int { return int(f.revision) }

// Emit begins a row of the results. The one that was begun before is complete: to set a
// column of it is a mistake, which ends the call.
func (f *Firing) Emit() *Out { return f.begin(0, f.p.spec.Outputs) }

// Emit begins a row of the side output.
func (s *SideOutput) Emit(f *Firing) *Out { return f.begin(s.number, s.outputs) }

// put answers the states that the function has set.
func (f *Firing) put() {
	for _, s := range [...]State{f.p.spec.KeyState, f.p.spec.WindowState} {
		if s != nil {
			s.state().leave(f)
		}
	}
}
