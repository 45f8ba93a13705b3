//! The handler that the SDK calls, with one method for each request of the protocol.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};

use super::Shared;
use super::access::{access, caller};
use super::call::{call_tool, registry};
use super::connection::malformed::invalid_params;
use super::connection::notifications::{accepted, listen, watch_session};
use super::connection::outbox::delivering;
use super::connection::session::Session;
use super::definitions;
use super::errors::resource_not_found;
use super::features::completion::complete;
use super::features::get_prompt::get_prompt;
use super::features::page::page;
use super::features::tasks::TaskStore;
use super::request_span::RequestSpan;
use crate::LogLevel;

/// Serves one session.
#[derive(Debug)]
pub(crate) struct Handler(Session);

impl Handler {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self(Session::new(shared))
    }

    fn tasks(&self) -> Result<&TaskStore, ErrorData> {
        let unsupported = || ErrorData::invalid_request("this server has no tasks", None);
        self.0.shared.tasks.as_ref().ok_or_else(unsupported)
    }
}

/// Whether the tool of a call has failed.
fn is_tool_error(response: &CallToolResponse) -> bool {
    matches!(response, CallToolResponse::Complete(result) if result.is_error == Some(true))
}

type Page = Option<PaginatedRequestParams>;
type Context = RequestContext<RoleServer>;

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.0.shared.config.clone()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let caller = caller();
        let tools = registry(&self.0.shared, caller.as_ref()).ok()?.snapshot();
        let definition = tools.definition(name)?;
        Some(definitions::tool(definition, &self.0.shared.tool_meta))
    }

    async fn list_tools(&self, params: Page, cx: Context) -> Result<ListToolsResult, ErrorData> {
        let access = access(&cx.extensions);
        let dispatcher = access.and_then(|access| access.dispatcher.as_ref());
        let dispatcher = dispatcher.map_or_else(|| self.0.shared.dispatcher(), Ok)?;
        let tools = registry(&self.0.shared, access)?.snapshot();
        let offered = dispatcher.offered_tools(&tools).into_iter();
        let (tools, next_cursor) = page("tools", offered, params, |tool| &tool.name)?;
        let meta = &self.0.shared.tool_meta;
        let tools = tools.into_iter().map(|tool| definitions::tool(tool, meta)).collect();
        Ok(ListToolsResult { next_cursor, ..ListToolsResult::with_all_items(tools) })
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        cx: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let _permit = self.0.shared.admit()?;
        let span = RequestSpan::call_tool(&self.0.shared, &cx, &params.name);
        // Boxed, because the SDK moves the future of each request several times.
        Box::pin(span.run(call_tool(&self.0, params, cx), is_tool_error)).await
    }

    async fn list_prompts(&self, params: Page, _: Context) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.0.shared.prompts.list();
        let (prompts, next_cursor) =
            page("prompts", prompts.into_iter(), params, |prompt| &prompt.name)?;
        Ok(ListPromptsResult { next_cursor, ..ListPromptsResult::with_all_items(prompts) })
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        cx: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let _permit = self.0.shared.admit()?;
        let span = RequestSpan::get_prompt(&self.0.shared, &cx, &params.name);
        Box::pin(span.run(get_prompt(&self.0, params, cx), |_| false)).await
    }

    async fn list_resources(
        &self,
        params: Page,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.0.shared.resources.list();
        let (resources, next_cursor) =
            page("resources", resources.into_iter(), params, |it| &it.uri)?;
        Ok(ListResourcesResult { next_cursor, ..ListResourcesResult::with_all_items(resources) })
    }

    async fn list_resource_templates(
        &self,
        params: Page,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.0.shared.resources.list_templates();
        let (templates, next_cursor) =
            page("templates", templates.into_iter(), params, |it| &it.uri_template)?;
        let all = ListResourceTemplatesResult::with_all_items(templates);
        Ok(ListResourceTemplatesResult { next_cursor, ..all })
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        cx: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let _permit = self.0.shared.admit()?;
        let span = RequestSpan::read_resource(&self.0.shared, &cx, &params.uri);
        let request = self.0.request(cx);
        let reading = self.0.shared.resources.get(params.uri, request.clone());
        let link = request.link();
        let reading = span.run(delivering(&request, &link, reading), |_| false);
        Box::pin(reading).await.map(Into::into)
    }

    async fn subscribe(&self, params: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        if !self.0.shared.resources.contains(&params.uri) {
            return Err(resource_not_found(&params.uri));
        }
        self.0.subscribe(params.uri)
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        self.0.unsubscribe(&params.uri);
        Ok(())
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        cx: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let _permit = self.0.shared.admit()?;
        let Some(completer) = &self.0.shared.completer else {
            return Err(ErrorData::method_not_found::<CompleteRequestMethod>());
        };
        Box::pin(complete(completer, params, self.0.request(cx))).await
    }

    #[expect(deprecated, reason = "clients of 2025-11-25 use it")]
    async fn set_level(
        &self,
        params: rmcp::model::SetLevelRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        self.0.set_level(LogLevel::from(params.level));
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        cx: Context,
    ) -> Result<CustomResult, ErrorData> {
        let unknown = || ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method.clone(), None);
        Err(invalid_params(&request, Some(&cx.meta)).unwrap_or_else(unknown))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        watch_session(&self.0, &context);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let _permit = self.0.shared.admit()?;
        Box::pin(listen(&self.0, context)).await
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        cx: Context,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks()?.get(&params.task_id, self.0.request(cx).principal())
    }

    async fn update_task(&self, params: UpdateTaskParams, cx: Context) -> Result<(), ErrorData> {
        let request = self.0.request(cx);
        self.tasks()?.update(&params.task_id, params.input_responses, request.principal())
    }

    async fn cancel_task(&self, params: CancelTaskParams, cx: Context) -> Result<(), ErrorData> {
        self.tasks()?.cancel(&params.task_id, self.0.request(cx).principal())
    }
}
