//! Texts in CSV files that a spreadsheet would run.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return for a formula, quoted or
//! not. Where strangers may have written a text, an apostrophe in front of it keeps it a text; numbers stay as they are.
//!
//! Invariant: [`unguarded`] is the inverse of [`guarded`], for any text.

use std::borrow::Cow;

/// How texts are written to CSV files, and read from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CsvTexts {
    /// As they are.
    #[default]
    Plain,
    /// An apostrophe stands before what a spreadsheet would run, and before another apostrophe.
    Guarded,
}

/// The text as a guarded file has it.
pub(super) fn guarded(text: &str) -> Cow<'_, str> {
    match text.chars().next() {
        Some('\'' | '=' | '@' | '\t' | '\r' | '＝' | '＋' | '－' | '＠') => {}
        Some('+' | '-') if !is_number(&text[1..]) => {}
        _ => return Cow::Borrowed(text),
    }
    Cow::Owned(format!("'{text}"))
}

/// The text that a guarded file means.
pub(super) fn unguarded(cell: &str) -> &str {
    cell.strip_prefix('\'').unwrap_or(cell)
}

/// Digits, with a point among them at most.
fn is_number(text: &str) -> bool {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    [whole, rest].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn formulas_begin_with_an_apostrophe_and_numbers_do_not() {
        for formula in
            ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1", "-", "+1.", "'x"]
        {
            assert_eq!(guarded(formula), format!("'{formula}"));
        }
        for plain in ["", "24", "-24", "+4.5", "[-5,0)", "a=b", "{=1|x}", "null|=1"] {
            assert_eq!(guarded(plain), plain);
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in "['=+@\t\r-]{0,3}.{0,8}") {
            let cell = guarded(&text);
            prop_assert_eq!(unguarded(&cell), &text);
            let runs = cell.starts_with(['=', '@', '\t', '\r']) || (cell.starts_with(['+', '-']) && !is_number(&cell[1..]));
            prop_assert!(!runs);
        }
    }
}
