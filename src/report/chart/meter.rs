//! One number between 0 and 1 as a bar: a share, or a risk with its limit.

use maud::{Markup, html};

use super::draw::px;
use crate::math::exact::Rational;

const WIDTH: f64 = 300.0;

/// A risk as a bar, with its limit as a line.
pub fn meter(risk: &Rational, limit: Option<&Rational>) -> Markup {
    let width = |share: &Rational| (WIDTH * share.to_f64().value()).clamp(0.0, WIDTH);
    let over = limit.is_some_and(|limit| risk >= limit);
    html! {
        svg.meter viewBox="0 0 300 14" preserveAspectRatio="none" aria-hidden="true" {
            rect.track width="300" height="14" {}
            rect.fill.over[over] width=(px(width(risk))) height="14" {}
            @if let Some(limit) = limit {
                rect.limit x=(px(width(limit) - 1.5)) width="3" height="14" {}
            }
        }
    }
}

/// A share as a bar.
pub fn bar(share: f64) -> Markup {
    html! {
        svg.meter viewBox="0 0 300 10" preserveAspectRatio="none" aria-hidden="true" {
            rect.track width="300" height="10" {}
            rect.fill width=(px(WIDTH * share.clamp(0.0, 1.0))) height="10" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::parse_fraction;

    #[test]
    fn a_risk_at_its_limit_is_over_it() {
        let fraction = |text| parse_fraction(text).unwrap();
        let half = fraction("1/2");
        assert!(meter(&half, Some(&half)).into_string().contains("fill over"));
        let below = meter(&fraction("1/3"), Some(&half)).into_string();
        assert!(
            !below.contains("over") && below.contains("width=\"100\"") && below.contains("x=\"148.5\""),
            "{below}"
        );
        assert!(!bar(f64::NAN).into_string().contains("\"-"));
    }
}
