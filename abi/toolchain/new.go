package toolchain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tidemark/internal/env"
	"tidemark/internal/fault"
	"tidemark/sdk"
)

// validName is the rule for a plug-in's name (abi/SPEC.md, section 2), which is the
// project's too.
var validName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// kinds are the kinds of plug-ins that a project can be of, the usual one first.
var kinds = [...]string{"aggregate", "process", "pair", "map", "watermark", "trigger", "assigner"}

// Kinds names the kinds of plug-ins of which New writes projects in a language that
// Languages names, the usual one first.
func Kinds(lang string) []string {
	var names []string
	for _, kind := range kinds {
		if _, err := fs.Stat(sdk.Files, path.Join("template", lang, kind)); err == nil {
			names = append(names, kind)
		}
	}
	return names
}

// New writes a project for a plug-in of a kind into dir, whose last element is the
// plug-in's name. The directory must be new or empty. Errors of the caller have class
// fault.ErrUser.
func New(files env.FS, lang, kind, dir string) error {
	if _, err := named(lang); err != nil {
		return err
	}
	if known := Kinds(lang); !slices.Contains(known, kind) {
		return fault.Userf("kind %q: a new plug-in in %s is one of %s", kind, lang, strings.Join(known, ", "))
	}
	name := filepath.Base(filepath.Clean(dir))
	if !validName.MatchString(name) {
		return fault.Userf("name %q: a plug-in's name has lower-case letters, digits, _ and -, a letter first, at most 63", name)
	}
	switch entries, err := files.ReadDir(dir); {
	case err == nil && len(entries) > 0:
		return fault.Userf("directory %s is not empty", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fault.Userf("directory %s: %w", dir, err)
	}
	project, err := projectFiles(lang, kind, name)
	if err != nil {
		return err
	}
	for _, f := range project {
		at := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := files.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			return fault.Userf("make directory %s: %w", filepath.Dir(at), err)
		}
		if err := write(files, at, f.content); err != nil {
			return err
		}
	}
	return nil
}

// projectFile is a file of a new project, by its slash-separated path in it.
type projectFile struct {
	path    string
	content []byte
}

// projectFiles gives the files of a new project: those of all templates of the language,
// those of the kind, and the SDK in sdk/.
func projectFiles(lang, kind, name string) ([]projectFile, error) {
	var out []projectFile
	fill := strings.NewReplacer("{{name}}", name)
	templates := path.Join("template", lang)
	err := fs.WalkDir(sdk.Files, templates, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path.Dir(at) == templates && path.Base(at) != kind {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		content, err := sdk.Files.ReadFile(at)
		if err != nil {
			return err
		}
		to := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(at, templates+"/"), kind+"/"), ".tmpl")
		switch to {
		case "gitignore":
			to = ".gitignore"
		case "sdk.mod":
			to = "sdk/go.mod"
		}
		out = append(out, projectFile{to, []byte(fill.Replace(string(content)))})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("BUG: templates of %s: %w", lang, err)
	}
	sources, err := sdkFiles(lang)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		out = append(out, projectFile{path.Join("sdk", s.path), s.content})
	}
	return out, nil
}

// write makes a file with some content.
func write(files env.FS, name string, content []byte) error {
	f, err := files.Create(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return fault.Userf("write %s: %w", name, err)
	}
	_, err = f.Write(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fault.Externalf("write %s: %w", name, err)
	}
	return nil
}
