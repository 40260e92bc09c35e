// Package watermark decides how far event time has advanced: generators make
// watermarks from timestamps, combiners join those of several inputs. It starts no
// goroutine and reads no clock; the source task and the keyed task call it.
package watermark
