use std::error::Error;
use tool_runtime::agent::Run;
use tool_runtime::agent::session::{
    Session, SessionError, SessionQuery, SessionStatus, SessionStore,
};
use tool_runtime::{Agent, StopReason, Stopped};

/// Resumes each unfinished run of the store. The runs go on in tasks.
async fn resume_all<S>(agent: &Agent, store: &S) -> Result<(), Box<dyn Error>>
where
    S: SessionStore + Clone + 'static,
{
    // In this order, because a lease may expire between the two lists.
    for listed in store.list(SessionQuery::all().status(SessionStatus::Running)).await? {
        let session = agent.session(store.clone(), listed.session);
        tokio::spawn(async move { finish(&session, session.resume().await).await });
    }
    for listed in store.list(SessionQuery::all().status(SessionStatus::Interrupted)).await? {
        let session = agent.session(store.clone(), listed.session);
        let resumed = session.resume().await;
        tokio::spawn(async move { finish(&session, resumed).await });
    }
    Ok(())
}

async fn finish(session: &Session, resumed: Result<Option<Run>, Stopped>) {
    let stopped = match resumed {
        Ok(Some(run)) => run.finish().await.err(),
        Ok(None) => None, // nothing left to resume
        Err(stopped) => Some(stopped),
    };
    match stopped.map(|stopped| stopped.reason) {
        // It ended, waits for a decision, or goes on in another process.
        None
        | Some(StopReason::AwaitingApproval(_) | StopReason::Session(SessionError::Busy { .. })) => {}
        Some(reason) => eprintln!("session {}: {reason}", session.name()),
    }
}
