package exchange

import "sync"

// Mailbox carries messages to a task, which answers them between two batches (K6):
// nothing else ever looks at a task's state. Post is for everyone, the rest for the
// task.
type Mailbox struct {
	mu    sync.Mutex
	mail  []func()
	ended bool
	wake  chan struct{} // a message, or something else that the task waits for
}

// NewMailbox makes an empty mailbox.
func NewMailbox() *Mailbox { return &Mailbox{wake: make(chan struct{}, 1)} }

// maxMail bounds the messages that wait: a task that is inside a call that does not
// return answers none, and whoever asks on must not fill the memory.
const maxMail = 64

// Post has f called by the task. When the task has ended, f is called at once: the
// state is nobody's any more and does not change. It reports false, and does nothing,
// when too many messages wait already.
func (m *Mailbox) Post(f func()) bool {
	m.mu.Lock()
	ended, full := m.ended, len(m.mail) >= maxMail
	if !ended && !full {
		m.mail = append(m.mail, f)
	}
	m.mu.Unlock()
	switch {
	case ended:
		f()
	case full:
		return false
	default:
		m.Notify()
	}
	return true
}

// Notify wakes the task.
func (m *Mailbox) Notify() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Wake is readable after Notify or Post.
func (m *Mailbox) Wake() <-chan struct{} { return m.wake }

// Answer calls what has been posted.
func (m *Mailbox) Answer() {
	m.mu.Lock()
	mail := m.mail
	m.mail = nil
	m.mu.Unlock()
	for _, f := range mail {
		f()
	}
}

// End answers the last messages; later ones find the task ended.
func (m *Mailbox) End() {
	m.mu.Lock()
	m.ended = true
	mail := m.mail
	m.mail = nil
	m.mu.Unlock()
	for _, f := range mail {
		f()
	}
}
