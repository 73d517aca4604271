//! Which texts could be meant to be the same?

use unicode_normalization::UnicodeNormalization;

/// The text without what people overlook: case, white space at the ends and repeated inside, invisible characters, and
/// the Unicode form. Two texts with the same folded text are lookalikes.
pub fn folded(text: &str) -> String {
    let visible = text.nfkc().filter(|c| !is_invisible(*c)).collect::<String>();
    let folded = visible.to_uppercase().to_lowercase().nfkc().collect::<String>();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Characters without a width, which are no white space either.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
        || (c.is_control() && !c.is_whitespace())
}

/// Whether one of two texts looks like a misspelling of the other: they are lookalikes, or a few letters differ. Texts
/// that differ in a digit are different codes.
pub fn nearly_the_same(one: &str, other: &str) -> bool {
    let (one, other) = (folded(one), folded(other));
    let digits = |text: &str| text.chars().filter(|c| c.is_numeric()).collect::<String>();
    let longer = one.chars().count().max(other.chars().count());
    one == other
        || (longer >= 3
            && digits(&one) == digits(&other)
            && strsim::osa_distance(&one, &other) <= (longer / 4).clamp(1, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookalikes_have_the_same_folded_text() {
        for same in ["HIV", " HIV", "HIV ", "hiv", "H\u{200b}IV", "ＨＩＶ", "HIV\u{a0}"] {
            assert_eq!(folded(same), "hiv", "{same:?}");
        }
        assert_eq!(folded("Me\u{301}nie\u{300}re  disease"), folded("Ménière disease"));
        assert_eq!(folded("STRASSE"), folded("straße"));
        assert_ne!(folded("HIV"), folded("HPV"));
    }

    #[test]
    fn misspellings_are_near_and_other_codes_are_not() {
        for (one, other) in
            [("HIV", "hiv"), ("HIV", "HVI"), ("Tuberculosis", "Tubercolosis"), ("Cancer", "Cancr")]
        {
            assert!(nearly_the_same(one, other), "{one} {other}");
        }
        for (one, other) in [("I10", "I11"), ("a", "b"), ("AA", "AB"), ("Flu", "HIV"), ("Cancer", "Diabetes")]
        {
            assert!(!nearly_the_same(one, other), "{one} {other}");
        }
    }
}
