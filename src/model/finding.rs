//! The findings of a judge about one sensitive column: the same structure for every adversary.
//!
//! The manifest, the page, the text and the JSON render findings without knowing which adversary a claim is about.
//! Memory: O(claims), which is values x points for the skyline and a handful otherwise.
//! Invariant: risks are exact or rounded up, and a finding is safe only if every claim is proven to hold.

use crate::error::number_of;
use crate::math::exact::{Rational, decimal_at_most, f64_at_least};

/// Fractions with more characters than this are rounded: they would obscure the rest.
pub const MOST_DIGITS: usize = 200;
/// Digits after the point of a fraction that is too long.
pub const ROUNDED_PLACES: usize = 30;

/// The findings of a judge about one sensitive column.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The sensitive column, or the name of a combination of columns.
    pub column: String,
    /// The machine-readable name of the adversary, such as `skyline`.
    pub model: &'static str,
    /// Whether every claim holds, every value is protected, and the release was promised to be safe.
    pub safe: bool,
    /// The requirements, with the results.
    pub claims: Vec<Claim>,
    /// Notes for readers, in addition to the claims.
    pub notes: Vec<Note>,
    /// The largest risk of each sensitive value, if it is measured without being a claim of its own.
    pub worst: Option<WorstByValue>,
    /// Sums over all groups, for machine-readable output.
    pub totals: Vec<Total>,
    /// The values that nothing protects, if there are any.
    pub unprotected: Option<Unprotected>,
}

/// Values of which no requirement bounds what is learned, and that are not declared harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unprotected {
    /// How many there are.
    pub values: u64,
    /// How many people have one of them; rounded up where people have several values.
    pub people: u64,
    /// People in groups where such a value is certain; rounded up where people have several values.
    pub certain: u64,
    /// Whether the smallest group is bounded by a minimum size.
    pub anonymity: Anonymity,
    /// Whether the owner accepts it.
    pub consent: Consent,
}

/// Whether groups have a minimum size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anonymity {
    /// At least two people.
    OfGroups,
    /// None.
    Nothing,
}

/// Whether the owner accepts a risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// By name, or by the question that was asked.
    Given,
    /// Not.
    Missing,
}

impl Unprotected {
    /// What holds all the same, in words.
    pub fn in_words(&self) -> String {
        let people = number_of(self.certain, "person", "people");
        match (self.consent, self.anonymity) {
            (Consent::Given, Anonymity::OfGroups) => {
                format!("k-anonymous; the value of {people} is certain")
            }
            (Consent::Given, Anonymity::Nothing) => {
                format!("not protected; the value of {people} is certain")
            }
            (Consent::Missing, _) => format!(
                "nothing protects {} of {}; the value of {people} is certain",
                number_of(self.values, "value", "values"),
                number_of(self.people, "person", "people")
            ),
        }
    }
}

/// One requirement, with its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// What is protected.
    pub subject: ClaimSubject,
    /// What the adversary knows, in display order.
    pub knows: Vec<(&'static str, Datum)>,
    /// The measured result.
    pub measured: Measurement,
    /// The required limit.
    pub limit: Limit,
    /// The number of the worst group, if it is known.
    pub group: Option<u64>,
    /// Whether the claim holds.
    pub verdict: ClaimVerdict,
    /// People or groups counted by how the claim holds for them. May depend on the original, so it is never
    /// published.
    pub counts: Vec<(&'static str, u64)>,
    /// Evidence that a manifest publishes next to the claim.
    pub evidence: Vec<(&'static str, Datum)>,
}

/// What a claim is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimSubject {
    /// A sensitive value.
    Value(String),
    /// A window of sensitive numbers, by the lowest and the highest one that it holds.
    Window(String),
    /// A criterion over the shares of the values in each group, in words.
    Criterion(&'static str),
    /// A minimum of each group: `people`, `different sensitive values`.
    Size(&'static str),
    /// Every value of every person.
    Everybody,
}

/// What was measured, by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Such as `breach`, `disclosure`, `people`.
    pub name: &'static str,
    /// The measured amount.
    pub amount: Amount,
}

/// A measured amount.
#[derive(Debug, Clone, PartialEq)]
pub enum Amount {
    /// A risk as an exact fraction.
    Exact(Rational),
    /// An upper bound on a risk whose fraction would have too many digits.
    AtMost(f64),
    /// A number of people, values or groups.
    Count(u64),
    /// Both ends of a proven interval. It depends on the original, not on the release alone, so it is never
    /// published.
    Between(f64, f64),
    /// Nothing was measured.
    Unknown,
}

/// The limit required of a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Such as `confidence`, `most`, `t`, `minimum`.
    pub name: &'static str,
    /// The side of the limit on which the measurement must be.
    pub side: Side,
    /// The value of the limit.
    pub value: Rational,
}

/// The side of its limit on which a measurement must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Strictly below.
    Below,
    /// Below or equal.
    AtMost,
    /// Above or equal.
    AtLeast,
}

/// Whether a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// Proven.
    Safe,
    /// Neither proven nor refuted.
    Undecided,
    /// Refuted, or not proven where only a proof counts.
    Unsafe,
    /// Not examined: this requires the original table.
    NotJudged,
}

/// Notes for readers, in addition to the claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A part of the one-line verdict.
    Summary(String),
    /// A sentence below the claims.
    Remark(String),
    /// Something that the owner of the data may not expect.
    Warning(String),
}

/// The largest risk of each sensitive value over all groups in which it was computed.
#[derive(Debug, Clone, PartialEq)]
pub struct WorstByValue {
    /// What was measured, such as `posterior`.
    pub measured: &'static str,
    /// The values with their risks, rounded up; sorted by value.
    pub values: Vec<(String, f64)>,
}

/// Sums over all groups. They may depend on the original, so they are never published.
#[derive(Debug, Clone, PartialEq)]
pub struct Total {
    /// The machine-readable name.
    pub name: &'static str,
    /// The sums by name.
    pub fields: Vec<(&'static str, Datum)>,
}

/// A piece of evidence in a form that every renderer can write.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    /// Nothing.
    Nothing,
    /// Yes or no.
    Flag(bool),
    /// A count.
    Count(u64),
    /// The number of a group.
    Number(i64),
    /// A risk that was rounded up.
    Decimal(f64),
    /// An exact fraction, which a renderer may leave out if it is long.
    Fraction(Rational),
    /// A text that is always written.
    Text(String),
    /// Several.
    List(Vec<Datum>),
    /// Several by name.
    Fields(Vec<(String, Datum)>),
}

impl Finding {
    /// The finding with these claims; safe if all of them are.
    pub fn new(column: impl Into<String>, model: &'static str, claims: Vec<Claim>) -> Self {
        let safe = claims.iter().all(|claim| claim.verdict == ClaimVerdict::Safe);
        let column = column.into();
        let (notes, worst, totals, unprotected) = (Vec::new(), None, Vec::new(), None);
        Finding { column, model, safe, claims, notes, worst, totals, unprotected }
    }

    /// Adds values that nothing protects, which makes the finding unsafe.
    pub fn leave_unprotected(&mut self, unprotected: Unprotected) {
        self.safe = false;
        self.unprotected = Some(unprotected);
    }

    /// Whether it may be published: it is safe, or all that is missing is protection that the owner gave up by name.
    pub fn stands(&self) -> bool {
        self.safe || (self.claims.iter().all(Claim::is_safe) && self.consents())
    }

    /// Whether values are unprotected and the owner accepts it.
    fn consents(&self) -> bool {
        self.unprotected.is_some_and(|unprotected| unprotected.consent == Consent::Given)
    }

    /// Whether nothing is refuted, but something is not proven.
    pub fn is_undecided(&self) -> bool {
        let open = |claim: &Claim| claim.verdict == ClaimVerdict::Undecided;
        !self.safe
            && self.claims.iter().any(open)
            && self.claims.iter().all(|claim| claim.is_safe() || open(claim))
    }

    /// Whether every claim that was judged holds.
    pub fn holds_as_far_as_judged(&self) -> bool {
        (self.unprotected.is_none() || self.consents())
            && self.claims.iter().all(|claim| claim.is_safe() || claim.verdict == ClaimVerdict::NotJudged)
    }

    /// Whether some claim was not judged.
    pub fn is_open(&self) -> bool {
        self.claims.iter().any(|claim| claim.verdict == ClaimVerdict::NotJudged)
    }

    /// The claims that do not hold.
    pub fn failing(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(|claim| !claim.is_safe())
    }

    /// The claims about how much an adversary can learn, as opposed to those about the sizes of groups.
    pub fn risks(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(|claim| !matches!(claim.measured.amount, Amount::Count(_)))
    }

    /// Sorts the claims about sensitive values by value.
    pub fn sort_by_value(&mut self) {
        self.claims.sort_by(|a, b| match (&a.subject, &b.subject) {
            (ClaimSubject::Value(a), ClaimSubject::Value(b)) => a.cmp(b),
            _ => a.rank().cmp(&b.rank()),
        });
    }

    /// Adds claims, which may make the finding unsafe.
    pub fn add(&mut self, claims: Vec<Claim>) {
        self.safe &= claims.iter().all(Claim::is_safe);
        self.claims.extend(claims);
    }

    /// The total with this name.
    pub fn total(&self, name: &str) -> Option<&Total> {
        self.totals.iter().find(|total| total.name == name)
    }

    /// The parts of the one-line verdict.
    pub fn summary(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().filter_map(|note| match note {
            Note::Summary(text) => Some(text.as_str()),
            _ => None,
        })
    }
}

impl Claim {
    /// Whether the claim is about one of many values, or windows of values.
    pub fn is_of_values(&self) -> bool {
        matches!(self.subject, ClaimSubject::Value(_) | ClaimSubject::Window(_))
    }

    /// Whether the claim is about the sizes of groups.
    pub fn is_size(&self) -> bool {
        matches!(self.subject, ClaimSubject::Size(_))
    }

    /// Whether the claim is proven.
    pub fn is_safe(&self) -> bool {
        self.verdict == ClaimVerdict::Safe
    }

    /// The rank among other claims: sizes, then values, then windows, then the rest.
    fn rank(&self) -> u8 {
        match self.subject {
            ClaimSubject::Size(_) => 0,
            ClaimSubject::Value(_) => 1,
            ClaimSubject::Window(_) => 2,
            ClaimSubject::Criterion(_) | ClaimSubject::Everybody => 3,
        }
    }

    /// The claim that every group has at least this many `what`.
    pub fn minimum(what: &'static str, has: u64, least: u64) -> Self {
        Claim {
            subject: ClaimSubject::Size(what),
            knows: Vec::new(),
            measured: Measurement { name: what, amount: Amount::Count(has) },
            limit: Limit { name: "minimum", side: Side::AtLeast, value: least.into() },
            group: None,
            verdict: if has >= least { ClaimVerdict::Safe } else { ClaimVerdict::Unsafe },
            counts: Vec::new(),
            evidence: Vec::new(),
        }
    }

    /// How far the measurement is on the right side of its limit, rounded down; `None` if nothing was
    /// measured.
    pub fn margin(&self) -> Option<Rational> {
        let measured = self.measured.amount.upper_bound()?;
        Some(match self.limit.side {
            Side::Below | Side::AtMost => &self.limit.value - measured,
            Side::AtLeast => measured - &self.limit.value,
        })
    }
}

impl Amount {
    /// The amount, or the least bound above it, as a fraction.
    pub fn upper_bound(&self) -> Option<Rational> {
        match self {
            Amount::Exact(exact) => Some(exact.clone()),
            Amount::AtMost(bound) | Amount::Between(_, bound) => {
                Some(Rational::try_from(*bound).unwrap_or(Rational::ONE))
            }
            Amount::Count(count) => Some((*count).into()),
            Amount::Unknown => None,
        }
    }

    /// The amount, or a bound on it, rounded up to binary64.
    pub fn at_least(&self) -> Option<f64> {
        match self {
            Amount::Exact(exact) => Some(f64_at_least(exact)),
            Amount::AtMost(bound) | Amount::Between(_, bound) => Some(*bound),
            Amount::Count(count) => Some(*count as f64),
            Amount::Unknown => None,
        }
    }
}

impl Side {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Side::Below => "below",
            Side::AtMost => "at most",
            Side::AtLeast => "at least",
        }
    }
}

impl ClaimVerdict {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            ClaimVerdict::Safe => "safe",
            ClaimVerdict::Undecided => "estimated",
            ClaimVerdict::Unsafe => "unsafe",
            ClaimVerdict::NotJudged => "not judged",
        }
    }
}

impl From<bool> for ClaimVerdict {
    fn from(holds: bool) -> Self {
        if holds { ClaimVerdict::Safe } else { ClaimVerdict::Unsafe }
    }
}

impl ClaimSubject {
    /// The kind of subject, and its name; `None` for everybody.
    pub fn named(&self) -> Option<(&'static str, &str)> {
        match self {
            ClaimSubject::Value(value) => Some(("value", value)),
            ClaimSubject::Window(window) => Some(("window", window)),
            ClaimSubject::Criterion(name) => Some(("criterion", name)),
            ClaimSubject::Size(what) => Some(("size", what)),
            ClaimSubject::Everybody => None,
        }
    }
}

impl Total {
    /// The sum with this name.
    pub fn field(&self, name: &str) -> &Datum {
        self.fields.iter().find(|(own, _)| *own == name).map_or(&Datum::Nothing, |(_, datum)| datum)
    }
}

impl Datum {
    /// A fraction of which less is worse, rounded down where it is too long to read.
    pub fn fraction_at_most(fraction: &Rational) -> Self {
        match fraction.to_string().len() <= MOST_DIGITS {
            true => Datum::Fraction(fraction.clone()),
            false => Datum::Text(format!("at least {}", decimal_at_most(fraction, ROUNDED_PLACES))),
        }
    }

    /// In words, with counts and texts as the reader shows them: a single value where all fields agree, otherwise each
    /// value with its name.
    pub fn in_words(&self, count: fn(u64) -> String, text: fn(&str) -> String) -> String {
        match self {
            Datum::Count(own) => count(*own),
            Datum::Text(own) => text(own),
            Datum::Fraction(fraction) => fraction.to_string(),
            Datum::Fields(fields) => {
                let mut values: Vec<String> =
                    fields.iter().map(|(_, datum)| datum.in_words(count, text)).collect();
                values.dedup();
                match &values[..] {
                    [one] => one.clone(),
                    _ => {
                        let named = fields
                            .iter()
                            .map(|(name, own)| format!("{} {}", text(name), own.in_words(count, text)));
                        named.collect::<Vec<_>>().join(", ")
                    }
                }
            }
            _ => String::new(),
        }
    }

    /// A list of data.
    pub fn list(items: impl IntoIterator<Item = Datum>) -> Self {
        Datum::List(items.into_iter().collect())
    }

    /// Data by name.
    pub fn fields<N: Into<String>>(fields: impl IntoIterator<Item = (N, Datum)>) -> Self {
        Datum::Fields(fields.into_iter().map(|(name, datum)| (name.into(), datum)).collect())
    }

    /// The datum, or nothing.
    pub fn of<T: Into<Datum>>(value: Option<T>) -> Self {
        value.map_or(Datum::Nothing, Into::into)
    }

    /// The count; 0 if it is not a count.
    pub fn count(&self) -> u64 {
        match self {
            Datum::Count(count) => *count,
            _ => 0,
        }
    }

    /// The datum with this name; nothing if there is none.
    pub fn field(&self, name: &str) -> &Datum {
        let Datum::Fields(fields) = self else { return &Datum::Nothing };
        fields.iter().find(|(own, _)| own == name).map_or(&Datum::Nothing, |(_, datum)| datum)
    }
}

impl From<u64> for Datum {
    fn from(count: u64) -> Self {
        Datum::Count(count)
    }
}

impl From<i64> for Datum {
    fn from(number: i64) -> Self {
        Datum::Number(number)
    }
}

impl From<f64> for Datum {
    fn from(decimal: f64) -> Self {
        Datum::Decimal(decimal)
    }
}

impl From<bool> for Datum {
    fn from(flag: bool) -> Self {
        Datum::Flag(flag)
    }
}

impl From<String> for Datum {
    fn from(text: String) -> Self {
        Datum::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;

    fn claim(verdict: ClaimVerdict) -> Claim {
        Claim { verdict, ..Claim::minimum("people", 3, 2) }
    }

    #[test]
    fn only_proven_claims_make_a_finding_safe() {
        use ClaimVerdict::{NotJudged, Safe, Undecided, Unsafe};
        let found = |verdicts: &[ClaimVerdict]| {
            let finding = Finding::new("sick", "skyline", verdicts.iter().map(|&own| claim(own)).collect());
            (finding.safe, finding.is_undecided(), finding.holds_as_far_as_judged())
        };
        assert_eq!(found(&[]), (true, false, true));
        assert_eq!(found(&[Safe, Safe]), (true, false, true));
        assert_eq!(found(&[Safe, Undecided]), (false, true, false));
        assert_eq!(found(&[Undecided, Unsafe]), (false, false, false));
        assert_eq!(found(&[Safe, NotJudged]), (false, false, true));
        assert_eq!(found(&[Undecided, NotJudged]), (false, false, false));
    }

    #[test]
    fn margins_are_on_the_right_side_of_the_limit() {
        assert_eq!(claim(ClaimVerdict::Safe).margin(), Some(ratio(1, 1)));
        let limit = Limit { name: "confidence", side: Side::Below, value: ratio(1, 2) };
        let measured = Measurement { name: "breach", amount: Amount::Exact(ratio(2, 3)) };
        let breach = Claim { limit, measured, ..claim(ClaimVerdict::Unsafe) };
        assert_eq!(breach.margin(), Some(-ratio(1, 6)));
        let unknown = Measurement { name: "moved", amount: Amount::Unknown };
        assert_eq!(Claim { measured: unknown, ..breach }.margin(), None);
    }
}
