//! The experiments, with what their papers print.

use super::{
    ExperimentFindings, ExperimentSetting, adult_skyline, beliefs, exclusive, implications, nights, replay,
    robust, scale_up, skyline_check, theorem4,
};
use crate::error::Result;

/// An experiment of a paper.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// The question it answers.
    pub question: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// Section and figures.
    pub place: &'static str,
    /// What the paper says about it, as far as it is printed.
    pub shows: &'static [&'static str],
    pub(super) sizes: Scaling,
    pub(super) run: fn(&ExperimentSetting<'_>) -> Result<ExperimentFindings>,
}

/// Whether an experiment has smaller sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scaling {
    /// Always run as in the paper.
    Fixed,
    /// It depends on the [`RunSize`](super::RunSize).
    Scaled,
}

const SKYLINE: &str = "Chen, LeFevre, Ramakrishnan: Privacy Skyline: Privacy with Multidimensional Adversarial Knowledge, VLDB 2007";
const IMPLICATIONS: &str = "Martin, Kifer, Machanavajjhala, Gehrke, Halpern: Worst-Case Background Knowledge for Privacy-Preserving Data \
     Publishing, ICDE 2007";
const ROBUST: &str = "Wong et al.: r-robustness against distributions that the adversary knows";
const BELIEFS: &str =
    "Li, Li, Zhang: Modeling and Integrating Background Knowledge in Data Anonymization, ICDE 2009";
const EXCLUSIVE: &str = "Zhang, Wang, Jajodia, Brodsky: Exclusive Strategy for Generalization Algorithms in \
     Micro-data Disclosure, DBSec 2008";

/// All experiments, in the order of the page.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "skyline-check",
        question: "How much faster is SkylineCheck than the dynamic program?",
        paper: SKYLINE,
        place: "section 7.1, Figure 7 (a) to (d)",
        shows: &[
            "Groups of 100 people, 20 uniformly distributed values, 1 to 5 million records, single values.",
            "(a) At (l, k, m) = (10, 10, 10) SkylineCheck is about 140 times faster.",
            "(b) The improvement decreases as l grows from 0 to 16.",
            "(c) It increases as k grows from 0 to 32, to about 1,000 times at k = 32.",
            "(d) It increases as m grows from 0 to 16.",
            "Each point is an average of five runs on a 2.0 GHz dual-core processor with 2 GB of memory.",
        ],
        sizes: Scaling::Scaled,
        run: skyline_check::run,
    },
    Experiment {
        name: "scale-up",
        question: "Does SkylineAnonymize scale to tables much larger than memory?",
        paper: SKYLINE,
        place: "section 7.2, Figure 8",
        shows: &[
            "Synthetic tuples of 44 bytes, zipcode (9 values) sensitive, a single-processor 2.4 GHz machine with 512 MB \
             of memory, (l, k, m) = (0, 1000, 0) and (3, 1000, 10).",
            "In each case the scale-up is well-behaved for tables substantially larger than main memory. The text \
             prints neither times nor the confidence.",
        ],
        sizes: Scaling::Scaled,
        run: scale_up::run,
    },
    Experiment {
        name: "adult-skyline",
        question: "How much may someone know about a (3,6)-diverse release of Adult?",
        paper: SKYLINE,
        place: "section 7.3",
        shows: &[
            "A (c = 3, l = 6)-diverse release of Adult (45,222 records, occupation sensitive) made by its anonymizer. The \
             quasi-identifiers and hierarchies are not printed.",
            "Knowledge skyline of Exec-managerial at 95%: (0,4,0), (1,3,1), (2,2,2), (3,1,2), (2,1,3), (4,0,3), (3,0,4).",
            "So the values of five people can be enough to reach 95%: an l-diverse release can be quite unsafe.",
        ],
        sizes: Scaling::Fixed,
        run: adult_skyline::run,
    },
    Experiment {
        name: "theorem4",
        question: "How often does merging groups raise a risk, for sets and multisets?",
        paper: SKYLINE,
        place: "section 5.2",
        shows: &[
            "Theorem 4 (T, V and minNR of a group are at least what its parts allow) is proved for single values only.",
            "In a simulation for sets and multisets it failed in 100 of 7,778,625,148 randomly generated partitionings. How \
             these were drawn is not printed.",
        ],
        sizes: Scaling::Scaled,
        run: theorem4::run,
    },
    Experiment {
        name: "implications",
        question: "What do k implications disclose at most, and what has entropy to do with it?",
        paper: IMPLICATIONS,
        place: "section 4, Figures 5 and 6",
        shows: &[
            "Adult (45,222 tuples): age, marital status, race, gender; occupation sensitive. Age has six levels (as it is, \
             intervals of 5, 10, 20, 40, suppressed), marital status three, race and gender two.",
            "Figure 5: age in intervals of 20, all else suppressed, k from 0 to 12. Negated atoms always disclose less \
             than implications, and the difference is not too large.",
            "Figure 6: over all tables of the lattice, for k = 1, 3, 5, 7, 9, 11, the least disclosure among tables of equal \
             minimum entropy decreases monotonically with that entropy.",
        ],
        sizes: Scaling::Fixed,
        run: implications::run,
    },
    Experiment {
        name: "robust",
        question: "What does ART cost, and is what Delta accepts robust?",
        paper: ROBUST,
        place: "Table V, sections IV and V",
        shows: &[
            "Table V: Dceil for eight choices of N, r and fmax, four digits each.",
            "Theorems 1 and 3: a group that Delta accepts links nobody to a value with a probability above 1/r.",
            "The abstract says that ART preserves utility at a higher or comparable level than algorithms that protect less; the text \
             at hand has no figures of it.",
        ],
        sizes: Scaling::Scaled,
        run: robust::run,
    },
    Experiment {
        name: "beliefs",
        question: "What does an adversary who knows the correlations in Adult learn?",
        paper: BELIEFS,
        place: "section V, Figures 1 to 6, Tables IV and V",
        shows: &[
            "Adult, about 30K tuples, six quasi-identifiers, occupation sensitive; four tables by Mondrian: distinct l-diversity, \
             probabilistic l-diversity, t-closeness and (B,t)-privacy, with (k, l, t) from (3, 3, 0.25) to (6, 6, 0.1) and b = 0.3.",
            "Figure 1: the (B,t)-private table has much fewer vulnerable tuples in all cases; they decrease as b' grows.",
            "Figure 2: the Omega-estimate is within 0.1 of the exact distance, averaged over 100 groups.",
            "Figure 3: the worst-case risk changes continuously with b, and with (b1, b2).",
            "Figure 4: making the tables takes seconds, computing background knowledge usually several minutes (3.4 GHz Pentium 4, 2 GB).",
            "Figures 5 and 6: comparable discernibility and certainty penalty; queries are answered as accurately as from the other \
             tables, with errors that decrease as dimension or selectivity grow.",
        ],
        sizes: Scaling::Scaled,
        run: beliefs::run,
    },
    Experiment {
        name: "exclusive",
        question: "What do the naive, the inclusive and the exclusive strategy publish?",
        paper: EXCLUSIVE,
        place: "Examples 1 to 8, section 3",
        shows: &[
            "Recursive (2,2)-diversity, ten people, three functions. G0: naive publishes the second function; the inclusive \
             and the exclusive strategy publish nothing.",
            "Gb: the inclusive strategy publishes nothing, the exclusive one the third function.",
            "The share of c4 for E in the third disclosure set of G0 is 0.8 under the inclusive strategy (Example 7) and \
             0.647 under the exclusive one (Example 8).",
            "In general the utility of the two strategies is incomparable; no frequencies are printed.",
        ],
        sizes: Scaling::Scaled,
        run: exclusive::run,
    },
    Experiment {
        name: "replay",
        question: "How many people does somebody become sure of who repeats the choice of groups?",
        paper: EXCLUSIVE,
        place: "section 1",
        shows: &[
            "An adversary who knows the algorithm can rule out tables for which something else would have been published. The \
             paper shows it on tables of ten people; it has no numbers for large ones.",
        ],
        sizes: Scaling::Scaled,
        run: replay::run,
    },
    Experiment {
        name: "nights",
        question: "What do two releases of overlapping people give away, and what if the second is appended?",
        paper: "No paper: a measurement of this program",
        place: "mathematics 11",
        shows: &[
            "Releases that are safe alone are not safe together: groups of both are subtracted from each other.",
        ],
        sizes: Scaling::Scaled,
        run: nights::run,
    },
];

/// The experiment with this name.
pub fn experiment(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}
