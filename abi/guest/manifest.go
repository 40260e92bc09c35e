package guest

import (
	"bytes"
	"context"
	"slices"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/internal/fault"
)

// kinds are members of a manifest, each with a call that only modules of its kind export.
var kinds = [...]struct{ export, member string }{
	{abi.ExportProcess, `"process":{"inputs":[],"outputs":[{"name":"none","type":"int64"}]}`},
	{abi.ExportPair, `"pair":{"left":[],"right":[],"outputs":[{"name":"none","type":"int64"}]}`},
	{abi.ExportMap, `"map":{"inputs":[],"outputs":[{"name":"none","type":"int64"}]}`},
	{abi.ExportWatermark, `"watermark":{"inputs":[]}`},
	{abi.ExportTrigger, `"trigger":{"inputs":[]}`},
	{abi.ExportAssign, `"assigner":{"inputs":[]}`},
}

// placeholder is a manifest that lets a module that has none yet pass as a plug-in, for
// the one call that asks for it: of a kind whose calls the module exports, or of an
// aggregate, which is what a module that exports none lacks.
func placeholder(file []byte) []byte {
	member := `"aggregate":{"inputs":[],"outputs":[{"name":"none","type":"int64"}],"accumulator":{"width":8,"schema":1}}`
	if m, err := binary.Read(bytes.NewReader(file)); err == nil { // what is no module is said by whoever compiles it
		for _, k := range kinds {
			if slices.ContainsFunc(m.Exports, func(e binary.Export) bool { return e.Name == k.export }) {
				member = k.member
			}
		}
	}
	return []byte(`{"name":"unnamed","version":"",` + member + `}`)
}

// AskManifest runs a module's tm_manifest and returns what it says, unchecked:
// `plugin build` reads it with abi.ParseManifest and writes it into the module with
// binary.WithManifest. A section that the module has is ignored. Errors have class
// fault.ErrUser, or fault.ErrGuest if the module broke down.
func (c *InProcess) AskManifest(ctx context.Context, file []byte) (manifest []byte, err error) {
	m, err := c.Compile(ctx, binary.WithManifest(file, placeholder(file)))
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
