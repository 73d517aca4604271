//! What does the name of a column suggest?
//!
//! Names are split into words (`birthDate`, `birth_date`, `BIRTH-DATE`), and the words are looked up. A name is only a
//! hint: the counts matter as well.

/// What a name suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Identifies a person: a name, an address, an official number.
    Identifier,
    /// The number of a person, which may occur on several rows.
    Person,
    /// The number or name of something; an identifier if it is nearly unique.
    Number,
    /// A place or class by a code whose first characters are the most significant.
    Code,
    /// What neighbours, colleagues or public registers know.
    Known,
    /// What people keep to themselves; a smaller number means more secret.
    Secret(u8),
    /// The number of rows or people that a row represents.
    Weight,
    /// Nothing.
    Nothing,
}

const IDENTIFIERS: &str = "ssn nin passport email mail phone telephone mobile cell fax surname firstname lastname fullname \
    forename address street iban account license licence plate mrn nhs ip mac url username login \
    password token signature photo latitude longitude lat lon lng imei vin";

const PERSONS: &str = "person patient customer client user member subject individual employee student citizen resident \
    people participant beneficiary claimant respondent owner visitor taxpayer";

const NUMBERS: &str = "id uid uuid guid name key no nr number num record row index serial";

const CODES: &str = "zip zipcode postcode postal plz tract fips nuts";

const KNOWN: &str = "age sex gender birth born dob birthday birthdate birthyear city town village county state region \
    province district country nationality race ethnicity ethnic language marital married education \
    degree school household children family residence citizenship height workclass employer";

/// Health, belief and law first, then money, then work.
const SECRETS: [(u8, &str); 3] = [
    (
        0,
        "diagnosis diagnoses disease diseases illness condition conditions icd hiv symptom symptoms \
    medication drug drugs treatment therapy procedure disability allergy pregnancy religion sexual \
    orientation political party conviction offence offense crime arrest abuse sensitive secret",
    ),
    (1, "income salary wage wages earnings pay debt credit balance wealth bonus tax"),
    (2, "occupation job profession grade score rating vote result"),
];

const WEIGHTS: &str = "count counts wgt fnlwgt freq frequency cnt multiplicity";

/// Weights only if the name contains nothing else.
const WEIGHTS_ALONE: &str = "n number weight households persons people total";

/// What the name suggests.
pub fn hint(name: &str) -> Hint {
    let words = words(name);
    let has = |list: &str| list.split(' ').any(|known| words.iter().any(|word| word == known));
    let secret = SECRETS.iter().find(|(_, list)| has(list));
    let of_a_person = words.len() > 1 && words[words.len() - 1] == "name" && {
        has("first last full family given middle maiden sur") || has(PERSONS)
    };
    let asks_how_many = words.windows(2).any(|pair| pair == ["how", "many"] || pair == ["number", "of"]);
    if has(IDENTIFIERS) || of_a_person || words == ["name"] {
        Hint::Identifier
    } else if matches!(&words[..], [only] if WEIGHTS_ALONE.split(' ').any(|known| known == only)) {
        Hint::Weight
    } else if has(PERSONS) && (has(NUMBERS) || words.len() == 1) {
        Hint::Person
    } else if let Some((rank, _)) = secret {
        Hint::Secret(*rank)
    } else if has(CODES) {
        Hint::Code
    } else if has(WEIGHTS) || asks_how_many {
        Hint::Weight
    } else if has(KNOWN) && !has(NUMBERS) {
        Hint::Known
    } else if has(NUMBERS) {
        Hint::Number
    } else {
        Hint::Nothing
    }
}

/// Whether the name says that the values are no ids: a weight, a place, or what others know or people keep secret.
pub fn is_no_id(name: &str) -> bool {
    matches!(hint(name), Hint::Weight | Hint::Code | Hint::Known | Hint::Secret(_))
}

/// Whether the name says that the values are ids of people: `patient_id`, `ssn`, `id`. Names of people and places repeat
/// without being ids.
pub fn is_id(name: &str) -> bool {
    const OFFICIAL: &str = "ssn nin passport mrn nhs email mail imei iban uid uuid guid";
    const NUMBERED: &str = "id key no nr number num record row index serial";
    let words = words(name);
    let has = |list: &str| list.split(' ').any(|known| words.iter().any(|word| word == known));
    match hint(name) {
        Hint::Person => true,
        Hint::Identifier => has(OFFICIAL),
        Hint::Number => has(NUMBERED) && !has(KNOWN) && !has("name"),
        _ => false,
    }
}

/// The words of a name in lower case: split at punctuation, and where lower-case letters meet capitals or digits.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = None;
    for c in name.chars() {
        let turns = before.is_some_and(|b: char| b.is_lowercase() && c.is_uppercase());
        if !c.is_alphabetic() || turns {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphabetic(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(words("birthDate"), ["birth", "date"]);
        assert_eq!(words("HOURS-per_week 2"), ["hours", "per", "week"]);
        assert_eq!(words("2020"), [""; 0]);
    }

    #[test]
    fn ids_of_people_are_told_from_other_columns() {
        for id in ["patient_id", "person", "ssn", "ID", "record", "customerNumber", "email"] {
            assert!(is_id(id) && !is_no_id(id), "{id}");
        }
        for other in ["name", "last_name", "county_no", "cost", "street", "zip", "fnlwgt"] {
            assert!(!is_id(other), "{other}");
        }
        assert!(is_no_id("zip") && is_no_id("fnlwgt") && is_no_id("age") && !is_no_id("cost"));
    }

    #[test]
    fn hints_follow_the_words() {
        for (name, expected) in [
            ("name", Hint::Identifier),
            ("E-Mail", Hint::Identifier),
            ("last_name", Hint::Identifier),
            ("patient_id", Hint::Person),
            ("person", Hint::Person),
            ("county_name", Hint::Number),
            ("record", Hint::Number),
            ("zipCode", Hint::Code),
            ("age", Hint::Known),
            ("marital-status", Hint::Known),
            ("PrimaryDiagnosis", Hint::Secret(0)),
            ("occupation", Hint::Secret(2)),
            ("fnlwgt", Hint::Weight),
            ("households", Hint::Weight),
            ("people", Hint::Weight),
            ("how many", Hint::Weight),
            ("number", Hint::Weight),
            ("Total", Hint::Weight),
            ("language", Hint::Known),
            ("stage", Hint::Nothing),
            ("", Hint::Nothing),
        ] {
            assert_eq!(hint(name), expected, "{name}");
        }
    }
}
