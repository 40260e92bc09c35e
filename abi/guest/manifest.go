package guest

import (
	"context"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/internal/fault"
)

// placeholder lets a module that has no manifest yet pass as a plug-in for the one
// call that asks for it.
const placeholder = `{"name":"unnamed","version":"","aggregate":{"inputs":[],` +
	`"outputs":[{"name":"none","type":"int64"}],"accumulator":{"width":8,"schema":1}}}`

// AskManifest runs a module's tm_manifest and returns what it says, unchecked:
// `plugin build` reads it with abi.ParseManifest and writes it into the module with
// binary.WithManifest. A section that the module has is ignored. Errors have class
// fault.ErrUser, or fault.ErrGuest if the module broke down.
func (c *InProcess) AskManifest(ctx context.Context, file []byte) (manifest []byte, err error) {
	m, err := c.Compile(ctx, binary.WithManifest(file, []byte(placeholder)))
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := m.Close(ctx); err == nil {
			err = cerr
		}
	}()
	i, err := m.Instantiate(ctx)
	if err != nil {
		return nil, err
	}
	defer i.Close()
	f := i.mod.ExportedFunction(abi.ExportManifest)
	if f == nil {
		return nil, fault.Userf("does not export %s, so its manifest is not known", abi.ExportManifest)
	}
	if err := i.run(f, 0, 0); err != nil {
		return nil, err
	}
	at, size := uint32(i.stack[0]>>32), uint32(i.stack[0])
	if size > abi.MaxManifestBytes {
		return nil, i.Lie("the manifest has %d bytes, at most %d are allowed", size, abi.MaxManifestBytes)
	}
	text, ok := i.mem.Read(at, size)
	if !ok {
		return nil, i.Lie("the manifest, %d bytes at %d, lies outside the memory", size, at)
	}
	return append([]byte(nil), text...), nil
}
