//! A knowledge skyline as a word-sized picture: the largest safe k for each l, as steps.

use maud::{Markup, html};

use super::draw::px;

/// The axes that all sparklines of a table share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sparklines {
    /// The largest l.
    pub most_l: u64,
    /// The largest k; more is drawn as this.
    pub most_k: u64,
}

const WIDTH: f64 = 112.0;
const HEIGHT: f64 = 26.0;

impl Sparklines {
    fn x(self, l: f64) -> f64 {
        l / (self.most_l as f64 + 1.0) * WIDTH
    }

    /// On a logarithmic scale.
    fn y(self, k: u64) -> f64 {
        let share = (k.min(self.most_k) as f64 + 2.0).ln() / (self.most_k as f64 + 2.0).ln();
        HEIGHT - 1.0 - share * (HEIGHT - 4.0)
    }

    /// The picture of one value: its largest safe k for l = 0, 1, ..., and what the policy requires.
    pub fn draw(self, largest_k: &[u64], required: Option<(u64, u64)>) -> Markup {
        let mut path = format!("M0 {}", px(HEIGHT));
        for (l, &k) in largest_k.iter().enumerate().take(self.most_l as usize + 1) {
            path += &format!("V{}H{}", px(self.y(k)), px(self.x(l as f64 + 1.0)));
        }
        path += &format!("V{}Z", px(HEIGHT));
        html! {
            svg.spark viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } aria-hidden="true" {
                path.area d=(path) {}
                @if let Some((l, k)) = required.filter(|(l, _)| *l <= self.most_l) {
                    path.mark d={ "M" (px(self.x(l as f64 + 0.5))) " " (px(self.y(k) - 4.0)) "l4 4l-4 4l-4 -4Z" } {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_fall_and_the_requirement_lies_below_them() {
        let axes = Sparklines { most_l: 1, most_k: 14 };
        let drawn = axes.draw(&[14, 2], Some((1, 0))).into_string();
        assert!(drawn.contains("M0 26V3H56V14H112V26Z"), "{drawn}");
        assert!(drawn.contains("M84 15.5l4"), "{drawn}");
        assert!(!axes.draw(&[], Some((2, 0))).into_string().contains("mark"));
    }
}
