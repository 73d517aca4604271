//! The names of combinations of sensitive values.

/// The name of a combination of values, as used in `for`: `Flu + Nurse`, in the order of the columns.
///
/// Different combinations have different names: a `+` or a `\` inside a value is escaped with a `\`. A single value is
/// its own name.
pub fn joint_value(values: &[&str]) -> String {
    match values {
        [only] => (*only).to_string(),
        _ => {
            let escaped = values.iter().map(|value| value.replace('\\', "\\\\").replace('+', "\\+"));
            escaped.collect::<Vec<_>>().join(" + ")
        }
    }
}

/// The values of a combination, parsed from the name returned by [`joint_value`].
pub fn joint_parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(" + ") {
            parts.push(String::new());
            rest = after;
            continue;
        }
        let (own, after) = match rest.strip_prefix('\\') {
            Some(escaped) => (escaped.chars().next(), escaped),
            None => (Some(next), rest),
        };
        parts.iter_mut().next_back().into_iter().for_each(|part| part.extend(own));
        rest = &after[own.map_or(0, char::len_utf8)..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_combinations_of_values_have_different_names() {
        let parts = ["", "a", "+", " + ", "\\", "a + b", "\\+"];
        let mut names = std::collections::BTreeSet::new();
        for one in parts {
            for other in parts {
                let name = joint_value(&[one, other]);
                assert_eq!(joint_parts(&name), [one, other]);
                assert!(names.insert(name), "{one:?} {other:?}");
            }
        }
        assert_eq!(joint_value(&["R+D", "b"]), "R\\+D + b");
        assert_eq!(joint_value(&["R+D"]), "R+D");
    }
}
