#!/bin/sh
# Fetches or builds the modules of the survey in docs/limits.md and prints its table.
# Needs Go, and npm for packages that others publish; nothing of these is run.
#
#   sh scripts/survey.sh DIRECTORY
set -eu

dir=${1:?"usage: sh scripts/survey.sh DIRECTORY, which keeps the modules"}
here=$(pwd)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
set --

# Our own, in every language.
make -s build guests
for f in bin/plugins/stats.wasm bin/plugins/alerts.wasm; do
	set -- "$@" "plugins/$(basename "$f" .wasm), Go=$f"
done
for lang in c rust assemblyscript; do
	set -- "$@" "plugins/$lang/top_k=internal/wasmtest/built/$lang/top_k.wasm"
done

# In Go with more and more of its library.
go_guest() { # name, imports, code
	rm -rf "$dir/$1"
	"$here/bin/tidemark" plugin new --lang go "$dir/$1" 2>/dev/null
	{
		echo "package main"
		for package in $2; do echo "import \"$package\""; done
		echo "var sink = func() any { $3 }()"
	} >"$dir/$1/more.go"
	"$here/bin/tidemark" plugin build "$dir/$1" >/dev/null
}
go_guest text "fmt sort strings strconv" \
	'xs := strings.Fields("b a"); sort.Strings(xs); n, _ := strconv.ParseFloat("1", 64); return fmt.Sprintf("%v %g", xs, n)'
go_guest json "encoding/json regexp time" \
	'var v any; _ = json.Unmarshal([]byte("{}"), &v); b, _ := json.Marshal(v); t, _ := time.Parse(time.RFC3339, "2024-01-01T00:00:00Z"); return []any{b, t, regexp.MustCompile("a+(b|c)*").MatchString("ab")}'
go_guest large "encoding/xml text/template math/big compress/gzip crypto/sha256 bytes net/url" \
	'var b bytes.Buffer; _ = template.Must(template.New("x").Parse("{{.}}")).Execute(&b, 1); w := gzip.NewWriter(&b); w.Close(); h := sha256.Sum256(b.Bytes()); u, _ := url.Parse("a"); var v struct{ A int }; _ = xml.Unmarshal(b.Bytes(), &v); return []any{h, u, new(big.Int).Exp(big.NewInt(3), big.NewInt(4), nil)}'
set -- "$@" "Go with fmt, sort, strconv=$dir/text/text.wasm" "Go with encoding/json, regexp, time=$dir/json/json.wasm" \
	"Go with encoding/xml, text/template, math/big, gzip, url=$dir/large/large.wasm"

# Of others: package and version, file.
while read -r package file; do
	at="$dir/npm/$package"
	if [ ! -f "$at/package/$file" ]; then
		mkdir -p "$at"
		(cd "$at" && tar xzf "$(npm pack --silent "$package" | tail -1)")
	fi
	set -- "$@" "$package=$at/package/$file"
done <<'PACKAGES'
argon2-browser@1.18.0 dist/argon2.wasm
@automerge/automerge@3.5.0 dist/automerge.wasm
blake3-wasm@3.0.0 dist/wasm/blake3.wasm
brotli-wasm@3.0.1 pkg.node/brotli_wasm_bg.wasm
@bokuweb/zstd-wasm@0.0.27 dist/common/zstd.wasm
@dimforge/rapier2d@0.21.0 rapier_wasm2d_bg.wasm
esbuild-wasm@0.28.2 esbuild.wasm
harfbuzzjs@1.6.4 dist/harfbuzz-subset.wasm
@jitl/quickjs-wasmfile-release-sync@0.32.0 dist/emscripten-module.wasm
jq-web@0.6.2 jq.wasm
@jsquash/jpeg@1.6.0 codec/enc/mozjpeg_enc.wasm
@jsquash/png@3.1.1 codec/pkg/squoosh_png_bg.wasm
lightningcss-wasm@1.33.0 lightningcss_node.wasm
lz4-wasm@0.9.2 lz4_wasm_bg.wasm
mediainfo.js@0.3.8 dist/MediaInfoModule.wasm
re2-wasm@1.0.2 build/wasm/re2.wasm
@resvg/resvg-wasm@2.6.2 index_bg.wasm
@rollup/wasm-node@4.68.4 dist/wasm-node/bindings_wasm_bg.wasm
source-map@0.8.0 lib/mappings.wasm
sql.js@1.17.0 dist/sql-wasm.wasm
@sqlite.org/sqlite-wasm@3.41.2+build.1 sqlite-wasm/jswasm/sqlite3.wasm
tiktoken@1.0.22 lite/tiktoken_bg.wasm
tree-sitter-go@0.25.0 tree-sitter-go.wasm
tree-sitter-javascript@0.25.0 tree-sitter-javascript.wasm
vscode-oniguruma@2.0.1 release/onig.wasm
web-tree-sitter@0.27.2 web-tree-sitter.wasm
yoga-wasm-web@0.3.3 dist/yoga.wasm
PACKAGES

go run ./scripts/survey "$@"
