use tool_runtime::Agent;
use tool_runtime::agent::session::{SessionInfo, SessionQuery, SessionStatus, SessionStore};

/// Resumes each unfinished run of the store in its own task.
async fn resume_all<S>(agent: &Agent, store: &S) -> Result<(), Box<dyn std::error::Error>>
where
    S: SessionStore + Clone + 'static,
{
    for status in [SessionStatus::Interrupted, SessionStatus::Running] {
        for SessionInfo { session, .. } in store.list(SessionQuery::all().status(status)).await? {
            let handle = agent.session(store.clone(), session);
            tokio::spawn(async move {
                let finished = match handle.resume().await {
                    Ok(Some(run)) => run.finish().await.map(drop),
                    Ok(None) => Ok(()), // nothing left to resume
                    Err(stopped) => Err(stopped),
                };
                if let Err(stopped) = finished {
                    eprintln!("session {}: {stopped}", handle.name());
                }
            });
        }
    }
    Ok(())
}
