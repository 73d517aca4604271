//! What several releases, or several nights, give away.

use super::place::{POLICY, Place, people};
use serde_json::Value;

#[test]
fn releases_that_are_published_again_give_people_away_and_nights_do_not() {
    let place = Place::new(POLICY, &people(0..60));
    std::fs::copy(place.0.path("t.csv"), place.0.path("one.csv")).unwrap();
    place.table(&people(0..61));
    place.ends_with(0, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "again"]);
    let attack = |arguments: &[&str]| -> Value {
        place.answer(&[&["attack"], arguments, &["--person", "name"]].concat())
    };
    let both = attack(&["r", "again", "--original", "one.csv", "t.csv"]);
    assert_eq!(both["people"], 61);
    assert_eq!(both["after"][0]["certain"], 0, "{both}");
    // The newcomer is the only one who is new in their group.
    assert!(both["after"][1]["certain"].as_u64().unwrap() >= 1, "{both}");
    assert_eq!(both["first_exposing"], 2);
    // Tables of anybody: who moved, and to where.
    place.0.write("a.csv", "p,g,s\nA,1,s\nB,1,a\nC,2,b\nD,2,c\n");
    place.0.write("b.csv", "p,g,s\nA,1,s\nC,1,b\nB,2,a\nD,2,c\n");
    let columns = ["--person", "p", "--group", "g", "--sensitive", "s"];
    let both = place.answer(&[&["attack", "a.csv", "b.csv"], &columns[..]].concat());
    assert_eq!((&both["after"][0]["certain"], &both["after"][1]["certain"]), (&0.into(), &4.into()));
}

#[test]
fn the_nights_of_a_continued_release_give_nobody_away() {
    let place = Place::new(POLICY, &people(0..60));
    std::fs::copy(place.0.path("t.csv"), place.0.path("one.csv")).unwrap();
    place.night(0, &people(60..90));
    std::fs::copy(place.0.path("t.csv"), place.0.path("two.csv")).unwrap();
    place.night(0, &people(90..115));
    let person = ["--person", "name"];
    let tables = ["attack", "r", "--original", "one.csv", "two.csv", "t.csv"];
    let all = place.answer(&[&tables[..], &person].concat());
    assert_eq!((&all["people"], all["after"].as_array().unwrap().len()), (&115.into(), 3));
    assert_eq!((&all["after"][2]["certain"], &all["after"][2]["violating"]), (&0.into(), &0.into()));
    assert_eq!(all["first_exposing"], Value::Null);
    let message = place.ends_with(2, &[&["attack", "r", "--original", "one.csv"], &person[..]].concat());
    assert!(message.contains("3 releases or nights and 1 table were given"), "{message}");
}
