//! Measures the overhead of the framework on one call, as a multiple of hand-written code.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench stops at the first failure and prints its figures"
)]

#[path = "support/contenders.rs"]
mod contenders;
#[path = "../json/benches/rounds.rs"]
mod rounds;

use contenders::{COUNTS, args_struct, boxed, floor, params, pipeline};
use rounds::Rounds;

fn main() {
    let mut rounds = Rounds::new(1_000, 1_000);
    rounds.add(floor());
    for count in COUNTS {
        rounds.add(boxed(count));
        rounds.add(params(count));
        rounds.add(args_struct(count));
        rounds.add(pipeline(count));
    }
    let times = rounds.run();
    let floor = times[0];

    println!("floor: {floor:.0} ns\n");
    println!(
        "| tools | boxed ns | params ns | params × floor | × boxed | args ns | args × floor | × boxed | pipeline ns | pipeline × floor |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (count, times) in COUNTS.iter().zip(times[1..].chunks_exact(4)) {
        let [boxed, params, args, pipeline] = [times[0], times[1], times[2], times[3]];
        println!(
            "| {count} | {boxed:.0} | {params:.0} | {:.2} | {:.2} | {args:.0} | {:.2} | {:.2} | {pipeline:.0} | {:.2} |",
            params / floor,
            params / boxed,
            args / floor,
            args / boxed,
            pipeline / floor,
        );
    }
}
