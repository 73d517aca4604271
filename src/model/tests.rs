use super::adversaries::Model;
use std::path::Path;

use super::beliefs::BeliefBound;
use super::implications::ImplicationsModel;
use super::robust::{Distributions, RobustTest};
use super::shares::ShareCriterion;
use super::skyline::{ProtectedValues, SkylineModel, SkylineRequirement};
use super::*;
use crate::error::Error;
use crate::math::exact::{Rational, parse_fraction, ratio};
use crate::math::shares::Ground;
use crate::policy::{Coarseness, Role, Style};

const DESIGN: &str = r#"
[columns]
sensitive = "disease"
drop      = ["name", "ssn"]
keep      = ["cost"]

[columns.quasi.age]
domain = [0, 120]
[columns.quasi.zip]
prefix = [4, 3]
[columns.quasi.city]

[privacy]
model  = "skyline"
values = "single"

[[privacy.skyline]]
l = 3
k = 1000
m = 10
confidence = 0.5
[[privacy.skyline]]
for = ["HIV"]
l = 4
k = 1000
m = 10
confidence = "1/5"

[publish]
style  = "generalized"
ranges = "label"
"#;

fn skyline(points: Vec<SkylineRequirement>) -> Model {
    Model::Skyline(SkylineModel { points })
}

fn policy(text: &str) -> Policy {
    Policy::parse(text, "p.toml").unwrap_or_else(|why| panic!("{why}"))
}

fn mistakes(text: &str) -> String {
    let why = Policy::parse(text, "p.toml").expect_err("a policy with mistakes");
    let Error::Policy { file, mistakes } = why else { panic!("{why}") };
    assert_eq!(file, Path::new("p.toml"));
    mistakes.iter().map(|mistake| mistake.to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_policy_of_the_design_is_understood() {
    let policy = policy(DESIGN);
    let names: Vec<&str> = policy.columns.quasi.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["age", "city", "zip"]);
    let [target] = &policy.privacy.targets[..] else { panic!() };
    assert_eq!(target.name(), "disease");
    let hiv = ProtectedValues::These(vec!["HIV".to_string()]);
    let point =
        |values, l, confidence: Rational| SkylineRequirement { values, l, k: 1000, m: 10, confidence };
    assert_eq!(
        target.model,
        skyline(vec![point(ProtectedValues::Every, 3, ratio(1, 2)), point(hiv, 4, ratio(1, 5))])
    );
    let roles = policy.bind(&["age", "ssn", "zip", "city", "name", "disease", "cost"]).unwrap();
    use Role::*;
    assert_eq!(roles, [Quasi(0), Drop, Quasi(2), Quasi(1), Drop, Sensitive(0), Keep]);
}

#[test]
fn the_canonical_text_is_the_same_policy() {
    let first = policy(DESIGN);
    let again = policy(&first.canonical());
    assert_eq!(first.canonical(), again.canonical());
}

#[test]
fn several_mistakes_are_reported_together() {
    let text = "\
[columns]
sensitve = 1
[columns.quasi.a]
domain = [3, 1]
levels = [5, 7]
[[privacy.skyline]]
l = -1
k = 99999999999999999999999999999999999999999999999
confidence = 1.5
";
    assert_eq!(
        mistakes(text),
        "\
line 1: columns.sensitive: is missing; sensitive = \"the column to protect\"
line 2: columns.sensitve: is not a known key; did you mean sensitive?
line 4: columns.quasi.a.domain: has no meaning beside levels; leave out domain or levels
line 5: columns.quasi.a.levels[1]: 7 is not a wider multiple of 5; make each width a multiple of the one before it, such as [5, 10, 20, 40]
line 7: privacy.skyline[0].l: -1 is too small; the least is 0
line 8: privacy.skyline[0].k: 99999999999999999999999999999999999999999999999 is too large; the most is 1000000000
line 9: privacy.skyline[0].confidence: 3/2 is out of range; a confidence is more than 0 and at most 1"
    );
}

/// A policy with these keys below `[columns]`, these sections, and a k-anonymity of 5.
fn with(columns: &str, sections: &str) -> String {
    format!("[columns]\nsensitive = \"d\"\n{columns}\n{sections}\n[privacy]\nk_anonymity = 5\n")
}

/// A policy for the sensitive column `d` and the quasi-identifiers `a` and `b`, with this `[privacy]`.
fn private(privacy: &str) -> String {
    format!("[columns]\nsensitive = \"d\"\nquasi = [\"a\", \"b\"]\n[privacy]\n{privacy}\n")
}

fn model(privacy: &str) -> Model {
    policy(&private(privacy)).privacy.targets[0].model.clone()
}

#[test]
fn thresholds_are_exact() {
    for (text, exact) in [
        ("0.1", ratio(1, 10)),
        ("\"1/3\"", ratio(1, 3)),
        ("1e-3", ratio(1, 1000)),
        ("0.30000000000000004", parse_fraction("30000000000000004/100000000000000000").unwrap()),
        ("1", ratio(1, 1)),
        ("1_0.0e-2", ratio(1, 10)),
    ] {
        let Model::Skyline(SkylineModel { points }) =
            model(&format!("skyline = [{{ confidence = {text} }}]"))
        else {
            panic!()
        };
        assert_eq!(points[0].confidence, exact, "{text}");
    }
    for text in ["0", "0.0", "-0.5", "1.5", "\"3/2\""] {
        let found = mistakes(&private(&format!("skyline = [{{ confidence = {text} }}]")));
        assert!(found.contains("out of range; a confidence is more than 0 and at most 1"), "{found}");
    }
    for text in ["\"abc\"", "nan", "inf", "true", "[1]", "\"1/0\"", "1e-1999", "0x1"] {
        let found = mistakes(&private(&format!("skyline = [{{ confidence = {text} }}]")));
        assert_eq!(
            found,
            "line 5: privacy.skyline[0].confidence: is not a number that can be read exactly; \
             write a decimal or a fraction, such as 0.5 or \"1/3\"",
            "{text}"
        );
    }
}

#[test]
fn only_models_that_judge_who_is_missing_may_leave_people_out() {
    let robust = "model = \"robust\"\nr = 2\nsuppress = ";
    let publish = "[publish]\nstyle = \"bucketized\"\n";
    for share in ["\"1%\"", "0.01", "\"1/100\"", "\"1 %\"", "\"0.5e1%\""] {
        let text = private(&format!("{robust}{share}\n{publish}"));
        let own = policy(&text);
        let expected = if share.contains('e') { ratio(1, 20) } else { ratio(1, 100) };
        assert_eq!(*own.privacy.suppress.exact(), expected, "{share}");
        assert_eq!(policy(&own.canonical()).privacy, own.privacy, "{share}");
    }
    for share in ["\"100%\"", "\"-1%\"", "1", "\"few\"", "\"%\"", "true"] {
        assert!(!mistakes(&private(&format!("{robust}{share}\n{publish}"))).is_empty(), "{share}");
    }
    let skyline = private("suppress = \"1%\"\nl_diversity = { c = 3, l = 6 }");
    assert!(mistakes(&skyline).contains("leaves nobody out"), "{}", mistakes(&skyline));
}

#[test]
fn shorthands_are_expanded() {
    let every =
        |l, confidence| SkylineRequirement { values: ProtectedValues::Every, l, k: 0, m: 0, confidence };
    assert_eq!(model("l_diversity = { c = 3, l = 6 }"), skyline(vec![every(4, ratio(3, 4))]));
    assert_eq!(model("l_diversity = { c = 0.5, l = 2 }"), skyline(vec![every(0, ratio(1, 3))]));
    let sizes = policy(&private("k_anonymity = 10\nminimum_group_size = 7\nminimum_distinct = 3"));
    assert_eq!(sizes.privacy.minimum_group_size, 10);
    assert_eq!(sizes.privacy.targets[0].minimum_distinct, 3);
    assert_eq!(sizes.privacy.targets[0].model, skyline(vec![]));
    let compared = policy(&private(
        "distinct_l_diversity = 4\nprobabilistic_l_diversity = 2.5\nt_closeness = { t = 0.2 }",
    ));
    let target = &compared.privacy.targets[0];
    assert_eq!(target.minimum_distinct, 4);
    assert_eq!(
        target.criteria,
        [
            ShareCriterion::Closeness { t: ratio(1, 5), distance: Ground::Equal },
            ShareCriterion::LargestShare { l: ratio(5, 2) }
        ]
    );
}

#[test]
fn the_other_adversaries_are_understood() {
    assert_eq!(
        model("model = \"implications\"\nimplications = 3\nconfidence = 0.5"),
        Model::Implications(ImplicationsModel { knows: 3, confidence: ratio(1, 2) })
    );
    let Model::Robust(robust) = model("model = \"robust\"\nr = 2.5") else { panic!() };
    let names = |list: &[&str]| list.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    assert_eq!(robust.known, [names(&["a"]), names(&["a", "b"]), names(&["b"])]);
    assert_eq!((robust.r, robust.test), (ratio(5, 2), RobustTest::Ratio));
    let text = private("model = \"robust\"\nr = 2\nknown = [[\"b\", \"a\"]]\ndistributions = \"f.csv\"");
    let policy = Policy::parse(&text, "folder/p.toml").unwrap();
    assert_eq!(policy.publish.style, Style::Bucketized);
    let Model::Robust(robust) = &policy.privacy.targets[0].model else { panic!() };
    assert_eq!(robust.known, [names(&["a", "b"])]);
    let path = Path::new("folder").join("f.csv");
    assert_eq!(robust.distributions, Distributions::File { given: "f.csv".to_string(), path });
    let beliefs = "model = \"beliefs\"\nsmooth = 0.75\n[[privacy.beliefs]]\nbandwidth = 0.3\nt = 0.2\n\
                   [[privacy.beliefs]]\nbandwidth = { a = 0.1, b = \"1/3\" }\nt = 0";
    let Model::Beliefs(beliefs) = model(beliefs) else { panic!() };
    assert_eq!(beliefs.smooth, Some(ratio(3, 4)));
    let widths = |point: &BeliefBound| point.bandwidth.values().cloned().collect::<Vec<_>>();
    assert_eq!(widths(&beliefs.points[0]), [ratio(3, 10), ratio(3, 10)]);
    assert_eq!(widths(&beliefs.points[1]), [ratio(1, 10), ratio(1, 3)]);
}

#[test]
fn several_sensitive_columns_have_their_own_adversaries() {
    let text = "\
[columns]
sensitive = [\"job\", \"disease\"]
joint = [\"job\", \"disease\"]
quasi = [\"age\"]
[privacy]
minimum_group_size = 3
[[privacy.skyline]]
k = 5
confidence = 0.9
[privacy.column.job]
model = \"implications\"
implications = 1
confidence = 0.5
[privacy.column.\"disease+job\"]
l_diversity = { c = 1, l = 3 }
";
    let policy = policy(text);
    let names: Vec<String> = policy.privacy.targets.iter().map(Target::name).collect();
    assert_eq!(names, ["disease", "job", "disease+job"]);
    assert!(matches!(
        policy.privacy.targets[1].model,
        Model::Implications(ImplicationsModel { knows: 1, .. })
    ));
    assert!(matches!(&policy.privacy.targets[0].model, Model::Skyline(model) if model.points[0].k == 5));
    // The point of all columns holds for the combination too.
    let Model::Skyline(SkylineModel { points }) = &policy.privacy.targets[2].model else {
        panic!("another model")
    };
    assert_eq!(points.iter().map(|point| (point.l, point.k)).collect::<Vec<_>>(), [(0, 5), (1, 0)]);
    assert_eq!(
        mistakes(&text.replace("column.job", "column.jbo").replace("\"disease+job\"", "age")),
        "line 10: privacy.column.jbo: is not a sensitive column; did you mean job?\n\
         line 14: privacy.column.age: is not a sensitive column; name a column of columns.sensitive, or the joint one as a+b"
    );
}

#[test]
fn what_holds_for_all_columns_holds_for_those_with_rules_of_their_own() {
    let text = "\
[columns]
sensitive = [\"a\", \"b\"]
quasi = [\"age\"]
[privacy]
minimum_distinct = 3
t_closeness = { t = 0.3 }
probabilistic_l_diversity = 2
[[privacy.skyline]]
k = 3
confidence = 0.7
[privacy.column.a]
minimum_distinct = 2
t_closeness = { t = 0.4 }
probabilistic_l_diversity = 3
[privacy.column.b]
model = \"implications\"
implications = 1
confidence = 0.5
";
    let stated = policy(text);
    let [a, b] = &stated.privacy.targets[..] else { panic!("two columns") };
    assert!(matches!(&a.model, Model::Skyline(model) if model.points.len() == 1 && model.points[0].k == 3));
    assert!(matches!(b.model, Model::Implications(ImplicationsModel { knows: 1, .. })));
    let closeness = ShareCriterion::Closeness { t: ratio(3, 10), distance: Ground::Equal };
    assert_eq!((a.minimum_distinct, b.minimum_distinct), (3, 3));
    assert_eq!(a.criteria, [closeness.clone(), ShareCriterion::LargestShare { l: ratio(3, 1) }]);
    assert_eq!(b.criteria, [closeness, ShareCriterion::LargestShare { l: ratio(2, 1) }]);
    assert_eq!(policy(&stated.canonical()).privacy, stated.privacy);
    // A model other than the skyline is taken as a whole, or replaced as a whole.
    let implied = "\
[columns]
sensitive = [\"a\", \"b\"]
quasi = [\"age\"]
[privacy]
model = \"implications\"
implications = 2
confidence = 0.5
[privacy.column.a]
minimum_distinct = 2
[privacy.column.b]
implications = 3
confidence = 0.8
";
    let models: Vec<Model> = policy(implied).privacy.targets.into_iter().map(|target| target.model).collect();
    let expected = |knows, confidence| Model::Implications(ImplicationsModel { knows, confidence });
    assert_eq!(models, [expected(2, ratio(1, 2)), expected(3, ratio(4, 5))]);
}

/// Each mistake alone, in the words a user reads.
#[test]
fn mistakes_in_the_columns() {
    for (columns, sections, expected) in [
        (
            "drop = \"x\"\nkeep = [\"x\"]",
            "",
            "line 4: columns.keep: column \"x\" is also in columns.drop; give every column one role",
        ),
        (
            "",
            "[columns.quasi.d]",
            "line 4: columns.quasi: column \"d\" is also in columns.sensitive; give every column one role",
        ),
        ("drop = [\"x\", \"x\"]", "", "line 3: columns.drop[1]: is listed twice; list it once"),
        (
            "drop = 3",
            "",
            "line 3: columns.drop: is a whole number, not a list of names; write [\"name\", \"ssn\"]",
        ),
        ("individual = \"\"", "", "line 3: columns.individual: is empty; write the name of one column"),
        (
            "joint = [\"d\"]",
            "",
            "line 3: columns.joint: needs at least two columns; list sensitive columns, or leave it out",
        ),
        (
            "joint = [\"d\", \"e\"]",
            "",
            "line 3: columns.joint: column \"e\" is not sensitive; list it in columns.sensitive too",
        ),
        (
            "types = { dd = \"text\" }",
            "",
            "line 3: columns.types.dd: has a type, but no role; did you mean d?",
        ),
        (
            "types = { d = \"txt\" }",
            "",
            "line 3: columns.types.d: \"txt\" is not a choice; did you mean \"text\"?",
        ),
        (
            "types = { d = \"money\" }",
            "",
            "line 3: columns.types.d: \"money\" is not a choice; write one of \"integer\", \"number\", \"text\", \"boolean\", \"date\", \"day-month-year\", \"month-day-year\", \"timestamp\"",
        ),
        (
            "delimiter = \"ab\"",
            "",
            "line 3: columns.delimiter: is not one ASCII character; write \",\", \";\", \"\\t\" or \"|\"",
        ),
        (
            "keep = \"group\"",
            "",
            "line 3: columns.keep: \"group\": a release numbers its groups in a column of this name; rename the column first",
        ),
        (
            "keep = \"a_to\"\nquasi = \"a\"",
            "[publish]\nranges = \"bounds\"",
            "line 3: columns.keep: \"a_to\": the bounds of column \"a\" get this name; rename the column first",
        ),
        ("", "[publsh]", "line 4: publsh: is not a known key; did you mean publish?"),
        (
            "",
            "[publish]\nstrategy = \"exclusive\"",
            "line 5: publish.strategy: has no functions to choose from; add [[audit.function]], from fine to coarse",
        ),
    ] {
        assert_eq!(mistakes(&with(columns, sections)), expected);
    }
    assert_eq!(
        mistakes(
            "[columns]\nsensitive = \"d\"\ncount = \"n\"\nindividual = \"p\"\n[privacy]\nvalues = \"set\"\nk_anonymity = 2"
        ),
        "line 3: columns.count: stands beside individual; a long table has one row for each value; leave out count or individual"
    );
    assert_eq!(
        mistakes(
            "[columns]\nsensitive = \"d\"\nnull_is = \"none\"\n[privacy]\nvalues = \"set\"\nk_anonymity = 2"
        ),
        "line 3: columns.null_is: has no meaning with values = \"set\"; leave it out: there a null is a person without a value"
    );
    assert_eq!(
        mistakes("[columns.sensitive.d]\nnull_is = \"none\"\n[privacy]\nvalues = \"set\"\nk_anonymity = 2"),
        "line 2: columns.sensitive.d.null_is: has no meaning with values = \"set\"; leave it out: there a null is a person without a value"
    );
    assert_eq!(
        mistakes(
            "[columns]\nsensitive = [\"a\", \"b\", \"a+b\"]\njoint = [\"b\", \"a\"]\n[privacy]\nk_anonymity = 2"
        ),
        "line 3: columns.joint: the joint column would be named \"a+b\", like another; rename that column first"
    );
    assert_eq!(
        mistakes(""),
        "columns: is missing; add [columns] with sensitive = \"the column to protect\"\nprivacy: is missing; add [privacy]"
    );
    let found = mistakes("x = @\ny = \"a\n");
    assert!(found.starts_with("line 1: syntax: ") && found.contains("\nline 2: syntax: "), "{found}");
}

#[test]
fn mistakes_in_a_quasi_identifier() {
    for (stated, expected) in [
        (
            "hierachy = \"z.csv\"",
            "line 5: columns.quasi.a.hierachy: is not a known key; did you mean hierarchy?",
        ),
        (
            "levels = [5]\nprefix = [2]",
            "line 6: columns.quasi.a.prefix: stands beside levels; keep either levels or prefix",
        ),
        (
            "levels = [2]\ndomain = [0, 1]",
            "line 6: columns.quasi.a.domain: has no meaning beside levels; leave out domain or levels",
        ),
        (
            "prefix = [2]\ndomain = [0, 1]",
            "line 6: columns.quasi.a.domain: has no meaning beside prefix; leave out domain or prefix",
        ),
        (
            "order = [1, 2]\ngrid = 5",
            "line 6: columns.quasi.a.grid: has no meaning beside order; leave out grid or order",
        ),
        (
            "other = \"x\"",
            "line 5: columns.quasi.a.other: has no meaning without a hierarchy or an order; leave it out",
        ),
        (
            "order = [1, 2]\nother = \"3\"",
            "line 6: columns.quasi.a.other: is not in the order; name one of the ordered values",
        ),
        (
            "domain = [1]",
            "line 5: columns.quasi.a.domain: needs two ends; write [lowest, highest], such as [0, 120]",
        ),
        (
            "domain = [1, 1]",
            "line 5: columns.quasi.a.domain: does not go from low to high; write [lowest, highest] of one kind",
        ),
        (
            "domain = [1, \"2020-01-01\"]",
            "line 5: columns.quasi.a.domain: does not go from low to high; write [lowest, highest] of one kind",
        ),
        (
            "domain = [\"2020-02-30\", \"2021-01-01\"]",
            "line 5: columns.quasi.a.domain[0]: is neither a number nor a date; write a number, a date \"2020-07-01\" or a time \"2020-07-01T12:00:00\"",
        ),
        ("levels = []", "line 5: columns.quasi.a.levels: is empty; write [5, 10, 20, 40]"),
        ("levels = [0]", "line 5: columns.quasi.a.levels[0]: 0 is out of range; a width is more than 0"),
        (
            "prefix = [2, 3]",
            "line 5: columns.quasi.a.prefix[1]: is not shorter than the one before; go from long to short: [4, 3, 2]",
        ),
        ("prefix = [0]", "line 5: columns.quasi.a.prefix[0]: 0 is too small; the least is 1"),
        (
            "dates = [\"week\", \"month\"]",
            "line 5: columns.quasi.a.dates[1]: a week is not a part of one month; go from fine to coarse: day, month, quarter, year, decade; a week comes last",
        ),
        (
            "dates = [\"mont\"]",
            "line 5: columns.quasi.a.dates[0]: \"mont\" is not a choice; did you mean \"month\"?",
        ),
        (
            "ends = [1, 3, 2]",
            "line 5: columns.quasi.a.ends[2]: does not follow the end before it; write ends of one kind, ascending",
        ),
        (
            "ends = [[1, 2], [3]]",
            "line 5: columns.quasi.a.ends[1][0]: is not an end of the finer level before it; leave out ends from one level to the next, never add one",
        ),
        (
            "order = [\"x\"]",
            "line 5: columns.quasi.a.order: needs at least two values; list the values from low to high, such as [\"low\", \"mid\", \"high\"]",
        ),
        ("grid = 0", "line 5: columns.quasi.a.grid: 0 is out of range; a grid is more than 0"),
        (
            "hierarchy = 3",
            "line 5: columns.quasi.a.hierarchy: is neither a file nor a tree; write \"file.csv\" or { Europe = [\"France\", \"Spain\"], Asia = [\"Japan\"] }",
        ),
        (
            "hierarchy = { X = [] , Y = [1] }",
            "line 5: columns.quasi.a.hierarchy.X: has no values; list its values, or leave the group out",
        ),
        (
            "hierarchy = { X = [1], Y = [1] }",
            "line 5: columns.quasi.a.hierarchy: row 2: field 1 has another parent here than on line 1; give every value and group one parent only",
        ),
        (
            "hierarchy = { X = [1] }\nother = \"X\"",
            "line 6: columns.quasi.a.other: is the name of a group; name a value, or a new name that becomes a value of its own",
        ),
    ] {
        assert_eq!(mistakes(&with("", &format!("[columns.quasi.a]\n{stated}"))), expected);
    }
}

#[test]
fn mistakes_in_the_privacy() {
    for (stated, expected) in [
        (
            "",
            "line 4: privacy: states nothing that protects column \"d\"; add [[privacy.skyline]] with l, k, m and confidence, or k_anonymity = 10",
        ),
        (
            "skyline = []",
            "line 5: privacy.skyline: has no points; add [[privacy.skyline]] with l, k, m and confidence",
        ),
        (
            "[[privacy.skyline]]\nk = 3",
            "line 5: privacy.skyline[0].confidence: is missing; write how sure the adversary must not become: confidence = 0.5",
        ),
        (
            "skyline = [{ k = 1000000001, confidence = 1 }]",
            "line 5: privacy.skyline[0].k: 1000000001 is too large; the most is 1000000000",
        ),
        (
            "skyline = [{ k = 1.5, confidence = 1 }]",
            "line 5: privacy.skyline[0].k: is a number, not a whole number; write 0",
        ),
        (
            "skyline = [{ for = [], confidence = 1 }]",
            "line 5: privacy.skyline[0].for: names no value; list values, or leave it out to protect every value",
        ),
        ("l_diversity = { c = 3, l = 1 }", "line 5: privacy.l_diversity.l: 1 is too small; the least is 2"),
        (
            "l_diversity = { l = 3 }",
            "line 5: privacy.l_diversity.c: is missing; write l_diversity = { c = 3, l = 6 }",
        ),
        (
            "l_diversity = 3",
            "line 5: privacy.l_diversity: is a whole number, not a table; write l_diversity = { c = 3, l = 6 }",
        ),
        (
            "values = \"set\"\nl_diversity = { c = 3, l = 6 }",
            "line 6: privacy.l_diversity: is not defined for values = \"set\"; write values = \"single\", or protect the column by [[privacy.skyline]] points",
        ),
        (
            "values = \"multiset\"\nmodel = \"implications\"\nimplications = 3\nconfidence = 0.5",
            "line 6: privacy.model: \"implications\" is not defined for values = \"multiset\"; write values = \"single\", or protect the column by [[privacy.skyline]] points",
        ),
        (
            "model = \"sky\"\nk_anonymity = 2",
            "line 5: privacy.model: \"sky\" is not a choice; write one of \"skyline\", \"implications\", \"robust\", \"beliefs\"",
        ),
        (
            "k_anonymity = 2\nr = 3",
            "line 6: privacy.r: belongs to model = \"robust\"; leave it out, or change model = \"skyline\"",
        ),
        ("k_anonymity = 0", "line 5: privacy.k_anonymity: 0 is too small; the least is 1"),
        (
            "model = \"implications\"\nconfidence = 1",
            "line 4: privacy.implications: is missing; write how many the adversary knows: implications = 3",
        ),
        ("model = \"robust\"", "line 4: privacy.r: is missing; no posterior is above 1/r: write r = 3"),
        (
            "model = \"robust\"\nr = 2\ntest = \"delta\"",
            "line 7: privacy.test: \"delta\" accepts groups whose posteriors are above 1/r; write \"ratio\" or \"exact\"",
        ),
        ("model = \"robust\"\nr = 1", "line 6: privacy.r: 1 is out of range; r is more than 1"),
        (
            "model = \"robust\"\nr = 2\nknown = [[\"a\", \"d\"]]",
            "line 7: privacy.known[0]: \"d\" is not a quasi-identifier; name a column of columns.quasi",
        ),
        (
            "model = \"robust\"\nr = 2\n[publish]\nstyle = \"generalized\"",
            "line 8: publish.style: model = \"robust\" publishes two tables; write style = \"bucketized\"",
        ),
        (
            "model = \"beliefs\"",
            "line 4: privacy.beliefs: is missing; add [[privacy.beliefs]] with bandwidth = 0.3 and t = 0.2",
        ),
        (
            "model = \"beliefs\"\n[[privacy.beliefs]]\nbandwidth = { a = 1 }\nt = 1",
            "line 7: privacy.beliefs[0].bandwidth.b: is missing; give every quasi-identifier its bandwidth, or one number for all\n\
             line 8: privacy.beliefs[0].t: 1 is out of range; t is at least 0 and less than 1",
        ),
        (
            "t_closeness = { t = 0.2, distance = \"ordered\" }",
            "line 5: privacy.t_closeness: column \"d\" has no order; state it: [columns.sensitive.d] order = \"numeric\" or a list of values from low to high",
        ),
        (
            "k_anonymity = 2\nl_diversity = { c = 1, l = 3 }\n[privacy.column.d]\nmodel = \"implications\"\nimplications = 1\nconfidence = 0.5",
            "line 6: privacy.l_diversity: is used by no column: each states a model of its own; move it below one of the [privacy.column.NAME], or leave it out",
        ),
        (
            "t_closeness = { t = 0.2 }\n[privacy.column.d]\nt_closeness = { t = 0.2, distance = \"ordered\" }",
            "line 7: privacy.column.d.t_closeness: has another distance than privacy.t_closeness, which holds too; give both the same distance, or move the shared one below the other columns",
        ),
        (
            "k_anonymity = 2\n[[audit.function]]\na = -1\nc = 1",
            "line 7: audit.function[0].a: -1 is out of range; write a width of 0 or more, or \"*\"\n\
             line 8: audit.function[0].c: is not a quasi-identifier; name a column of columns.quasi",
        ),
    ] {
        assert_eq!(mistakes(&private(stated)), expected);
    }
}

#[test]
fn functions_speak_in_the_words_of_the_column() {
    let text = with(
        "quasi.age = { levels = [5, 10] }\nquasi.zip = { prefix = [3, 2] }\nquasi.born = { dates = [\"month\", \"year\"] }\n\
         quasi.job = { hierarchy = { x = [1], y = [2, 3] } }\nquasi.pay = {}",
        "[[audit.function]]\nage = 10\nzip = 2\nborn = \"year\"\njob = 1\npay = 2.5\n[[audit.function]]\nage = 0\nborn = \"*\"",
    );
    use Coarseness::*;
    let all = [
        vec![Level(2), Level(2), Level(1), Width(ratio(5, 2)), Level(2)],
        vec![Level(0), All, All, All, All],
    ];
    let read = policy(&text);
    assert_eq!(read.functions[0], [Level(2), Level(2), Level(1), Width(ratio(5, 2)), Level(2)]);
    assert_eq!(read.functions, all);
    assert_eq!(policy(&read.canonical()).functions, all);
    let found = mistakes(&text.replace("age = 10", "age = 7").replace("job = 1", "job = 3"));
    assert_eq!(
        found,
        "line 9: audit.function[0].age: is not in the list of this column; write one of 0, 5, 10 or \"*\"\n\
         line 12: audit.function[0].job: 3 is too large; the most is 2"
    );
}

#[test]
fn columns_of_the_table_that_do_not_fit_are_all_named() {
    let policy = policy(DESIGN);
    let why = policy.bind(&["age", "ssn", "zipp", "city", "name", "disease", "age", "cost"]).unwrap_err();
    assert_eq!(
        why.to_string(),
        "p.toml: 3 mistakes in the policy\n  \
         line 9: columns.quasi: the table has no column \"zip\"; did you mean \"zipp\"?\n  \
         columns: the table has two columns \"age\"; rename one of them in the table\n  \
         columns: column \"zipp\" of the table has no role; add it to columns.quasi if others may know it of a person, to drop, or to keep"
    );
}

#[test]
fn the_rest_of_the_columns_is_dropped_only_if_the_policy_says_so() {
    let names = ["age", "zip", "city", "name", "ssn", "disease", "cost", "a", "b \"c\""];
    let why = policy(DESIGN).bind(&names).unwrap_err().to_string();
    assert!(why.contains("2 columns of the table have no role"), "{why}");
    assert!(why.contains("rest = \"drop\"") && why.contains("drop = [\"a\", \"b \\\"c\\\"\"]"), "{why}");
    let roles = policy(&DESIGN.replacen("[columns]", "[columns]\nrest = \"drop\"", 1)).bind(&names).unwrap();
    assert_eq!(roles[7..], [Role::Drop, Role::Drop]);
    assert!(
        mistakes(&DESIGN.replacen("[columns]", "[columns]\nrest = \"keep\"", 1)).contains("columns.rest")
    );
}

/// Every key that a policy may hold, in forms that must survive the canonical text.
const RICH: &[&str] = &[
    "[columns]\nsensitive = [\"b b\", \"a\\\"\"]\njoint = [\"b b\", \"a\\\"\"]\nnull_is = \"none\"\ncount = \"n\"\n\
     drop = [\"z\", \"y\"]\nrest = \"drop\"\ntypes = { n = \"integer\" }\ndelimiter = \"\\t\"\nquasi = [\"q\"]\n[privacy]\nskyline = [{ for = [3, true], l = 1, confidence = 0.1 }]\n\
     [publish]\ncuts = \"mondrian\"\nranges = \"bounds\"\n",
    "[columns.sensitive.d]\norder = \"numeric\"\n[columns.quasi]\na = { ends = [[0, 1.50, 9], [0, 9]] }\nb = { order = [\"x\", \"y\"], other = \"y\" }\n\
     c = { grid = 0.5, domain = [-1.5, 1e2] }\ne = { grid = \"month\", domain = [2020-01-01, \"2021-01-01\"] }\n\
     f = { hierarchy = { X = [\"a\", { Y = [1, 2] }], Z = { W = { V = [\"v\"] } } }, other = \"rest\" }\n\
     g = { levels = [\"1/3\", 1] }\n[privacy]\nmodel = \"beliefs\"\nbeliefs = [{ bandwidth = 1, t = 0.1 }]\n\
     t_closeness = { t = 0.2, distance = \"ordered\" }\nminimum_distinct = 2\n",
    "[columns]\nsensitive.d = { hierarchy = [[\"a\", \"a\", \"A\", \"*\"], [\"b\", \"B\", \"B\", \"*\"]] }\nquasi.q = {}\n[privacy]\nmodel = \"robust\"\nr = 3\ntest = \"exact\"\ndistributions = \"x.csv\"\n",
    "[columns]\nsensitive = \"d\"\nindividual = \"p\"\nquasi.q.levels = [5, 10]\n[privacy]\nvalues = \"set\"\nk_anonymity = 3\nskyline = [{ confidence = 1 }]\n\
     [publish]\nstrategy = \"inclusive\"\n[[audit.function]]\nq = 5\n",
    "[columns]\nsensitive = \"d\"\n[privacy]\nmodel = \"implications\"\nimplications = 0\nconfidence = 1\n",
];

#[test]
fn every_policy_survives_its_canonical_text() {
    for text in RICH.iter().copied().chain([DESIGN]) {
        let first = policy(text);
        let again = policy(&first.canonical());
        assert_eq!(first.columns, again.columns);
        assert_eq!(first.privacy, again.privacy);
        assert_eq!(first.publish, again.publish);
        assert_eq!(first.functions, again.functions);
        assert_eq!(first.hash(), again.hash());
        assert_eq!(first.hash().len(), 64);
    }
}

#[test]
fn the_hash_follows_the_meaning() {
    let first = "[columns]\nsensitive = \"d\" # the diagnosis\ndrop = [\"x\", \"y\"]\n[columns.quasi.a]\ndomain = [0, 10]\n[columns.quasi.b]\n[privacy]\nk_anonymity = 3\nskyline = [{ confidence = 0.5, k = 3 }]\n";
    let same = "[privacy]\nskyline = [{ k = 3, l = 0, confidence = \"5/10\" }]\nminimum_group_size = 3\nmodel = \"skyline\"\n[columns.quasi]\nb = {}\na = { domain = [0.0, 10] }\n[columns]\ndrop = [\"y\", \"x\"]\nsensitive = [\"d\"]\n";
    assert_eq!(policy(first).hash(), policy(same).hash());
    for (from, to) in
        [("0.5", "0.50000000000000001"), ("[0, 10]", "[0, 11]"), ("\"x\", ", ""), ("= 3\n", "= 4\n")]
    {
        assert!(first.contains(from));
        assert_ne!(policy(first).hash(), policy(&first.replace(from, to)).hash(), "{from}");
    }
}

#[test]
fn hierarchy_files_are_read_beside_the_policy_and_hashed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.toml");
    std::fs::write(&file, with("", "[columns.quasi.zip]\nhierarchy = \"zip.csv\"")).unwrap();
    let found = Policy::read(&file).unwrap_err().to_string();
    assert!(found.contains("line 5: columns.quasi.zip.hierarchy: \"zip.csv\" cannot be read: "), "{found}");
    let hash = |text: &str| {
        std::fs::write(folder.path().join("zip.csv"), text).unwrap();
        Policy::read(&file).unwrap_or_else(|why| panic!("{why}")).hash()
    };
    let one = hash("1;A;*\n2;A;*\n");
    assert_eq!(one, hash("1;A;*\r\n\r\n2;\"A\";*"));
    assert_ne!(one, hash("1;A;*\n2;B;*\n"));
    std::fs::write(folder.path().join("zip.csv"), "1;A;*\n1;B;*\n").unwrap();
    let found = Policy::read(&file).unwrap_err().to_string();
    assert!(found.contains("zip.csv line 2: field 1 has another parent here than on line 1;"), "{found}");
    std::fs::write(folder.path().join("zip.csv"), b"1;\xff").unwrap();
    assert!(Policy::read(&file).unwrap_err().to_string().contains("it is not text in UTF-8"));
    std::fs::write(&file, b"[columns]\n\xff").unwrap();
    assert!(Policy::read(&file).unwrap_err().to_string().contains("line 2: file: is not text in UTF-8"));
    assert!(matches!(Policy::read(folder.path().join("none")), Err(Error::Io { .. })));
}

/// Policies with random damage give an answer, never a panic; and mistakes always say where or what.
#[test]
fn damaged_policies_never_panic() {
    let mut state = 7u64;
    let mut next = move |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let pieces = [
        "\"", "[", "]", "{", "}", "=", "\n", ".", "-1", "1e999", "nan", "\"\"", "ä", "0", "[[x]]\n", ",",
        "#", "'''",
    ];
    let mut mistaken = 0;
    for round in 0..4000 {
        let mut text = RICH[round % RICH.len()].to_string();
        for _ in 0..1 + next(3) {
            let mut at = next(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            match next(3) {
                0 => text.insert_str(at, pieces[next(pieces.len())]),
                1 => text.truncate(at),
                _ => {
                    let end =
                        text[at..].char_indices().nth(1 + next(8)).map_or(text.len(), |(end, _)| at + end);
                    text.replace_range(at..end, pieces[next(pieces.len())]);
                }
            }
        }
        match Policy::parse(&text, "p.toml") {
            Ok(policy) => assert_eq!(self::policy(&policy.canonical()).canonical(), policy.canonical()),
            Err(Error::Policy { mistakes, .. }) => {
                mistaken += 1;
                assert!(!mistakes.is_empty(), "{text}");
                assert!(
                    mistakes.iter().all(|mistake| !mistake.problem.is_empty() && !mistake.remedy.is_empty())
                );
            }
            Err(why) => panic!("{why}"),
        }
    }
    assert!(mistaken > 2000, "{mistaken}");
}

#[test]
fn deep_policies_are_refused() {
    let deep = with("", &format!("[columns.quasi.a]\nhierarchy{} = [1]", ".x".repeat(300)));
    assert_eq!(mistakes(&deep), "syntax: recursion limit; see https://toml.io for the format");
    mistakes(&with("", &format!("x = {}", "[".repeat(100_000))));
    mistakes(&with("", &format!("x = {}", "{x=".repeat(100_000))));
}
