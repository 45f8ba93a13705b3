//! Walks the regular files below a folder, on several threads, and applies ignore files.
//!
//! Each folder and each ignore file is opened by [`Root`], so that no name and no rule comes from
//! outside of the workspace, also if a folder is exchanged for a link during the walk.

use std::io::Read;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tool_core::{CancellationToken, ToolError};

use crate::error::path_error;
use crate::path::RelativePath;
use crate::root::{Kind, Root};

/// The ignore files of a folder. The rules of a later one take precedence.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The most bytes of an ignore file that are read.
const MAX_IGNORE_LEN: u64 = 1024 * 1024;

/// The number of files that a thread takes at once.
const BATCH_LEN: usize = 64;

/// The most threads of a walk.
const MAX_THREADS: usize = 8;

/// A walk through the files below a folder.
pub(crate) struct Walk<'w> {
    pub(crate) root: &'w Root,
    /// Whether hidden and ignored files are included. Those of `.git` are visited only if the walk
    /// begins there.
    pub(crate) includes_all: bool,
    pub(crate) cancellation: CancellationToken,
}

/// The rules of a folder and of those above it.
struct Rules {
    parent: Option<Arc<Self>>,
    rules: Gitignore,
}

impl Rules {
    fn ignores(&self, path: &str, is_folder: bool) -> bool {
        let matched = self.rules.matched(Path::new(path), is_folder);
        match &self.parent {
            Some(parent) if matched.is_none() => parent.ignores(path, is_folder),
            _ => matched.is_ignore(),
        }
    }
}

enum Job {
    Folder(RelativePath, Option<Arc<Rules>>),
    Files(Vec<RelativePath>),
}

#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    /// The number of threads that may still add jobs.
    active: usize,
}

impl Walk<'_> {
    /// Visits the files below `folder` in no order. Each thread has a visitor.
    ///
    /// Returns the number of folders that could not be read.
    pub(crate) fn run<V: FnMut(&RelativePath)>(
        &self,
        folder: &RelativePath,
        visitor: impl Fn() -> V + Sync,
    ) -> Result<u64, ToolError> {
        self.root.folder(folder).map_err(|error| path_error(folder, error))?;
        let first = Job::Folder(folder.clone(), self.rules_above(folder));
        let queue = Mutex::new(Queue { jobs: vec![first], active: 0 });
        let (is_changed, unreadable) = (Condvar::new(), AtomicU64::new(0));
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut visit = visitor();
                    while let Some(job) = next_job(&queue, &is_changed) {
                        let jobs = self.process(job, &mut visit, &unreadable);
                        let mut queue = lock(&queue);
                        queue.active -= 1;
                        queue.jobs.extend(jobs);
                        is_changed.notify_all();
                    }
                });
            }
        });
        Ok(unreadable.into_inner())
    }

    fn process(
        &self,
        job: Job,
        visit: &mut impl FnMut(&RelativePath),
        unreadable: &AtomicU64,
    ) -> Vec<Job> {
        if self.cancellation.is_cancelled() {
            return Vec::new();
        }
        match job {
            Job::Files(files) => {
                for file in files.iter().take_while(|_| !self.cancellation.is_cancelled()) {
                    visit(file);
                }
                Vec::new()
            }
            Job::Folder(folder, rules) => self.list(&folder, rules).unwrap_or_else(|| {
                unreadable.fetch_add(1, Ordering::Relaxed);
                Vec::new()
            }),
        }
    }

    /// Returns the jobs of a folder; `None` if it can't be read.
    fn list(&self, folder: &RelativePath, rules: Option<Arc<Rules>>) -> Option<Vec<Job>> {
        let entries = self.root.entries(folder).ok()?;
        let has_rules = !self.includes_all
            && entries.iter().any(|(name, _)| IGNORE_FILES.contains(&name.as_str()));
        let rules = if has_rules { self.rules(folder, rules) } else { rules };
        let (mut jobs, mut files) = (Vec::new(), Vec::new());
        for (name, kind) in entries {
            let is_folder = match kind {
                Kind::File => false,
                Kind::Folder => true,
                Kind::Link | Kind::Other => continue,
            };
            if name == ".git" || !self.includes_all && name.starts_with('.') {
                continue;
            }
            let path = folder.join(&name);
            if rules.as_ref().is_some_and(|rules| rules.ignores(path.as_str(), is_folder)) {
                continue;
            }
            if is_folder {
                jobs.push(Job::Folder(path, rules.clone()));
                continue;
            }
            files.push(path);
            if files.len() == BATCH_LEN {
                jobs.push(Job::Files(std::mem::take(&mut files)));
            }
        }
        jobs.push(Job::Files(files));
        Some(jobs)
    }

    /// Returns the rules of the folders above this one, up to the workspace.
    fn rules_above(&self, folder: &RelativePath) -> Option<Arc<Rules>> {
        if self.includes_all || folder.is_root() {
            return None;
        }
        let (parent, _) = folder.split();
        let rules = self.rules_above(&parent);
        self.rules(&parent, rules)
    }

    /// Returns the rules of a folder in addition to those above it.
    fn rules(&self, folder: &RelativePath, above: Option<Arc<Rules>>) -> Option<Arc<Rules>> {
        let mut builder = GitignoreBuilder::new(folder.as_str());
        for name in IGNORE_FILES {
            let Ok((file, _)) = self.root.file(&folder.join(name)) else { continue };
            let mut text = Vec::new();
            if file.take(MAX_IGNORE_LEN).read_to_end(&mut text).is_err() {
                continue;
            }
            let text = String::from_utf8_lossy(&text);
            for line in text.trim_start_matches('\u{feff}').lines() {
                // A rule that is not valid applies to nothing, as in git.
                let _ = builder.add_line(None, line);
            }
        }
        match builder.build() {
            Ok(rules) if !rules.is_empty() => Some(Arc::new(Rules { parent: above, rules })),
            _ => above,
        }
    }
}

/// Waits for a job; returns `None` once no thread can add one.
fn next_job(queue: &Mutex<Queue>, is_changed: &Condvar) -> Option<Job> {
    let mut queue = lock(queue);
    loop {
        if let Some(job) = queue.jobs.pop() {
            queue.active += 1;
            return Some(job);
        }
        if queue.active == 0 {
            return None;
        }
        queue = is_changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
