//! Where do the people sit whose values are known?

use super::tail::Dealing;

/// Where the known people of a node sit, and how many of them have the value.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedKnown {
    in_part: u64,
    /// Of those in the part, the people who have the value.
    pub(super) having_in_part: u64,
    elsewhere: u64,
    having_elsewhere: u64,
}

impl PlacedKnown {
    /// Every way to place so many.
    pub(super) fn all(known: usize) -> impl Iterator<Item = PlacedKnown> {
        let known = known as u64;
        (0..=known).flat_map(move |in_part| {
            (0..=in_part).flat_map(move |having_in_part| {
                (0..=known - in_part).flat_map(move |elsewhere| {
                    (0..=elsewhere).map(move |having_elsewhere| PlacedKnown {
                        in_part,
                        having_in_part,
                        elsewhere,
                        having_elsewhere,
                    })
                })
            })
        })
    }

    /// The most people who can have the value: all but those who are known not to.
    pub(super) fn most_having(&self, people: u64) -> i64 {
        let lacking = self.in_part + self.elsewhere - self.having_in_part - self.having_elsewhere;
        people as i64 - lacking as i64
    }

    /// How the people who are not known are dealt; `None` if there are not so many.
    pub(super) fn dealing(&self, people: u64, having: i64, part: u64) -> Option<Dealing> {
        let people_left = people.checked_sub(self.in_part + self.elsewhere)?;
        let having_left =
            u64::try_from(having).ok()?.checked_sub(self.having_in_part + self.having_elsewhere)?;
        let dealt = part.checked_sub(self.in_part)?;
        (having_left <= people_left && dealt <= people_left).then_some(Dealing {
            people: people_left,
            having: having_left,
            dealt,
        })
    }
}
