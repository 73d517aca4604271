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

/// What people may know of each other, in the order in which a policy is likely to need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Age, or date of birth.
    Age,
    /// Sex.
    Sex,
    /// Race or ethnicity.
    Race,
    /// Where somebody lives.
    Place,
    /// Education.
    Education,
    /// Marital status.
    Marital,
    /// Where somebody comes from.
    Origin,
    /// What somebody works.
    Work,
    /// Who lives with them.
    Household,
}

const IDENTIFIERS: &str = "ssn nin passport email mail phone telephone mobile cell fax surname firstname lastname fullname \
    forename address street iban account license licence plate mrn nhs ip mac url username login \
    password token signature photo latitude longitude lat lon lng imei vin vorname nachname familienname anschrift adresse telefon \
    prenom";

const PERSONS: &str = "person patient customer client user member subject individual employee student citizen resident \
    people participant beneficiary claimant respondent owner visitor taxpayer";

const NUMBERS: &str = "id uid uuid guid name key no nr number num record row index serial seq seqno sequence caseid recid \
    rowid respid hhid lineno recno serialno";

const CODES: &str = "zip zipcode postcode postal plz tract fips nuts";

/// The words of each topic; the most telling come first.
const KNOWN: [(Topic, &str); 9] = [
    (
        Topic::Age,
        "age dob birthdate birthday birth born birthyear birthyr yob alter geburtsdatum geburtsjahr naissance",
    ),
    (Topic::Sex, "sex gender geschlecht sexe"),
    (Topic::Race, "race ethnicity ethnic hispanic"),
    (
        Topic::Place,
        "residence city town village county state region province district country wohnort gemeinde kreis bundesland \
            commune departement pays",
    ),
    (Topic::Education, "education educ degree school schooling bildung schulabschluss diplome"),
    (Topic::Marital, "marital married marstat mars filing familienstand matrimonial"),
    (
        Topic::Origin,
        "citizenship nationality native birthplace immigration language staatsangehoerigkeit nationalite",
    ),
    (Topic::Work, "occupation job profession workclass worker employer industry employment beruf branche"),
    (Topic::Household, "household children family dependents haushalt kinder enfants menage"),
];

/// Parts of words that mean the same wherever they stand at the end: `inputzip`, `countyfips`.
const ENDINGS: [&str; 4] = ["zip", "state", "county", "fips"];

/// What a person was, or somebody else is.
const OTHERS: &str = "previous prior former past migration father mother spouse partner parent parents";

/// Health, belief and law first, then money, then work, then what is secret only sometimes.
const SECRETS: [(u8, &str); 4] = [
    (
        0,
        "diagnosis diagnoses diag dx disease diseases illness condition conditions icd hiv symptom symptoms \
    medication drug drugs alcohol treatment therapy procedure disability blind injury hospital allergy pregnancy religion \
    relig religpew sexual sexuality orientation political conviction offence offense crime arrest abuse sensitive secret \
    diagnose krankheit maladie medikament medicament behandlung traitement",
    ),
    (
        1,
        "income incomes faminc hhinc agi salary wage wages earnings pay debt credit balance wealth bonus benefit benefits \
    ben einkommen gehalt lohn revenu salaire",
    ),
    (2, "occupation job profession grade score rating vote result"),
    (3, "tax taxes"),
];

const WEIGHTS: &str = "count counts wgt wt fnlwgt freq frequency cnt multiplicity";

/// Weights only if the name contains nothing else.
const WEIGHTS_ALONE: &str = "n number weight households persons people total";

/// What people weigh, not what a row weighs.
const BODIES: &str = "birthweight bodyweight overweight underweight";

/// What the name suggests.
pub fn hint(name: &str) -> Hint {
    let words = words(name);
    let has = |list: &str| has(&words, list);
    // Parties of candidates and offices are public.
    let party = words.len() <= 2 && has("party");
    let secret = SECRETS.iter().find(|(rank, list)| has(list) || (*rank == 0 && party));
    let of_a_person = words.len() > 1 && words[words.len() - 1] == "name" && {
        has("first last full family given middle maiden sur") || has(PERSONS)
    };
    let asks_how_many = words.windows(2).any(|pair| pair == ["how", "many"] || pair == ["number", "of"]);
    let weighs = words.iter().any(|word| word.ends_with("weight") && word.len() > "weight".len());
    let known = KNOWN.iter().any(|(_, list)| has(list))
        || has("height")
        || words.iter().any(|word| ends_like(word, &ENDINGS));
    if has(IDENTIFIERS) || of_a_person || words == ["name"] {
        Hint::Identifier
    } else if matches!(&words[..], [only] if in_list(WEIGHTS_ALONE, only))
        && !name.contains(|c: char| c.is_ascii_digit())
    {
        Hint::Weight
    } else if has(PERSONS) && (has(NUMBERS) || words.len() == 1) {
        Hint::Person
    } else if let Some((rank, _)) = secret {
        Hint::Secret(*rank)
    } else if has(CODES) || words.iter().any(|word| ends_like(word, &["zip", "fips"])) {
        Hint::Code
    } else if has(WEIGHTS) || asks_how_many || (weighs && !has(BODIES)) {
        Hint::Weight
    } else if known && !has(NUMBERS) {
        Hint::Known
    } else if has(NUMBERS) {
        Hint::Number
    } else {
        Hint::Nothing
    }
}

/// What others may know by this column, and how well its name says so: 0 is best. `None` if the name says nothing, or is
/// about another person or an earlier time.
pub fn topic(name: &str) -> Option<(Topic, usize)> {
    let words = words(name);
    let has = |list: &str| has(&words, list);
    if has(OTHERS) || has(NUMBERS) {
        return None;
    }
    let came_from = has("country state city town") && has("birth born native origin");
    let place = has(CODES) || words.iter().any(|word| ends_like(word, &ENDINGS));
    if came_from {
        return Some((Topic::Origin, 0));
    }
    let told = |list: &str| list.split(' ').position(|known| words.iter().any(|word| word == known));
    let named = KNOWN.iter().find_map(|(topic, list)| Some((*topic, told(list)?)));
    named.or(place.then_some((Topic::Place, 0)))
}

fn has(words: &[String], list: &str) -> bool {
    words.iter().any(|word| in_list(list, word))
}

fn in_list(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

fn ends_like(word: &str, endings: &[&str]) -> bool {
    !word.ends_with("estate") && endings.iter().any(|ending| word.ends_with(ending))
}

/// Whether the name says that the values are no ids: a weight, a place, or what others know or people keep secret.
pub fn is_no_id(name: &str) -> bool {
    matches!(hint(name), Hint::Weight | Hint::Code | Hint::Known | Hint::Secret(_))
}

/// Whether the name says that the values are ids of people: `patient_id`, `ssn`, `id`. Names of people and places repeat
/// without being ids.
pub fn is_id(name: &str) -> bool {
    const OFFICIAL: &str = "ssn nin passport mrn nhs email mail imei iban uid uuid guid";
    const NUMBERED: &str =
        "id key no nr number num record row index serial caseid recid rowid respid recno serialno";
    let words = words(name);
    let has = |list: &str| has(&words, list);
    match hint(name) {
        Hint::Person => true,
        Hint::Identifier => has(OFFICIAL),
        Hint::Number if has("num") && has("child children kids dependents") => has("id key no nr number"),
        Hint::Number => has(NUMBERED) && !KNOWN.iter().any(|(_, list)| has(list)) && !has("name"),
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
        for other in ["name", "last_name", "county_no", "cost", "street", "zip", "fnlwgt", "child18num"] {
            assert!(!is_id(other), "{other}");
        }
        assert!(is_no_id("zip") && is_no_id("fnlwgt") && is_no_id("age") && !is_no_id("cost"));
    }

    #[test]
    fn topics_are_about_the_person_and_now() {
        for (name, expected) in [
            ("age_head", Some(Topic::Age)),
            ("age_spouse", None),
            ("native-country", Some(Topic::Origin)),
            ("country", Some(Topic::Place)),
            ("previous-state", None),
            ("birthplace-father", None),
            ("countyfips", Some(Topic::Place)),
            ("hispanic-origin", Some(Topic::Race)),
            ("marstat", Some(Topic::Marital)),
            ("stage", None),
            ("household_no", None),
            ("Geschlecht", Some(Topic::Sex)),
            ("date de naissance", Some(Topic::Age)),
            ("Wohnort_PLZ", Some(Topic::Place)),
        ] {
            assert_eq!(topic(name).map(|(topic, _)| topic), expected, "{name}");
        }
        assert!(topic("race") < topic("hispanic"));
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
            ("n1820", Hint::Nothing),
            ("RECID", Hint::Number),
            ("h_seq", Hint::Number),
            ("a_lineno", Hint::Number),
            ("commonweight", Hint::Weight),
            ("birthweight", Hint::Nothing),
            ("birthyr", Hint::Known),
            ("inputstate", Hint::Known),
            ("lookupzip", Hint::Code),
            ("HouseCand1Party", Hint::Nothing),
            ("party", Hint::Secret(0)),
            ("INJURY_SEVERITY", Hint::Secret(0)),
            ("", Hint::Nothing),
        ] {
            assert_eq!(hint(name), expected, "{name}");
        }
    }
}
