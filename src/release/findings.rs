//! How are claims and totals written for programs?
//!
//! Risks are rounded up; the exact fraction is given next to each, unless it is too long to read.

use serde_json::{Map, Value, json};

use crate::math::exact::Rational;
use crate::model::finding::{Amount, Claim, ClaimSubject, Datum, Finding, MOST_DIGITS, Total};

/// The claims about a column as elements of `points`; with its name if there are several columns.
pub fn points(finding: &Finding, several: bool) -> Vec<Value> {
    finding.risks().map(|claim| point(claim, several.then_some(&finding.column))).collect()
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

/// A datum; fractions that are too long become null.
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
    Some(fraction.to_string()).filter(|text| text.len() <= MOST_DIGITS)
}
