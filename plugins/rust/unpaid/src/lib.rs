//! A plug-in, a pair function for orders joined with their payments: what of an order a
//! payment leaves open.

use tidemark::{Pair, Paired, Refusal};

tidemark::record! { struct Order { due: f64 } }
tidemark::record! { struct Payment { paid: f64 } }
tidemark::params! { struct Params { tolerance: f64 = 0.0 } }

tidemark::row! {
    struct Rest {
        /// Below 0: too much was paid.
        open: f64,
        waited_ms: Option<i64>,
    }
}

struct Unpaid;

impl Pair for Unpaid {
    const NAME: &'static str = "unpaid";
    const VERSION: &'static str = "1.0.0";

    type Left = Order;
    type Right = Payment;
    type Row = Rest;
    type Params = Params;

    fn pair(pair: &Paired<Self>, p: &Params) -> Result<(), Refusal> {
        let paid = pair.right.record.paid;
        if paid < 0.0 {
            return Err("paid is below 0".into());
        }
        let open = pair.left.record.due - paid;
        if open.abs() <= p.tolerance {
            return Ok(());
        }
        let waited_ms = match (pair.left.time, pair.right.time) {
            (Some(ordered), Some(paid)) => Some(paid.0.wrapping_sub(ordered.0)),
            _ => None,
        };
        pair.emit(Rest { open, waited_ms });
        Ok(())
    }
}

tidemark::plugin!(Unpaid: Pair);

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark::{PairTwin, Refused, Timed};

    fn orders(due: &[f64]) -> Vec<Timed<Order>> {
        due.iter().zip(0..).map(|(&due, i)| Timed::at(1000 * i, Order { due })).collect()
    }

    fn payments(paid: &[f64]) -> Vec<Timed<Payment>> {
        paid.iter().zip(0..).map(|(&paid, i)| Timed::at(1000 * i, Payment { paid })).collect()
    }

    #[test]
    fn what_is_open() {
        let t = PairTwin::<Unpaid>::new(&[("tolerance", 0.5.into())]).unwrap();
        let rest = |open, waited_ms| Rest { open, waited_ms: Some(waited_ms) };
        let want = [rest(6.0, 1000), rest(-7.5, -1000), rest(-2.0, 0)]; // 10 with 9.5 is near enough
        assert_eq!(t.show(&orders(&[10.0, 2.0]), &payments(&[9.5, 4.0])).unwrap(), want);
        t.laws(&orders(&[10.0, 2.0, 7.0]), &payments(&[9.5, 4.0])).unwrap();
    }

    #[test]
    fn nobody_waits_without_times() {
        let t = PairTwin::<Unpaid>::new(&[]).unwrap();
        let (order, payment) = (Order { due: 3.0 }, Payment { paid: 1.0 });
        for (l, r) in [
            (Timed::never(order.clone()), Timed::at(5, payment.clone())),
            (Timed::at(5, order.clone()), Timed::never(payment.clone())),
            (Timed::never(order), Timed::never(payment)),
        ] {
            assert_eq!(t.show(&[l], &[r]).unwrap(), [Rest { open: 2.0, waited_ms: None }]);
        }
    }

    #[test]
    fn a_negative_payment_is_refused() {
        let t = PairTwin::<Unpaid>::new(&[]).unwrap();
        let refused = t.show(&orders(&[10.0]), &payments(&[1.0, -1.0])).unwrap_err();
        assert_eq!(refused, Refused { op: Some(1), message: "paid is below 0".into() });
    }
}
