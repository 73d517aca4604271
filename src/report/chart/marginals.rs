//! A column before and after, as a word-sized picture: what was there as an area, what can be read off the release as a
//! line.

use maud::{Markup, html};

use super::draw::px;

const WIDTH: f64 = 180.0;
const HEIGHT: f64 = 34.0;

/// Shares before and after, in the order of the values; both are drawn on the same scale.
pub fn marginals(shares: &[(f64, f64)]) -> Markup {
    let most = shares.iter().flat_map(|&(before, after)| [before, after]).fold(f64::MIN_POSITIVE, f64::max);
    let step = WIDTH / shares.len().max(1) as f64;
    let steps = |of: fn(&(f64, f64)) -> f64| {
        let mut path = format!("M0 {}", px(HEIGHT));
        for (i, share) in shares.iter().enumerate() {
            let y = HEIGHT - of(share) / most * (HEIGHT - 2.0);
            path += &format!("V{}H{}", px(y), px(step * (i + 1) as f64));
        }
        path + &format!("V{}", px(HEIGHT))
    };
    html! {
        svg.marginals viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } aria-hidden="true" {
            path.before d={ (steps(|share| share.0)) "Z" } {}
            path.after d=(steps(|share| share.1)) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_drawn_on_one_scale() {
        let drawn = marginals(&[(0.5, 1.0), (0.5, 0.0)]).into_string();
        assert!(drawn.contains("M0 34V18H90V18H180V34Z"), "{drawn}");
        assert!(drawn.contains("M0 34V2H90V34H180V34\""), "{drawn}");
        assert!(!marginals(&[]).into_string().contains("NaN"));
    }
}
