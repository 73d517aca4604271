//! How are claims and totals written for programs?
//!
//! Risks are rounded up; the exact fraction is given next to each, or two decimals that enclose it if it is too long to read.

use serde_json::{Map, Value, json};

use crate::math::exact::{Rational, decimal_at_least, decimal_at_most};
use crate::model::finding::{
    Amount, Claim, ClaimSubject, Datum, Finding, MOST_DIGITS, ROUNDED_PLACES, Total,
};

/// Values of a point that a manifest lists one by one.
const MOST_VALUES: usize = 1000;

/// The risks of a finding as `points` of a manifest. Of a point with more values than [`MOST_VALUES`], those nearest to the
/// limit and all that are not safe are listed; one object stands for the others.
pub fn points(finding: &Finding, column: Option<&String>) -> Vec<Value> {
    let mut of_requirement: Vec<(&Claim, Vec<(usize, &Claim)>)> = Vec::new();
    for (place, claim) in finding.risks().enumerate() {
        let same = |(first, _): &&mut (&Claim, _)| {
            claim.is_of_values()
                && first.subject.named().map(|own| own.0) == claim.subject.named().map(|own| own.0)
                && (&first.knows, &first.limit) == (&claim.knows, &claim.limit)
        };
        match of_requirement.iter_mut().find(same) {
            Some((_, claims)) => claims.push((place, claim)),
            None => of_requirement.push((claim, vec![(place, claim)])),
        }
    }
    let mut listed: Vec<(usize, Value)> = Vec::new();
    for (_, mut claims) in of_requirement {
        let risk = |claim: &Claim| claim.measured.amount.at_least().unwrap_or(f64::INFINITY);
        if claims.len() > MOST_VALUES {
            claims.sort_by(|(one, a), (other, b)| {
                let order = (a.is_safe(), b.is_safe());
                order.0.cmp(&order.1).then_with(|| risk(b).total_cmp(&risk(a))).then(one.cmp(other))
            });
            let unsafe_ones = claims.iter().filter(|(_, claim)| !claim.is_safe()).count();
            let others = claims.split_off(MOST_VALUES.max(unsafe_ones).min(claims.len()));
            if let Some((place, worst)) = others.first() {
                listed.push((*place, summary(worst, others.len(), column)));
            }
        }
        listed.extend(claims.into_iter().map(|(place, claim)| (place, point(claim, column))));
    }
    listed.sort_by_key(|(place, _)| *place);
    listed.into_iter().map(|(_, value)| value).collect()
}

/// The values of a point that are no nearer to its limit than `worst`, which is one of them.
fn summary(worst: &Claim, values: usize, column: Option<&String>) -> Value {
    let mut object = fields(worst, fraction);
    if let Some((kind, _)) = worst.subject.named() {
        object.remove(kind);
        object.insert(format!("other_{kind}s"), json!(values));
    }
    object.insert("safe".to_string(), worst.is_safe().into());
    object.extend(column.map(|column| ("column".to_string(), json!(column))));
    object.into()
}

/// A claim as an element of `points` in a manifest: with its evidence, without anything that depends on the original.
pub fn point(claim: &Claim, column: Option<&String>) -> Value {
    let mut object = fields(claim, fraction);
    object.extend(claim.evidence.iter().map(|(name, datum)| (name.to_string(), value(datum))));
    object.insert("safe".to_string(), claim.is_safe().into());
    object.extend(column.map(|column| ("column".to_string(), json!(column))));
    object.into()
}

/// The subject of a claim, the adversary's knowledge, the result and the requirement. `exact` writes a fraction or
/// leaves it out. Anything that depends on the original is left out.
pub fn fields(claim: &Claim, exact: impl Fn(&Rational) -> Option<String>) -> Map<String, Value> {
    let mut object = Map::new();
    object.extend(claim.subject.named().map(|(kind, name)| (kind.to_string(), json!(name))));
    object.extend(claim.knows.iter().map(|(name, datum)| (name.to_string(), value(datum))));
    object.insert(claim.limit.name.to_string(), claim.limit.value.to_string().into());
    let measured = &claim.measured;
    let fraction = match &measured.amount {
        Amount::Exact(fraction) => exact(fraction),
        Amount::AtMost(_) => None,
        Amount::Count(_) | Amount::Between(..) | Amount::Unknown => return object,
    };
    object.insert(measured.name.to_string(), json!(measured.amount.at_least()));
    object.insert(format!("{}_exact", measured.name), json!(fraction));
    object
}

/// The claims that rule out every release of a table: those that do not even hold for all people in one group.
pub fn obstacles(findings: &[Finding]) -> Vec<Value> {
    let of_column = |finding: &Finding| {
        finding.failing().map(|claim| obstacle(claim, &finding.column)).collect::<Vec<_>>()
    };
    findings.iter().flat_map(of_column).collect()
}

/// A claim that rules out every release of a table.
fn obstacle(claim: &Claim, column: &str) -> Value {
    let mut object = match (&claim.subject, &claim.measured.amount) {
        (ClaimSubject::Size(what), Amount::Count(has)) => {
            let needs = u64::try_from(claim.limit.value.numerator().clone()).unwrap_or(u64::MAX);
            json!({"too_few": what, "has": has, "needs": needs})
        }
        _ => {
            let mut object = fields(claim, |_| None);
            object.remove(&format!("{}_exact", claim.measured.name));
            object.into()
        }
    };
    object["column"] = json!(column);
    object
}

/// A total as a JSON object.
pub fn total(total: &Total) -> Value {
    let fields = total.fields.iter();
    Value::Object(fields.map(|(name, datum)| (name.to_string(), value(datum))).collect())
}

/// A datum; fractions that are too long are enclosed.
pub fn value(datum: &Datum) -> Value {
    match datum {
        Datum::Nothing => Value::Null,
        Datum::Flag(flag) => json!(flag),
        Datum::Count(count) => json!(count),
        Datum::Number(number) => json!(number),
        Datum::Decimal(decimal) => json!(decimal),
        Datum::Fraction(own) => json!(fraction(own)),
        Datum::Text(text) => json!(text),
        Datum::List(items) => items.iter().map(value).collect(),
        Datum::Fields(fields) => {
            Value::Object(fields.iter().map(|(name, datum)| (name.clone(), value(datum))).collect())
        }
    }
}

fn fraction(fraction: &Rational) -> Option<String> {
    let text = fraction.to_string();
    Some(match text.len() <= MOST_DIGITS {
        true => text,
        false => {
            let [low, high] =
                [decimal_at_most, decimal_at_least].map(|rounded| rounded(fraction, ROUNDED_PLACES));
            format!("between {low} and {high}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::{parse_fraction, ratio};
    use crate::model::finding::{ClaimVerdict, Limit, Measurement, Side};

    fn claim(value: u64, verdict: ClaimVerdict) -> Claim {
        Claim {
            subject: ClaimSubject::Value(format!("v{value}")),
            knows: vec![("l", Datum::Count(1))],
            measured: Measurement { name: "breach", amount: Amount::Exact(ratio(1, 10_000 - value)) },
            limit: Limit { name: "confidence", side: Side::Below, value: ratio(1, 2) },
            verdict,
            ..Claim::minimum("people", 3, 2)
        }
    }

    #[test]
    fn a_fraction_that_is_too_long_is_enclosed() {
        assert_eq!(fraction(&ratio(2, 3)).as_deref(), Some("2/3"));
        let long = ratio(2, 3).pow(400);
        let text = fraction(&long).unwrap();
        let ends: Vec<Rational> = text
            .strip_prefix("between ")
            .unwrap()
            .split(" and ")
            .map(|end| parse_fraction(end).unwrap())
            .collect();
        assert!(ends[0] <= long && long <= ends[1] && &ends[1] - &ends[0] < ratio(1, 10).pow(29), "{text}");
    }

    #[test]
    fn values_far_from_the_limit_are_summarized_and_none_is_lost() {
        let all = |n: u64| (0..n).map(|value| claim(value, ClaimVerdict::Safe)).collect::<Vec<_>>();
        let few = points(&Finding::new("c", "skyline", all(1000)), None);
        assert_eq!(few.len(), 1000);
        let mut claims = all(1200);
        claims[7].verdict = ClaimVerdict::Unsafe;
        let many = points(&Finding::new("c", "skyline", claims), None);
        assert_eq!(many.len(), 1001);
        let others = many.iter().find(|point| point["other_values"].is_u64()).unwrap();
        assert_eq!((&others["other_values"], &others["safe"]), (&json!(200), &json!(true)));
        // The worst of the rest: 999 safe values are listed, v1199 to v201.
        assert_eq!(others["breach_exact"], "1/9800");
        assert!(many.iter().any(|point| point["value"] == "v7" && point["safe"] == false));
        assert!(many.iter().all(|point| point["value"] != "v200"));
    }
}
