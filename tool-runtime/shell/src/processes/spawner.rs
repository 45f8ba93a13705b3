//! One thread that starts all commands and lives as long as the program: a sandbox ends with the
//! thread that started it, and threads of a runtime come and go.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

static SPAWNER: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// Runs a function on the thread, within the runtime of the caller.
///
/// # Errors
/// The thread can't be created.
pub(crate) async fn run<T: Send + 'static>(
    function: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let runtime = Handle::current();
    let (sender, receiver) = oneshot::channel();
    submit(Box::new(move || {
        let _guard = runtime.enter();
        // If the caller is gone, the result is dropped, which ends a child.
        let _ = sender.send(function());
    }))?;
    receiver.await.map_err(|_| io::Error::other("the command could not be started"))
}

fn submit(mut job: Job) -> io::Result<()> {
    let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*spawner {
        match sender.send(job) {
            Ok(()) => return Ok(()),
            // The thread has ended by a panic of a job.
            Err(mpsc::SendError(returned)) => job = returned,
        }
    }
    let (sender, receiver) = mpsc::channel::<Job>();
    let loop_of_jobs = move || receiver.into_iter().for_each(|job| job());
    thread::Builder::new().name("sandbox-spawner".to_owned()).spawn(loop_of_jobs)?;
    sender.send(job).map_err(|_| io::Error::other("the thread that starts commands has ended"))?;
    *spawner = Some(sender);
    Ok(())
}
