//! Scores cases with the value that their suite expects.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde_json::Value;
use tool_json::{parse, parse_as};

use super::rules::{differs_by, refused_by, satisfies};

#[derive(Clone, Copy, Default)]
struct Score {
    cases: usize,
    right: usize,
    refused: usize,
    wrong: usize,
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        self.cases += other.cases;
        self.right += other.right;
        self.refused += other.refused;
        self.wrong += other.wrong;
    }
}

impl Score {
    fn row(self, name: &str) {
        let Self { cases, right, refused, wrong } = self;
        let share = 100.0 * right as f64 / cases.max(1) as f64;
        println!("| {name} | {cases} | {right} | {share:.1} % | {refused} | {wrong} |");
    }
}

const VALUE: &str = "consensus, a value";
const SCHEMA: &str = "with a schema";
const NO_RULE: &str = "(none)";
const HEAD: &str = "cases | right | share | refused | wrong value |\n|---|---|---|---|---|---|";

/// Scores the cases, and returns their number.
pub(crate) fn score(lines: &[Value], differences: bool) -> usize {
    let (mut sources, mut classes, mut groups) =
        (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut listed = Vec::new();
    let mut rules: BTreeMap<(&str, bool, &str), usize> = BTreeMap::new();
    let cases = lines.iter().filter(|line| line.get("class").is_some());
    for case in cases.clone() {
        // Inputs other than text are out of scope.
        let Some(input) = case["input"].as_str() else { continue };
        let actual = match case.get("schema") {
            Some(schema) => parse_as(input, schema),
            None => parse(input),
        };
        let wants_error = case["reject"] == true;
        let schema = case.get("schema").filter(|schema| schema.is_object());
        let is_refused = match &actual {
            Ok(parsed) => schema.is_some_and(|schema| !satisfies(&parsed.value, schema)),
            Err(_) => true,
        };
        let right = match &actual {
            Ok(parsed) if !wants_error => same(&parsed.value, &case["expected"]),
            _ => is_refused && wants_error,
        };
        let score = Score {
            cases: 1,
            right: right.into(),
            refused: (!right && is_refused).into(),
            wrong: (!right && !is_refused).into(),
        };
        let (source, class) = (text(case, "source"), text(case, "class"));
        let any = case["strict_only"] == true || case["info"] == true;
        let group = match () {
            () if any => "any answer will do (right: refused)",
            () if case.get("schema").is_some() => SCHEMA,
            () if case["consensus"] == true && wants_error => "consensus, an error",
            () if case["consensus"] == true => VALUE,
            () => "contested or of one suite alone",
        };
        *groups.entry(group).or_insert_with(Score::default) += score;
        *classes.entry((source.clone(), class.clone())).or_insert_with(Score::default) += score;
        if !any {
            *sources.entry(source.clone()).or_insert_with(Score::default) += score;
        }
        if !right && (group == VALUE || group == SCHEMA) {
            let expected = case.get("expected").filter(|_| !wants_error);
            let rule = match &actual {
                Ok(_) if is_refused => {
                    Some("what its schema does not allow goes back to the model")
                }
                Ok(parsed) => differs_by(expected, &parsed.value),
                Err(error) => refused_by(error),
            };
            *rules.entry((group, is_refused, rule.unwrap_or(NO_RULE))).or_insert(0) += 1;
        }
        if !right && !any {
            let result = match actual {
                Ok(parsed) => format!("{}\n{:?}", parsed.value, parsed.fixes),
                Err(error) => error.to_string(),
            };
            let expected =
                if wants_error { "an error".into() } else { case["expected"].to_string() };
            listed.push(format!(
                "{source} / {class} / {} / {group}\ninput:  {input:?}\nwanted: {expected}\ngot:    {result}\n",
                text(case, "id"),
            ));
        }
    }
    println!("\n| source | {HEAD}");
    sources.iter().for_each(|(name, score)| score.row(name));
    println!("\n| of these | {HEAD}");
    groups.iter().for_each(|(name, score)| score.row(name));
    println!("\n| not read as the suite wants | by the rule that | cases |\n|---|---|---|");
    for ((group, is_refused, rule), count) in &rules {
        let verdict = if *is_refused { "refused" } else { "reads otherwise" };
        println!("| {group}: {verdict} | {rule} | {count} |");
    }
    let forbidden = |is_match: fn(&str) -> bool| {
        let of_rule = |((group, is_refused, rule), _): &(&(&str, bool, &str), &usize)| {
            *group == VALUE && *is_refused && *rule != NO_RULE && is_match(rule)
        };
        rules.iter().filter(of_rule).map(|(_, count)| count).sum::<usize>()
    };
    let Score { cases: all, right, .. } = groups.get(VALUE).copied().unwrap_or_default();
    let share = |of: usize| 100.0 * right as f64 / of.max(1) as f64;
    let (named, any) =
        (all - forbidden(|rule| !rule.starts_with("several")), all - forbidden(|_| true));
    println!(
        "\nOf the {VALUE}: {right} right, {:.1} % of the {any} that no rule refuses,",
        share(any)
    );
    println!(
        "{:.1} % of the {named} that are more than a matter of several readings.",
        share(named)
    );
    println!("\n| source and class | {HEAD}");
    classes.iter().for_each(|((source, class), score)| score.row(&format!("{source}: {class}")));
    if differences {
        println!("\n{}", listed.join("\n"));
    }
    cases.count()
}

fn text(case: &Value, field: &str) -> String {
    case[field].as_str().unwrap_or("?").to_owned()
}

/// Compares two values, and numbers by value.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
