//! Measures the parsing of damaged JSON, relative to serde_json's throughput on the valid text.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench stops at the first failure and prints its figures"
)]

mod documents;
mod rounds;

use documents::Style;
use rounds::Rounds;
use serde_json::Value;
use tool_json::parse;

const ROUNDS: usize = 100;

fn main() {
    let sound = Style::default().document();
    let inner = Style { inner_quotes: true, ..Style::default() };
    // If the damage is in the contents, serde_json gets the same contents with correct escapes.
    let texts = [
        ("sound", 0.95, sound.clone(), sound.clone()),
        ("a comma at the very end", 0.8, trailing_comma(&sound), sound.clone()),
        ("cut off", 0.5, cut_off(&sound), sound.clone()),
        ("every key bare", 0.5, Style { keys: "", ..Style::default() }.document(), sound.clone()),
        (
            "single quotes",
            0.5,
            Style { keys: "'", texts: "'", ..Style::default() }.document(),
            sound.clone(),
        ),
        ("raw newlines", 0.5, Style { newline: "\n", ..Style::default() }.document(), sound),
        ("inner quotes", 0.5, inner.document(), Style { is_escaped: true, ..inner }.document()),
    ];

    let mut rounds = Rounds::new(ROUNDS, 1);
    for (name, _, text, sound) in &texts {
        let (text, sound) = (text.clone(), sound.clone().into_bytes());
        match parse(&text) {
            Ok(parsed)
                if *name == "cut off"
                    || parsed.value == serde_json::from_slice::<Value>(&sound).unwrap() => {}
            Ok(_) => println!("{name}: the value differs"),
            Err(error) => println!("{name}: {error}"),
        }
        rounds.add(move || serde_json::from_slice::<Value>(&sound).unwrap());
        rounds.add(move || parse(&text));
    }
    let times = rounds.run();

    println!(
        "\n| text of 1 MB | fixes | serde_json on the sound one, MB/s | MB/s | ratio | target |"
    );
    println!("|---|---|---|---|---|---|");
    for ((name, target, text, sound), times) in texts.iter().zip(times.chunks_exact(2)) {
        let [floor, repair] =
            [sound.len() as f64 * 1e3 / times[0], text.len() as f64 * 1e3 / times[1]];
        let fixes =
            parse(text).map_or_else(|_| "refused".into(), |parsed| parsed.fixes.len().to_string());
        println!(
            "| {name} | {fixes} | {floor:.0} | {repair:.0} | {:.2} | {target} |",
            repair / floor
        );
    }
}

fn trailing_comma(sound: &str) -> String {
    format!("{},]", sound.strip_suffix(']').unwrap())
}

/// Cuts the text inside its last string.
fn cut_off(sound: &str) -> String {
    let end = sound.rfind("lines").unwrap();
    sound.get(..end).unwrap().to_owned()
}
