//! Measures one call with criterion: each contender by itself, with its spread.
//!
//! Use `ratios` to compare contenders.

#[path = "support/contenders.rs"]
mod contenders;

use contenders::{COUNTS, args_struct, boxed, floor, params, pipeline};
use criterion::{BenchmarkId, Criterion};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("dispatch");
    group.bench_function("floor", |bench| bench.iter(floor()));
    for count in COUNTS {
        group.bench_function(BenchmarkId::new("boxed", count), |bench| bench.iter(boxed(count)));
        group.bench_function(BenchmarkId::new("params", count), |bench| bench.iter(params(count)));
        let args = BenchmarkId::new("args", count);
        group.bench_function(args, |bench| bench.iter(args_struct(count)));
        let whole = BenchmarkId::new("pipeline", count);
        group.bench_function(whole, |bench| bench.iter(pipeline(count)));
    }
    group.finish();
    criterion.final_summary();
}
