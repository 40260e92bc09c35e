//! A plug-in with a name that hosts do not take.

use tidemark::{Aggregate, Fixed, Refusal};

tidemark::row! { struct Row { n: i64 } }
tidemark::plain! { struct Nothing { n: i64 } }

impl Aggregate for Nothing {
    const NAME: &'static str = "Name";
    const VERSION: &'static str = "1";
    type Record = ();
    type Row = Row;
    type Params = ();
    type Kept = Fixed;
    fn add(&mut self, _: (), _: &()) -> Result<(), Refusal> {
        Ok(())
    }
    fn merge(&mut self, _: Nothing, _: &()) -> Result<(), Refusal> {
        Ok(())
    }
    fn result(&self, _: &()) -> Result<Row, Refusal> {
        Ok(Row { n: self.n })
    }
}

tidemark::plugin!(Nothing);
