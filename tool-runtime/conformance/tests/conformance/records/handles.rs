//! The suite for records finds handles that do not see each other's writes.

use tool_conformance::records::{check, check_handles};
use tool_runtime::records::MemoryRecords;

use super::defects::{Defect, Defective};
use crate::assert_found;

#[tokio::test(start_paused = true)]
async fn suite_finds_each_defect_of_two_handles() {
    let loads = "a handle loads what another handle saved";
    for (defect, rule) in [
        (Defect::KeepsWhatItLoaded, loads),
        (Defect::KeepsWhatItListed, "a handle lists what another handle saved"),
        (
            Defect::IgnoresExpectations,
            "a write on a revision that another handle replaced is a conflict",
        ),
    ] {
        let store = MemoryRecords::new();
        let [first, second] = [store.clone(), store].map(|store| Defective::on(store, defect));
        assert_found(&check_handles(first, second).await, rule, &format!("{defect:?}"));
    }
    let found = check_handles(MemoryRecords::new(), MemoryRecords::new()).await;
    assert_found(&found, loads, "two stores");
}

#[test]
fn suite_outside_of_a_runtime_is_a_violation() {
    let mut check = std::pin::pin!(check(|| async { MemoryRecords::new() }));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(found) = check.as_mut().poll(&mut context) else { panic!() };
    assert_found(&found, "a suite runs in a runtime of tokio", "no runtime");
}
