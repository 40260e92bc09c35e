//! A plug-in, a function of single records: of a record with the path of a URL it makes one
//! for each section that the path lies in, so that counts of sections include what is below
//! them.
//!
//! "/blog/2015/cats.html" lies in "/", "/blog" and "/blog/2015". Paths that do not begin with
//! a slash are not of this server, and give none.

use tidemark::{Map, Mapped, Refusal};

tidemark::record! { struct Request<'a> { path: &'a str } }
tidemark::row! { struct Section<'a> { section: &'a str, level: i64 } }
tidemark::params! { struct Params { depth: i64 = 3 } }

struct Sections;

impl Map for Sections {
    const NAME: &'static str = "sections";
    const VERSION: &'static str = "1.0.0";

    type Record = Request<'static>;
    type Row = Section<'static>;
    type Params = Params;

    fn configure(p: &Params) -> Result<(), Refusal> {
        match p.depth {
            1..=100 => Ok(()),
            _ => Err("depth must be from 1 to 100".into()),
        }
    }

    fn map(m: &Mapped<Self>, p: &Params) -> Result<(), Refusal> {
        let path = m.record.path;
        if !path.starts_with('/') {
            return Ok(());
        }
        let path = path.split(['?', '#']).next().unwrap_or(path);
        m.emit(Section { section: "/", level: 0 });
        let mut level = 1;
        for (end, _) in path.match_indices('/').skip(1) {
            if level >= p.depth {
                break;
            }
            // Of two slashes behind one another, the second begins a section without a name.
            if !path[..end].ends_with('/') {
                m.emit(Section { section: &path[..end], level });
                level += 1;
            }
        }
        Ok(())
    }
}

tidemark::plugin!(Sections: Map);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::{MapTwin, Timed};

    fn requests<'a>(paths: &[&'a str]) -> Vec<Timed<Request<'a>>> {
        paths.iter().map(|&path| Timed::at(0, Request { path })).collect()
    }

    #[test]
    fn paths_lie_in_sections() {
        for (path, depth, want) in [
            ("/", 3, &["/"][..]),
            ("/index.html", 3, &["/"]),
            ("/blog/2015/cats.html", 3, &["/", "/blog", "/blog/2015"]),
            ("/blog/2015/05/cats.html", 3, &["/", "/blog", "/blog/2015"]),
            ("/blog/2015/05/cats.html", 1, &["/"]),
            ("/blog//2015/cats.html", 3, &["/", "/blog", "/blog//2015"]),
            ("//blog/", 3, &["/", "//blog"]),
            ("/blog/?next=/a/b/c", 5, &["/", "/blog"]),
            ("/blog/#/a", 5, &["/", "/blog"]),
            ("/ä/ö/", 9, &["/", "/ä", "/ä/ö"]),
            ("http://elsewhere/", 3, &[]),
            ("", 3, &[]),
        ] {
            let t = MapTwin::<Sections>::new(&[("depth", depth.into())]).unwrap();
            let want: Vec<Section> = want.iter().zip(0..).map(|(&section, level)| Section { section, level }).collect();
            assert_eq!(t.show(&requests(&[path])).unwrap(), [want], "{}, depth {}", path, depth);
        }
    }

    #[test]
    fn laws() {
        let t = MapTwin::<Sections>::new(&[]).unwrap();
        t.laws(&requests(&["/a/b/c", "", "/", "/a//b/c/d", "x"])).unwrap();
    }

    #[test]
    fn depth_is_bounded() {
        for depth in [0, 101] {
            let refused = MapTwin::<Sections>::new(&[("depth", depth.into())]).err().unwrap();
            assert_eq!(refused.message, "depth must be from 1 to 100");
        }
    }
}
