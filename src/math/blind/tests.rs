//! The rule against vectors, and against an adversary who replays it on every table.

use super::limits::LimitRule;
use super::tree::{CandidateNode, CandidateTree, Publication};
use super::{BlindPoint, BlindTargets, ShareLimits};
use crate::math::exact::{Rational, parse_fraction, ratio};
use crate::math::random::Random;
use serde_json::Value;
use std::collections::BTreeMap;

/// What anybody sees of a publication: the groups with their counts.
type Seen = Vec<(usize, Vec<u64>)>;

/// A tree with the people of each node.
struct Nested {
    tree: CandidateTree,
    people: Vec<Vec<usize>>,
}

impl Nested {
    fn read(tree: &Value) -> Nested {
        fn add(tree: &Value, nodes: &mut Vec<CandidateNode>, people: &mut Vec<Vec<usize>>) -> usize {
            let children =
                tree["children"].as_array().unwrap().iter().map(|child| add(child, nodes, people)).collect();
            let own: Vec<usize> = tree["people"]
                .as_array()
                .unwrap()
                .iter()
                .map(|person| person.as_u64().unwrap() as usize)
                .collect();
            nodes.push(CandidateNode { people: own.len() as u64, children });
            people.push(own);
            nodes.len() - 1
        }
        let (mut nodes, mut people) = (vec![], vec![]);
        add(tree, &mut nodes, &mut people);
        Nested { tree: CandidateTree::new(nodes), people }
    }

    /// A tree over consecutive people with up to three children per node.
    fn random(size: usize, leaf: usize, random: &mut Random) -> Nested {
        fn add(
            people: std::ops::Range<usize>,
            leaf: usize,
            random: &mut Random,
            out: &mut (Vec<CandidateNode>, Vec<Vec<usize>>),
        ) -> usize {
            let mut children = vec![];
            if people.len() >= 2 * leaf && random.below(5) > 0 {
                let parts = random.between(2, 3).min((people.len() / leaf) as u64) as usize;
                let mut start = people.start;
                for part in 0..parts {
                    let later = (parts - part - 1) * leaf;
                    let most = people.end - later - start;
                    let size =
                        if later == 0 { most } else { random.between(leaf as u64, most as u64) as usize };
                    children.push(add(start..start + size, leaf, random, out));
                    start += size;
                }
            }
            out.0.push(CandidateNode { people: people.len() as u64, children });
            out.1.push(people.collect());
            out.0.len() - 1
        }
        let mut out = (vec![], vec![]);
        add(0..size, leaf, random, &mut out);
        Nested { tree: CandidateTree::new(out.0), people: out.1 }
    }

    fn counts(&self, table: &[usize], values: usize) -> Vec<Vec<u64>> {
        let count = |people: &Vec<usize>| {
            let mut counts = vec![0; values];
            people.iter().for_each(|&person| counts[table[person]] += 1);
            counts
        };
        self.people.iter().map(count).collect()
    }

    /// What anybody sees: the groups with their counts; nothing if the rule fails.
    fn seen(&self, published: &Publication, counts: &[Vec<u64>]) -> Option<Seen> {
        Some(published.nodes.as_ref()?.iter().map(|&node| (node, counts[node].clone())).collect())
    }
}

fn point([l, k, m]: [usize; 3], confidence: &str) -> BlindPoint {
    BlindPoint::new(BlindTargets::Every, [l, k, m], parse_fraction(confidence).unwrap()).unwrap()
}

#[test]
fn the_vectors_pass_exactly() {
    let path = format!("{}/tests/vectors/blind.json", env!("CARGO_MANIFEST_DIR"));
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 200);
    for (number, case) in cases.iter().enumerate() {
        let nested = Nested::read(&case["tree"]);
        let names = ["a", "b", "c", "d", "e"];
        let code = |value: &Value| names.iter().position(|name| Some(*name) == value.as_str()).unwrap();
        let table: Vec<usize> = case["values"].as_array().unwrap().iter().map(code).collect();
        let l = case["l"].as_u64().unwrap() as usize;
        let points = [point([l, 0, 0], case["confidence"].as_str().unwrap())];
        let counts = nested.counts(&table, names.len());
        let limits = unlimited();
        let published = nested.tree.publish(&counts, &points, &limits);
        assert_eq!(published.counting, super::Counting::Exact);
        let groups =
            published.nodes.map(|nodes| nodes.into_iter().map(|node| nested.people[node].clone()).collect());
        let expected: Option<Vec<Vec<usize>>> = case["published"].as_array().map(|groups| {
            let people = |group: &Value| {
                group.as_array().unwrap().iter().map(|person| person.as_u64().unwrap() as usize).collect()
            };
            groups.iter().map(people).collect()
        });
        assert_eq!(groups, expected, "case {number}");
    }
}

/// Limits that nothing exceeds; for trees that are counted.
fn unlimited() -> ShareLimits {
    ShareLimits::new(&[point([0, 0, 0], "1")], &[]).unwrap()
}

/// All tables of so many people and values.
fn tables(people: usize, values: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..values.pow(people as u32)).map(move |number| {
        let mut rest = number;
        (0..people)
            .map(|_| {
                let value = rest % values;
                rest /= values;
                value
            })
            .collect()
    })
}

/// Whether the point holds, by its definition, on equally likely tables.
fn holds(point: &BlindPoint, tables: &[&Vec<usize>], values: usize) -> bool {
    let people = tables[0].len();
    let mut known: Vec<Vec<(usize, usize)>> = vec![vec![]];
    for _ in 0..point.k {
        let longer: Vec<_> = known
            .iter()
            .flat_map(|known| {
                let start = known.last().map_or(0, |&(person, _)| person + 1);
                (start..people).flat_map(move |person| {
                    (0..values).map(move |value| [&known[..], &[(person, value)]].concat())
                })
            })
            .collect();
        known.extend(longer);
    }
    known.iter().all(|known| {
        let left: Vec<&&Vec<usize>> = tables
            .iter()
            .filter(|table| known.iter().all(|&(person, value)| table[person] == value))
            .collect();
        let others = |person: usize| known.iter().all(|&(other, _)| other != person);
        left.is_empty()
            || (0..people).filter(|&target| others(target)).all(|target| {
                (0..values).filter(|&value| point.protects(value)).all(|value| {
                    let implied: Vec<Option<usize>> = match point.m {
                        0 => vec![None],
                        _ => {
                            (0..people).filter(|&other| other != target && others(other)).map(Some).collect()
                        }
                    };
                    implied.iter().all(|implied| {
                        let mut having = vec![0u64; values];
                        for table in &left {
                            let consistent =
                                table[target] == value || implied.is_none_or(|other| table[other] != value);
                            having[table[target]] += u64::from(consistent);
                        }
                        let so = having.swap_remove(value);
                        having.sort_unstable();
                        having.truncate(having.len().saturating_sub(point.l));
                        so == 0 || ratio(so, so + having.iter().sum::<u64>()) < point.confidence
                    })
                })
            })
    })
}

/// What replaying the rule on every table shows.
#[derive(Debug, Default)]
struct Replayed {
    publications: usize,
    /// Publications that hold an inner node.
    inner: usize,
    /// Tables for which the rule fails.
    failed: usize,
    /// Publications after which somebody reaches the confidence.
    broken: usize,
}

impl Replayed {
    fn add(&mut self, other: Replayed) {
        self.publications += other.publications;
        self.inner += other.inner;
        self.failed += other.failed;
        self.broken += other.broken;
    }
}

/// Replays the rule on every table, and judges what whoever sees a publication is left with.
fn replay(
    nested: &Nested,
    points: &[BlindPoint],
    values: usize,
    publish: impl Fn(&[Vec<u64>]) -> Publication,
) -> Replayed {
    let all: Vec<Vec<usize>> = tables(nested.people.last().unwrap().len(), values).collect();
    let mut seen: BTreeMap<Seen, Vec<&Vec<usize>>> = BTreeMap::new();
    let mut replayed = Replayed::default();
    let mut of_counts: BTreeMap<Vec<Vec<u64>>, Publication> = BTreeMap::new();
    for table in &all {
        let counts = nested.counts(table, values);
        let published = of_counts.entry(counts.clone()).or_insert_with(|| publish(&counts));
        match nested.seen(published, &counts) {
            Some(publication) => seen.entry(publication).or_default().push(table),
            None => replayed.failed += 1,
        }
    }
    replayed.publications = seen.len();
    for (publication, tables) in &seen {
        let inner = |(node, _): &(usize, Vec<u64>)| !nested.tree.nodes()[*node].children.is_empty();
        replayed.inner += usize::from(publication.iter().any(inner));
        replayed.broken += usize::from(!points.iter().all(|point| holds(point, tables, values)));
    }
    replayed
}

fn replay_counted(nested: &Nested, points: &[BlindPoint], values: usize) -> Replayed {
    let limits = unlimited();
    replay(nested, points, values, |counts| {
        let published = nested.tree.publish(counts, points, &limits);
        assert_eq!(published.counting, super::Counting::Exact);
        published
    })
}

const POINTS: [([usize; 3], &str); 8] = [
    ([0, 0, 0], "2/3"),
    ([0, 0, 0], "4/5"),
    ([1, 0, 0], "4/5"),
    ([1, 0, 0], "9/10"),
    ([0, 1, 0], "4/5"),
    ([1, 1, 0], "9/10"),
    ([0, 0, 1], "5/6"),
    ([0, 1, 1], "9/10"),
];

#[test]
fn nobody_who_replays_the_counted_rule_reaches_the_confidence() {
    let mut random = Random::new(13);
    let mut sum = Replayed::default();
    for round in 0..24 {
        let (knowledge, confidence) = POINTS[round % POINTS.len()];
        let nested = Nested::random(5 + round % 2, 2, &mut random);
        sum.add(replay_counted(&nested, &[point(knowledge, confidence)], 3));
    }
    assert!(sum.publications > 300 && sum.inner > 20 && sum.failed > 500, "{sum:?}");
    assert_eq!(sum.broken, 0);
}

/// A point that protects the first of two values.
fn point_of_one(knowledge: [usize; 3], confidence: &str) -> BlindPoint {
    let confidence = parse_fraction(confidence).unwrap();
    BlindPoint::new(BlindTargets::These(vec![0]), knowledge, confidence).unwrap()
}

#[test]
fn nobody_who_replays_the_limits_reaches_the_confidence() {
    let mut random = Random::new(14);
    let mut sum = Replayed::default();
    for round in 0..40 {
        let confidence = ["4/5", "3/4", "9/10"][round % 3];
        let points = [point_of_one([0, 0, 0], confidence)];
        let nested = Nested::random(8 + round % 3, 3 + round % 2, &mut random);
        let limits = ShareLimits::new(&points, &[Some(0.1 * (round % 4) as f64)]).unwrap();
        sum.add(replay(&nested, &points, 2, |counts| nested.tree.publish_within(counts, &limits)));
    }
    assert!(sum.publications > 300 && sum.inner > 20 && sum.failed > 500, "{sum:?}");
    assert_eq!(sum.broken, 0);
}

#[test]
fn nobody_who_replays_the_rule_on_larger_trees_reaches_the_confidence() {
    let mut random = Random::new(15);
    let mut sum = Replayed::default();
    for round in 0..200 {
        let (knowledge, confidence) = POINTS[round % POINTS.len()];
        let (people, values) = [(7, 3), (8, 3), (10, 2), (12, 2)][round / 4 % 4];
        if people > 8 && knowledge != [0, 0, 0] && knowledge != [1, 0, 0] {
            continue;
        }
        let nested = Nested::random(people, 2 + round % 3, &mut random);
        sum.add(replay_counted(&nested, &[point(knowledge, confidence)], values));
        let points = [point_of_one(knowledge, confidence)];
        if let Ok(limits) = ShareLimits::new(&points, &[Some(0.1 * (round % 4) as f64)]) {
            sum.add(replay(&nested, &points, values, |counts| nested.tree.publish_within(counts, &limits)));
        }
    }
    println!("{sum:?}");
    assert_eq!(sum.broken, 0);
}

/// A node that is judged by all of its arrangements, instead of those that lead to it, is not safe.
#[test]
fn the_test_notices_a_rule_that_forgets_how_it_got_there() {
    let mut sum = Replayed::default();
    for sizes in [2..5, 2..6] {
        let people: Vec<Vec<usize>> =
            vec![(0..2).collect(), sizes.clone().collect(), (0..sizes.end).collect()];
        let node = |people: &Vec<usize>| CandidateNode { people: people.len() as u64, children: vec![] };
        let mut nodes: Vec<CandidateNode> = people.iter().map(node).collect();
        nodes[2].children = vec![0, 1];
        let nested = Nested { tree: CandidateTree::new(nodes.clone()), people };
        let point = point([0, 0, 0], "3/4");
        sum.add(replay(&nested, std::slice::from_ref(&point), 3, |counts| {
            let safe = |node: usize| {
                ratio(*counts[node].iter().max().unwrap(), counts[node].iter().sum()) < point.confidence
            };
            let mut out: Vec<Option<Vec<usize>>> = vec![];
            for (at, node) in nodes.iter().enumerate() {
                let parts: Option<Vec<Vec<usize>>> =
                    node.children.iter().map(|&child| out[child].clone()).collect();
                let parts = parts.filter(|parts| !parts.is_empty()).map(|parts| parts.concat());
                out.push(parts.or_else(|| safe(at).then(|| vec![at])));
            }
            Publication { nodes: out.pop().flatten(), counting: super::Counting::Exact, failed_leaves: 0 }
        }));
    }
    assert!(sum.broken > 0, "{sum:?}");
}

/// The chances of one value in a large tree, by convolution: nothing is taken from the proof of the limits.
struct Shares<'a> {
    tree: &'a CandidateTree,
    /// The known people of each leaf, and how many of them have the value.
    known: BTreeMap<usize, (u64, u64)>,
    /// The leaf whose count is weighed.
    leaf: usize,
}

/// Ways by count of the value: in all, and for which the node fails; and the same weighed by the count of a leaf.
struct Ways {
    all: Vec<f64>,
    failing: Vec<f64>,
    all_weighed: Vec<f64>,
    failing_weighed: Vec<f64>,
}

fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; a.len() + b.len() - 1];
    for (i, a) in a.iter().enumerate().filter(|(_, a)| **a > 0.0) {
        for (j, b) in b.iter().enumerate() {
            product[i + j] += a * b;
        }
    }
    product
}

fn sum_of(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

impl Shares<'_> {
    /// The ways of a node, and those for which some child fails, both plain and weighed.
    fn ways(&self, rule: &LimitRule<'_>, node: usize, largest: &mut f64) -> Ways {
        let people = self.tree.nodes()[node].people;
        let children = &self.tree.nodes()[node].children;
        let bad = |count: usize| rule.is_bad(node, &[count as u64, people - count as u64]);
        if children.is_empty() {
            let (known, having) = self.known.get(&node).copied().unwrap_or_default();
            let (free, mut all) = ((people - known) as usize, vec![0.0; people as usize + 1]);
            let mut ways = 1.0;
            for count in 0..=free {
                all[count + having as usize] = ways;
                ways *= (free - count) as f64 / (count + 1) as f64;
            }
            let weigh = |ways: &[f64]| -> Vec<f64> {
                let weight = |count: usize| (count as f64 - having as f64) / free as f64;
                let own = if node == self.leaf { 1.0 } else { 0.0 };
                ways.iter().enumerate().map(|(count, ways)| own * (ways * weight(count)).max(0.0)).collect()
            };
            let failing: Vec<f64> =
                all.iter().enumerate().map(|(count, ways)| if bad(count) { *ways } else { 0.0 }).collect();
            return Ways { all_weighed: weigh(&all), failing_weighed: weigh(&failing), all, failing };
        }
        let mut sum =
            Ways { all: vec![1.0], failing: vec![0.0], all_weighed: vec![0.0], failing_weighed: vec![0.0] };
        for &child in children {
            let own = self.ways(rule, child, largest);
            let passing = difference(&sum.all, &sum.failing);
            let passing_weighed = difference(&sum.all_weighed, &sum.failing_weighed);
            sum = Ways {
                failing: sum_of(&product(&sum.failing, &own.all), &product(&passing, &own.failing)),
                failing_weighed: sum_of(
                    &sum_of(
                        &product(&sum.failing_weighed, &own.all),
                        &product(&passing_weighed, &own.failing),
                    ),
                    &sum_of(
                        &product(&sum.failing, &own.all_weighed),
                        &product(&passing, &own.failing_weighed),
                    ),
                ),
                all_weighed: sum_of(
                    &product(&sum.all_weighed, &own.all),
                    &product(&sum.all, &own.all_weighed),
                ),
                all: product(&sum.all, &own.all),
            };
        }
        for count in 0..sum.all.len() {
            if bad(count) {
                continue;
            }
            if sum.failing[count] > 0.0 && sum.failing[count] > 1e-12 * sum.all[count] {
                *largest = largest.max(sum.failing_weighed[count] / sum.failing[count]);
            }
            (sum.failing[count], sum.failing_weighed[count]) = (0.0, 0.0);
        }
        sum
    }
}

/// The chance of the value for every person of every node within its limits, if the node is published.
#[test]
fn shares_in_trees_of_hundreds_of_people_stay_below_the_confidence() {
    let mut proved = 0;
    for (round, (confidence, usual, known, shape)) in [
        ("3/5", 0.2, 0, [30, 4, 3]),
        ("3/5", 0.3, 0, [40, 5, 2]),
        ("4/5", 0.3, 1, [30, 4, 3]),
        ("4/5", 0.1, 2, [40, 3, 3]),
        ("1/2", 0.1, 0, [24, 8, 2]),
        ("1/2", 0.2, 1, [60, 4, 2]),
    ]
    .into_iter()
    .enumerate()
    {
        let [leaf, leaves, blocks] = shape;
        let (mut nodes, mut tops) = (vec![], vec![]);
        for block in 0..blocks {
            let first = nodes.len();
            // Leaves of different sizes.
            let sizes: Vec<u64> = (0..leaves).map(|at| leaf + (at * 7 + block) % 11).collect();
            nodes.extend(sizes.iter().map(|&people| CandidateNode { people, children: vec![] }));
            tops.push(nodes.len());
            nodes
                .push(CandidateNode { people: sizes.iter().sum(), children: (first..nodes.len()).collect() });
        }
        let people = tops.iter().map(|&top| nodes[top].people).sum();
        nodes.push(CandidateNode { people, children: tops.clone() });
        let tree = CandidateTree::new(nodes);
        let points = [point_of_one([0, known, 0], confidence)];
        let limits = ShareLimits::new(&points, &[Some(usual)]).unwrap();
        let rule = LimitRule::new(&tree, &limits);
        let within = |node: usize| !rule.is_bad(node, &[0, tree.nodes()[node].people]);
        proved += tops.iter().chain([&tree.root()]).filter(|&&node| within(node)).count();
        let bound = parse_fraction(confidence).unwrap().to_f64().value();
        let first = tree.leaves();
        for &leaf in &[first[0], first[1], *first.last().unwrap()] {
            let known_ones = (0..=known as u64).flat_map(|own| (0..=own).map(move |having| (own, having)));
            for (own, having) in known_ones {
                let mut placed = BTreeMap::from([(leaf, (own, having))]);
                placed.insert(first[2], (known as u64 - own, known as u64 - own));
                let shares = Shares { tree: &tree, known: placed, leaf };
                let mut largest = 0.0;
                shares.ways(&rule, tree.root(), &mut largest);
                assert!(largest < bound, "round {round}, {own} known, {having} having: {largest}");
            }
        }
    }
    assert!(proved >= 6, "{proved}");
}

/// The same in trees of any shape, in which chains of nodes are proved.
#[test]
fn shares_in_random_trees_stay_below_the_confidence() {
    let mut random = Random::new(16);
    let (mut proved, mut chains) = (0, 0);
    for round in 0..60 {
        let confidence = ["1/2", "3/5", "4/5"][round % 3];
        let nested = Nested::random(200 + 4 * round, 10 + round % 21, &mut random);
        let points = [point_of_one([0, 0, 0], confidence)];
        let limits = ShareLimits::new(&points, &[Some(0.05 * (1 + round % 6) as f64)]).unwrap();
        let rule = LimitRule::new(&nested.tree, &limits);
        let nodes = nested.tree.nodes();
        let stands =
            |&node: &usize| !nodes[node].children.is_empty() && !rule.is_bad(node, &[0, nodes[node].people]);
        let standing: Vec<usize> = (0..nodes.len()).filter(stands).collect();
        proved += standing.len();
        chains += standing.iter().filter(|&&node| nodes[node].children.iter().any(stands)).count();
        let bound = parse_fraction(confidence).unwrap().to_f64().value();
        let leaves = nested.tree.leaves();
        for leaf in [leaves[0], leaves[leaves.len() / 2]] {
            let mut largest = 0.0;
            let shares = Shares { tree: &nested.tree, known: BTreeMap::new(), leaf };
            shares.ways(&rule, nested.tree.root(), &mut largest);
            assert!(largest < bound, "round {round}: {largest}");
        }
    }
    assert!(proved >= 100 && chains >= 20, "{proved} {chains}");
}

#[test]
fn limits_of_a_large_tree_are_proved_and_follow_the_declared_shares() {
    let points = [point([1, 0, 0], "1/2")];
    let limits = ShareLimits::new(&points, &[Some(0.25), Some(0.1), Some(0.1)]).unwrap();
    let leaf = super::least_leaf(100_000, &limits);
    assert!((100..2_000).contains(&leaf), "{leaf}");
    // 6 blocks of 16 leaves below a root.
    let mut nodes = vec![];
    let mut blocks = vec![];
    for _ in 0..6 {
        let first = nodes.len();
        nodes.extend((0..16).map(|_| CandidateNode { people: leaf, children: vec![] }));
        blocks.push(nodes.len());
        nodes.push(CandidateNode { people: 16 * leaf, children: (first..first + 16).collect() });
    }
    nodes.push(CandidateNode { people: 96 * leaf, children: blocks.clone() });
    let tree = CandidateTree::new(nodes);
    let mut counts: Vec<Vec<u64>> =
        vec![vec![leaf / 4, leaf / 10, leaf / 10, leaf - leaf / 4 - 2 * (leaf / 10)]; tree.nodes().len()];
    // Seven more values share what is left.
    for counts in &mut counts {
        let rest = counts.pop().unwrap();
        counts.extend([rest / 7; 6]);
        counts.push(rest - 6 * (rest / 7));
    }
    tree.add_up(&mut counts);
    let published = tree.publish(&counts, &points, &limits);
    assert_eq!(published.nodes, Some(tree.leaves()));
    assert_eq!((published.counting, published.failed_leaves), (super::Counting::Limits, 0));
    // One leaf with too many of the first value: its block is published as a whole.
    let moved = leaf / 5;
    counts[3][0] += moved;
    counts[3][3..9].iter_mut().for_each(|count| *count -= moved / 6);
    counts[3][9] -= moved - 6 * (moved / 6);
    tree.add_up(&mut counts);
    let published = tree.publish(&counts, &points, &limits);
    let mut expected: Vec<usize> = tree.leaves().into_iter().skip(16).collect();
    expected.insert(0, blocks[0]);
    assert_eq!((published.nodes, published.failed_leaves), (Some(expected), 1));
}

/// Failures that climb from a leaf to the third level: the proof of a chain is used, not only that of nodes above leaves.
#[test]
fn a_chain_of_failures_ends_at_a_node_that_is_proved() {
    let points = [point([1, 0, 0], "1/2")];
    let limits = ShareLimits::new(&points, &[Some(0.23), Some(0.1), Some(0.1)]).unwrap();
    let (leaf, mut nodes, mut blocks, mut regions) = (600, vec![], vec![], vec![]);
    for _ in 0..6 {
        let first_block = blocks.len();
        for _ in 0..12 {
            let first = nodes.len();
            nodes.extend((0..12).map(|_| CandidateNode { people: leaf, children: vec![] }));
            blocks.push(nodes.len());
            nodes.push(CandidateNode { people: 12 * leaf, children: (first..first + 12).collect() });
        }
        regions.push(nodes.len());
        nodes.push(CandidateNode { people: 144 * leaf, children: blocks[first_block..].to_vec() });
    }
    nodes.push(CandidateNode { people: 864 * leaf, children: regions.clone() });
    let tree = CandidateTree::new(nodes);
    let rule = LimitRule::new(&tree, &limits);
    let stands = |node: &&usize| !rule.is_bad(**node, &[0; 12]);
    let proved = [&blocks[..], &regions[..], &[tree.root()]].map(|nodes| nodes.iter().filter(stands).count());
    assert_eq!(proved, [72, 6, 1]);
    // Twelve values; the second block has far too many people with the first one.
    let usual = [138, 60, 60, 38, 38, 38, 38, 38, 38, 38, 38, 38];
    let many = [300, 60, 60, 20, 20, 20, 20, 20, 20, 20, 20, 20];
    assert!(usual.iter().sum::<u64>() == leaf && many.iter().sum::<u64>() == leaf);
    let mut counts: Vec<Vec<u64>> = tree.nodes().iter().map(|_| usual.to_vec()).collect();
    tree.nodes()[blocks[1]].children.iter().for_each(|&leaf| counts[leaf] = many.to_vec());
    tree.add_up(&mut counts);
    assert!(rule.is_bad(blocks[1], &counts[blocks[1]]) && !rule.is_bad(regions[0], &counts[regions[0]]));
    let published = tree.publish(&counts, &points, &limits);
    let mut expected = vec![regions[0]];
    expected.extend(tree.leaves().into_iter().skip(144));
    assert_eq!((published.nodes, published.failed_leaves), (Some(expected), 12));
}

#[test]
fn what_is_not_proved_is_refused() {
    let confidence = |text: &str| parse_fraction(text).unwrap();
    assert!(BlindPoint::new(BlindTargets::Every, [0, 0, 2], confidence("1/2")).is_err());
    assert!(BlindPoint::new(BlindTargets::Every, [0, 0, 1], Rational::ONE).is_err());
    assert!(BlindPoint::new(BlindTargets::Every, [0, 0, 0], confidence("0")).is_err());
    assert!(ShareLimits::new(&[point([0, 6, 0], "1/2")], &[]).is_err());
    assert!(ShareLimits::new(&[point([0, 0, 0], "1/2")], &[Some(0.6)]).is_err());
}
