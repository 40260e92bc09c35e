// Package s3 keeps the checkpoints of a job in object storage that speaks S3: one object
// for each file, under a prefix that is the job's alone. It is the only importer of the
// client.
//
// What it needs of the storage: a put with If-None-Match: * that fails if the object is
// there, and listings that show at once what was put. Lock tries the first, since storage
// that does not know the header takes the put, and a second start of a job would then
// publish over the first.
package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"tidemark/engine/checkpoint"
	"tidemark/internal/fault"
)

// Scheme is how the name of a place in object storage begins.
const Scheme = "s3://"

const (
	// partSize and parts are how data goes up: that many pieces at a time, each of them
	// in memory. S3 takes 10,000 pieces of at least 5 MiB.
	partSize = 8 << 20
	parts    = 4
	// maxConflicts is how often a put is tried again that met another one of the same
	// name; one of the two wins each time.
	maxConflicts = 10
	// probe is the object that Lock tries conditional puts with. It stays.
	probe = "probe"
)

// Options say how the storage is reached.
type Options struct {
	// Endpoint is a URL, https://host:port or http://; empty: Amazon's.
	Endpoint string
	// Region is where the bucket is; empty: the storage is asked.
	Region string
	// AccessKey, SecretKey and SessionToken say who asks. Without AccessKey they come
	// from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN),
	// from the file that Amazon's tools keep, or from the machine's role.
	AccessKey, SecretKey, SessionToken string

	tries int // of each request; 0: as many as the client makes by itself
}

// amazon is the endpoint without another one.
const amazon = "https://s3.amazonaws.com"

// Open returns the store in a place, s3://bucket/prefix. It does not connect.
func Open(place string, o Options) (checkpoint.Store, error) {
	rest, ok := strings.CutPrefix(place, Scheme)
	bucket, prefix, _ := strings.Cut(rest, "/")
	prefix = strings.Trim(prefix, "/")
	if !ok || bucket == "" || prefix == "" {
		return nil, fault.Userf("checkpoints in %q: the place must be %sBUCKET/PREFIX, with a prefix that no other job has", place, Scheme)
	}
	if o.Endpoint == "" {
		o.Endpoint = amazon
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, fault.Userf("checkpoints in %s: the endpoint must be https://HOST or http://HOST:PORT, is %q", place, o.Endpoint)
	}
	who := credentials.NewStaticV4(o.AccessKey, o.SecretKey, o.SessionToken)
	if o.AccessKey == "" {
		who = credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}})
	}
	client, err := minio.New(u.Host, &minio.Options{Creds: who, Secure: u.Scheme == "https", Region: o.Region, MaxRetries: o.tries})
	if err != nil {
		return nil, fault.Userf("checkpoints in %s: %w", place, err)
	}
	return &store{client: client, bucket: bucket, prefix: prefix + "/"}, nil
}

type store struct {
	client *minio.Client
	bucket string
	prefix string // ends in a slash
}

func (s *store) Path(name string) string {
	return Scheme + path.Join(s.bucket, s.prefix, name)
}

// codes of the storage that mean something here.
const (
	noSuchKey          = "NoSuchKey"
	noSuchUpload       = "NoSuchUpload" // it has ended meanwhile; gofakes3 also answers so where there never was one
	noSuchBucket       = "NoSuchBucket"
	preconditionFailed = "PreconditionFailed"
	conflict           = "ConditionalRequestConflict"
)

// refused are the codes that trying again does not change.
var refused = []string{noSuchBucket, "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidBucketName"}

// fail classifies an error and says what could not be done, and with what.
func (s *store) fail(doing, name string, err error) error {
	switch code := minio.ToErrorResponse(err).Code; {
	case code == noSuchKey, code == noSuchUpload:
		return checkpoint.ErrMissing
	case slices.Contains(refused, code):
		return fault.Userf("%s checkpoint file %s: %w", doing, s.Path(name), err)
	}
	return fault.Externalf("%s checkpoint file %s: %w", doing, s.Path(name), err)
}

// Create collects the first part. What is larger is uploaded in the background from then
// on.
func (s *store) Create(ctx context.Context, name string) (checkpoint.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, s.fail("create", name, err)
	}
	return &object{ctx: ctx, store: s, name: name}, nil
}

// object is an object being written.
type object struct {
	ctx   context.Context // of the upload, which lasts until Close
	store *store
	name  string
	small []byte         // as long as there is no more than this
	w     *io.PipeWriter // to the upload, whose goroutine ends in Close or Abort
	done  chan error
}

func (o *object) Write(p []byte) (int, error) {
	if o.w == nil && len(o.small)+len(p) <= partSize {
		o.small = append(o.small, p...)
		return len(p), nil
	}
	if o.w == nil {
		o.upload()
		if _, err := o.w.Write(o.small); err != nil {
			return 0, err
		}
		o.small = nil
	}
	return o.w.Write(p)
}

// upload begins the upload. Parts carry their MD5, which every storage checks, and are
// not signed with SHA-256 too.
func (o *object) upload() {
	var r *io.PipeReader
	r, o.w = io.Pipe()
	o.done = make(chan error, 1)
	go func() {
		_, err := o.store.client.PutObject(o.ctx, o.store.bucket, o.store.prefix+o.name, r, -1, minio.PutObjectOptions{
			PartSize: partSize, NumThreads: parts, ConcurrentStreamParts: true, DisableContentSha256: true, SendContentMd5: true,
		})
		if err != nil {
			err = o.store.fail("upload", o.name, err)
			_ = r.CloseWithError(err) // whoever writes on learns why; it returns no error
		}
		o.done <- err
	}()
}

func (o *object) Close() error {
	if o.w == nil {
		return o.store.put(o.ctx, o.name, o.small, minio.PutObjectOptions{})
	}
	_ = o.w.Close() // it returns no error
	return <-o.done
}

var errAborted = errors.New("the checkpoint is given up")

func (o *object) Abort() {
	if o.w != nil {
		_ = o.w.CloseWithError(errAborted) // it returns no error
		<-o.done                           // which is that
	}
}

func (s *store) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	var ifAbsent minio.PutObjectOptions
	ifAbsent.SetMatchETagExcept("*")
	return s.put(ctx, name, data, ifAbsent)
}

// put puts an object in one piece, which carries its MD5.
func (s *store) put(ctx context.Context, name string, data []byte, o minio.PutObjectOptions) error {
	o.DisableMultipart, o.DisableContentSha256, o.SendContentMd5 = true, true, true
	for try := 0; ; try++ {
		_, err := s.client.PutObject(ctx, s.bucket, s.prefix+name, bytes.NewReader(data), int64(len(data)), o)
		switch code := minio.ToErrorResponse(err).Code; {
		case err == nil:
			return nil
		case code == preconditionFailed:
			return checkpoint.ErrExists
		case code == conflict && try < maxConflicts && ctx.Err() == nil:
			continue
		}
		return s.fail("put", name, err)
	}
}

func (s *store) Open(ctx context.Context, name string) (checkpoint.Blob, error) {
	o, err := s.client.GetObject(ctx, s.bucket, s.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, s.fail("open", name, err)
	}
	info, err := o.Stat()
	if err != nil {
		_ = o.Close() // nothing was written
		return nil, s.fail("open", name, err)
	}
	return &blob{o, info.Size}, nil
}

type blob struct {
	*minio.Object
	size int64
}

func (b *blob) Size() int64 { return b.size }

func (s *store) List(ctx context.Context, prefix string) ([]string, error) {
	listing, cancel := context.WithCancel(ctx) // ends what lists in the background
	defer cancel()
	var names []string
	for o := range s.client.ListObjectsIter(listing, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, s.fail("list", prefix+"*", o.Err)
		}
		names = append(names, strings.TrimPrefix(o.Key, s.prefix))
	}
	if err := ctx.Err(); err != nil { // the list ends early then, without a word
		return nil, s.fail("list", prefix+"*", err)
	}
	slices.Sort(names)
	return names, nil
}

// Delete also removes what an upload that failed may have left under a name.
func (s *store) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		err := s.client.RemoveObject(ctx, s.bucket, s.prefix+name, minio.RemoveObjectOptions{})
		if err == nil {
			err = s.client.RemoveIncompleteUpload(ctx, s.bucket, s.prefix+name)
		}
		if err == nil {
			continue
		}
		if err = s.fail("remove", name, err); !errors.Is(err, checkpoint.ErrMissing) {
			return err
		}
	}
	return nil
}

// Lock cannot tell who lives: the claim that follows fences whoever does. It checks that
// the storage does what claims rest on, and removes what ended processes have left of
// uploads; one that still runs fails, which is where it is headed anyway.
func (s *store) Lock(ctx context.Context) (io.Closer, error) {
	for range 2 {
		err := s.PutIfAbsent(ctx, probe, []byte("see whether If-None-Match: * is known"))
		if errors.Is(err, checkpoint.ErrExists) {
			return unlocked{}, s.removeUploads(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, fault.Userf("checkpoints in %s: the object storage does not know conditional puts (If-None-Match: *), without which two processes could write the checkpoints of one job: choose another one, or a directory", s.Path(""))
}

type unlocked struct{}

func (unlocked) Close() error { return nil }

func (s *store) removeUploads(ctx context.Context) error {
	listing, cancel := context.WithCancel(ctx) // ends what lists in the background
	defer cancel()
	for u := range s.client.ListIncompleteUploads(listing, s.bucket, s.prefix, true) {
		err := u.Err
		if err == nil {
			err = s.client.RemoveIncompleteUpload(ctx, s.bucket, u.Key)
		}
		if err == nil {
			continue
		}
		if err = s.fail("remove unfinished uploads of", strings.TrimPrefix(u.Key, s.prefix), err); !errors.Is(err, checkpoint.ErrMissing) {
			return err
		}
	}
	return ctx.Err() // the list ends early then, without a word
}

var _ checkpoint.Store = (*store)(nil)
