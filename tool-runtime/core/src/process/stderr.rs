//! The standard error of a child process, which a task reads until its end.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::guard::catch_panic;
use tool_http::{LineDecoder, decode_utf8};

/// Function that receives the lines of the standard error.
pub(super) type OnLine = Box<dyn FnMut(&str) + Send>;

/// How long the standard error is read after the process group has ended. A process that left the
/// group can keep the pipe open forever.
const LINGER: Duration = Duration::from_secs(1);

/// The tail of a standard error, and the task that reads it. The task ends with this value.
#[derive(Debug)]
pub(super) struct Stderr {
    tail: Arc<Mutex<VecDeque<u8>>>,
    task: Option<JoinHandle<()>>,
}

impl Stderr {
    /// Starts to read. Must be called within a tokio runtime.
    pub(super) fn read(
        stream: Option<ChildStderr>,
        tail_bytes: usize,
        max_line_bytes: usize,
        on_line: Option<OnLine>,
    ) -> Self {
        let tail = Arc::default();
        let lines = on_line.map(|on_line| (LineDecoder::new(max_line_bytes), on_line));
        let task =
            stream.map(|stream| tokio::spawn(read(stream, Arc::clone(&tail), tail_bytes, lines)));
        Self { tail, task }
    }

    /// Returns the last bytes as text.
    pub(super) fn tail(&self) -> String {
        decode_utf8(lock(&self.tail).iter().copied().collect()).0
    }

    /// Waits until everything that the ended process group wrote is read.
    pub(super) async fn finish(&mut self) {
        if let Some(task) = &mut self.task {
            let _ = timeout(LINGER, &mut *task).await;
            task.abort();
            self.task = None;
        }
    }
}

impl Drop for Stderr {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

async fn read(
    mut stream: ChildStderr,
    tail: Arc<Mutex<VecDeque<u8>>>,
    tail_bytes: usize,
    mut lines: Option<(LineDecoder, OnLine)>,
) {
    let mut buffer = vec![0; 8 << 10];
    // A broken pipe ends the output.
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        let bytes = buffer.get(..count).unwrap_or_default();
        {
            let mut tail = lock(&tail);
            tail.extend(bytes);
            let excess = tail.len().saturating_sub(tail_bytes);
            tail.drain(..excess);
        }
        let Some((decoder, on_line)) = &mut lines else { continue };
        decoder.push(bytes);
        while let Some(next) = decoder.next_line().transpose() {
            if let Ok(line) = next {
                emit(on_line, line);
            }
        }
    }
    if let Some((decoder, mut on_line)) = lines
        && let Some(line) = decoder.finish()
    {
        emit(&mut on_line, line);
    }
}

fn emit(on_line: &mut OnLine, line: Vec<u8>) {
    let line = decode_utf8(line).0;
    // A panic of the program's function must not stop the reading, which would block the child.
    let _ = catch_panic(|| on_line(&line));
}

fn lock(tail: &Mutex<VecDeque<u8>>) -> MutexGuard<'_, VecDeque<u8>> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}
