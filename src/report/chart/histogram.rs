//! How many groups are there of each size? Bars with as few labels as it takes.

use maud::{Markup, html};

use super::draw::px;
use crate::error::number_of;
use crate::report::digits::grouped;

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 88.0;
const FLOOR: f64 = HEIGHT - 20.0;

/// The bars (smallest size, largest size, groups). Labelled are both ends and the fullest bar, where they leave room for
/// each other.
pub fn histogram(title: &str, bars: &[(u64, u64, u64)]) -> Markup {
    let most = bars.iter().map(|bar| bar.2).max().unwrap_or(1).max(1);
    let step = WIDTH / bars.len().max(1) as f64;
    let label = |i: usize| {
        let (text, middle) = (grouped(bars[i].0), step * (i as f64 + 0.5));
        let half = 4.2 * text.len() as f64;
        (text, middle.clamp(half, WIDTH - half), half)
    };
    let mut labels: Vec<(String, f64, f64)> = Vec::new();
    let fullest = (0..bars.len()).max_by_key(|&i| (bars[i].2, std::cmp::Reverse(i)));
    for i in [Some(0), bars.len().checked_sub(1), fullest].into_iter().flatten().filter(|&i| i < bars.len()) {
        let (text, at, half) = label(i);
        if labels.iter().all(|(_, other, own)| (at - other).abs() > half + own + 8.0) {
            labels.push((text, at, half));
        }
    }
    html! {
        svg.histogram xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="13" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(title) {
            title { (title) }
            @for (i, (from, to, groups)) in bars.iter().enumerate() {
                @let height = *groups as f64 / most as f64 * (FLOOR - 4.0);
                rect x=(px(step * i as f64 + 0.5)) y=(px(FLOOR - height)) width=(px((step - 1.0).max(0.5)))
                    height=(px(height)) fill="#62a3c6" {
                    title {
                        (grouped(*from)) @if to > from { " to " (grouped(*to)) } " people: " (number_of(*groups, "group", "groups"))
                    }
                }
            }
            line x1="0" y1=(FLOOR) x2=(WIDTH) y2=(FLOOR) stroke="#5b6875" {}
            @for (text, at, _) in &labels {
                text x=(px(*at)) y=(HEIGHT - 5.0) text-anchor="middle" { (text) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_leave_room_for_each_other() {
        let drawn = histogram("t", &[(100_000, 100_000, 5), (200_000, 200_000, 1)]).into_string();
        assert!(drawn.contains(">100,000<") && drawn.contains(">200,000<"), "{drawn}");
        let many: Vec<_> = (0..60).map(|i| (1_000_000 + i, 1_000_000 + i, 60 - i)).collect();
        assert_eq!(histogram("t", &many).into_string().matches("<text").count(), 2);
        assert!(!histogram("t", &[]).into_string().contains("<text"));
    }
}
