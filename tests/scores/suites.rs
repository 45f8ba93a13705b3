//! Cases with the value that their suite wants.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde_json::Value;
use tool_runtime::json::{parse, parse_as};

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

const HEAD: &str = "cases | right | share | refused | wrong value |\n|---|---|---|---|---|---|";

/// How many cases there were.
pub(crate) fn score(lines: &[Value], differences: bool) -> usize {
    let (mut sources, mut classes, mut groups) =
        (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut listed = Vec::new();
    let cases = lines.iter().filter(|line| line.get("class").is_some());
    for case in cases.clone() {
        // What is no text never comes to a reader of text.
        let Some(input) = case["input"].as_str() else { continue };
        let got = match case.get("schema") {
            Some(schema) => parse_as(input, schema),
            None => parse(input),
        };
        let wants_error = case["reject"] == true;
        let right = match &got {
            Ok(parsed) => !wants_error && same(&parsed.value, &case["expected"]),
            Err(_) => wants_error,
        };
        let score = Score {
            cases: 1,
            right: right.into(),
            refused: (!right && got.is_err()).into(),
            wrong: (!right && got.is_ok()).into(),
        };
        let (source, class) = (text(case, "source"), text(case, "class"));
        let any = case["strict_only"] == true || case["info"] == true;
        let group = match () {
            () if any => "any answer will do (right: refused)",
            () if case.get("schema").is_some() => "with a schema",
            () if case["consensus"] == true && wants_error => "consensus, an error",
            () if case["consensus"] == true => "consensus, a value",
            () => "contested or of one suite alone",
        };
        *groups.entry(group).or_insert_with(Score::default) += score;
        *classes.entry((source.clone(), class.clone())).or_insert_with(Score::default) += score;
        if !any {
            *sources.entry(source.clone()).or_insert_with(Score::default) += score;
        }
        if !right && !any {
            let said = match got {
                Ok(parsed) => format!("{}\n{:?}", parsed.value, parsed.fixes),
                Err(error) => error.to_string(),
            };
            let wanted = if wants_error { "an error".into() } else { case["expected"].to_string() };
            listed.push(format!(
                "{source} / {class} / {} / {group}\ninput:  {input:?}\nwanted: {wanted}\ngot:    {said}\n",
                text(case, "id"),
            ));
        }
    }
    println!("\n| source | {HEAD}");
    sources.iter().for_each(|(name, score)| score.row(name));
    println!("\n| of these | {HEAD}");
    groups.iter().for_each(|(name, score)| score.row(name));
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

/// Numbers are compared by value.
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
