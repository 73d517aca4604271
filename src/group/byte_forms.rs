//! Finished groups as bytes.

use super::groups::{Group, Present};
use crate::model::obstacle::{Obstacle, ObstructingRule};
use crate::resources::byte_form::{ByteForm, ByteReader};

impl ByteForm for Present {
    fn write(&self, bytes: &mut Vec<u8>) {
        let Present { ends, least_above, codes } = self;
        ends.write(bytes);
        least_above.write(bytes);
        codes.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let (ends, least_above) = (ByteForm::read(bytes)?, u32::read(bytes)?);
        Some(Present { ends, least_above, codes: ByteForm::read(bytes)? })
    }
}

impl ByteForm for Obstacle {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.target.write(bytes);
        let (kind, further): (u8, (u16, Option<u16>)) = match self.rule {
            ObstructingRule::NothingToCut => (0, (0, None)),
            ObstructingRule::People => (1, (0, None)),
            ObstructingRule::Distinct => (2, (0, None)),
            ObstructingRule::Point { point, code } => (3, (point, code)),
            ObstructingRule::Shares(criterion) => (4, (criterion, None)),
            ObstructingRule::Windows => (5, (0, None)),
            ObstructingRule::Adversary => (6, (0, None)),
        };
        kind.write(bytes);
        further.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let target = u16::read(bytes)?;
        let rule = match (u8::read(bytes)?, <(u16, Option<u16>)>::read(bytes)?) {
            (0, (0, None)) => ObstructingRule::NothingToCut,
            (1, (0, None)) => ObstructingRule::People,
            (2, (0, None)) => ObstructingRule::Distinct,
            (3, (point, code)) => ObstructingRule::Point { point, code },
            (4, (criterion, None)) => ObstructingRule::Shares(criterion),
            (5, (0, None)) => ObstructingRule::Windows,
            (6, (0, None)) => ObstructingRule::Adversary,
            _ => return None,
        };
        Some(Obstacle { target, rule })
    }
}

impl ByteForm for Group {
    fn write(&self, bytes: &mut Vec<u8>) {
        let Group { node, present, part, obstacle } = self;
        node.write(bytes);
        present.write(bytes);
        part.write(bytes);
        obstacle.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(Group {
            node: u32::read(bytes)?,
            present: ByteForm::read(bytes)?,
            part: ByteForm::read(bytes)?,
            obstacle: ByteForm::read(bytes)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::group_counts::{GroupCounts, Part};
    use crate::group::tree::{Cut, CutTree};
    use proptest::prelude::*;

    fn read<T: ByteForm>(bytes: &[u8]) -> Option<T> {
        T::read(&mut ByteReader::new(bytes))
    }

    fn obstacle() -> impl Strategy<Value = Obstacle> {
        let rule = (0u8..7, any::<u16>(), any::<Option<u16>>()).prop_map(|(kind, number, code)| match kind {
            0 => ObstructingRule::NothingToCut,
            1 => ObstructingRule::People,
            2 => ObstructingRule::Distinct,
            3 => ObstructingRule::Point { point: number, code },
            4 => ObstructingRule::Shares(number),
            5 => ObstructingRule::Windows,
            _ => ObstructingRule::Adversary,
        });
        (any::<u16>(), rule).prop_map(|(target, rule)| Obstacle { target, rule })
    }

    prop_compose! {
        fn group()(
            node in any::<u32>(), ends in any::<(u32, u32)>(), codes in prop::collection::vec(any::<u16>(), 0..4),
            counts in prop::collection::vec(0u64..9, 0..5), obstacle in prop::option::of(obstacle()),
        ) -> Group {
            let part = Part::of(&GroupCounts { people: counts.iter().sum(), counts });
            Group { node, present: vec![Present { ends, least_above: ends.0, codes }], part, obstacle }
        }
    }

    proptest! {
        #[test]
        fn groups_come_back(groups in prop::collection::vec(group(), 0..4)) {
            let mut bytes = Vec::new();
            groups.write(&mut bytes);
            prop_assert_eq!(read::<Vec<Group>>(&bytes), Some(groups));
        }

        #[test]
        fn trees_come_back_and_damaged_ones_can_be_walked(
            cuts in prop::collection::vec((0usize..30, 0usize..3, prop::collection::btree_set(0u32..300, 1..4)), 0..9),
            place in any::<prop::sample::Index>(), byte in any::<u8>(), codes in prop::array::uniform3(0u16..300),
        ) {
            let mut tree = CutTree::default();
            for (at, column, boundaries) in cuts {
                let groups = tree.groups_below(CutTree::ROOT);
                tree.split(groups[at % groups.len()], Cut { column, boundaries: boundaries.into_iter().collect() });
            }
            let mut bytes = Vec::new();
            tree.write(&mut bytes);
            prop_assert_eq!(read::<CutTree>(&bytes), Some(tree));
            let damaged = place.index(bytes.len());
            bytes[damaged] = byte;
            if let Some(tree) = read::<CutTree>(&bytes) {
                let found = tree.find(|column| codes[column % 3]);
                prop_assert!(tree.groups_below(CutTree::ROOT).contains(&found));
            }
        }
    }
}
