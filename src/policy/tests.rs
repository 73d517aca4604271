use std::path::Path;

use super::*;
use crate::error::Error;
use crate::exact::{Rational, ratio};

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
    let hiv = Protected::These(vec!["HIV".to_string()]);
    let point = |values, l, confidence: Rational| Requirement { values, l, k: 1000, m: 10, confidence };
    assert_eq!(
        target.model,
        Model::Skyline(vec![point(Protected::Every, 3, ratio(1, 2)), point(hiv, 4, ratio(1, 5))])
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
line 4: columns.quasi.a.domain: does not go from low to high; write [lowest, highest] of one kind
line 5: columns.quasi.a.levels[1]: 7 is not a wider multiple of 5; make each width a multiple of the one before it, such as [5, 10, 20, 40]
line 7: privacy.skyline[0].l: -1 is too small; the least is 0
line 8: privacy.skyline[0].k: 99999999999999999999999999999999999999999999999 is too large; the most is 1000000000
line 9: privacy.skyline[0].confidence: 3/2 is out of range; a confidence is more than 0 and at most 1"
    );
}
