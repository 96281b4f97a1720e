"""What is done with each request of the protocol."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any, TypeVar

from mcp import types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError

from sjduck.archive import Archive
from sjduck.bounds import Answer
from sjduck.errors import SjduckError, UsageError
from sjduck.filling import Filling
from sjduck.server import resources
from sjduck.server.calls import Calls
from sjduck.server.prompts import PROMPTS
from sjduck.server.replies import as_result, failure, reply
from sjduck.server.tools import Question, Tool
from sjduck.settings import Source
from sjduck.snapshots import latest_key

Context = ServerRequestContext[Any, Any]
Result = TypeVar("Result")


class Handlers:
    """Answers requests from one archive; starts to fill it where it never was."""

    def __init__(
        self,
        archive: Archive,
        sources: tuple[Source, ...],
        offered: Sequence[Tool],
        calls: Calls,
    ) -> None:
        self._archive = archive
        self._sources = sources
        self._tools = {tool.name: tool for tool in offered}
        self._prompts = {p.name: p for p in PROMPTS if self._tools.keys() >= p.needs}
        self._calls = calls
        self._filling = Filling(archive.root, sources)
        self._is_filled = False

    async def list_tools(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List the tools; a client that asks may use them soon, so the first fill begins."""
        # Not waited for: the tools are listed also where the archive's disk does not answer.
        Thread(target=self._begin_filling, daemon=True).start()
        return types.ListToolsResult(tools=[_as_listed(tool) for tool in self._tools.values()])

    async def call_tool(
        self, _: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Answer one call; what is wrong with it, or goes wrong, is a result that says so."""
        tool = self._tools.get(params.name)
        if tool is None:
            known = ", ".join(self._tools)
            raise _refused(f"unknown tool {params.name[:60]!r}; there are: {known}")
        try:
            return await self._calls.run(partial(self._answered, tool, params.arguments or {}))
        except SjduckError as error:
            return failure(tool.name, str(error))

    async def list_resources(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List a page of the archive's documents, newest first."""
        cursor = params.cursor if params else None
        return await self._protocol(
            lambda: resources.listed(self._archive, cursor), types.ListResourcesResult(resources=[])
        )

    async def list_resource_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List the forms that addresses have."""
        return types.ListResourceTemplatesResult(resource_templates=list(resources.TEMPLATES))

    async def read_resource(
        self, _: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read one document."""
        return await self._protocol(lambda: resources.read(self._archive, params.uri), None)

    async def complete(
        self, _: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Complete a part of an address, or the argument of a prompt."""
        part, typed = params.argument.name, params.argument.value
        known: Mapping[str, str] = (params.context and params.context.arguments) or {}
        if isinstance(params.ref, types.PromptReference):
            complete = partial(resources.completed_argument, self._archive, part, typed)
        else:
            template = params.ref.uri
            complete = partial(resources.completed, self._archive, template, part, typed, known)
        completion = await self._protocol(complete, types.Completion(values=[]))
        return types.CompleteResult(completion=completion)

    async def list_prompts(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """List the prompts whose tools are offered."""
        return types.ListPromptsResult(prompts=[p.listed for p in self._prompts.values()])

    async def get_prompt(
        self, _: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """Return a prompt for its argument."""
        prompt = self._prompts.get(params.name)
        if prompt is None:
            known = ", ".join(self._prompts)
            raise _refused(f"unknown prompt {params.name[:60]!r}; there are: {known}")
        filled = prompt.filled(params.arguments or {})
        if filled is None:
            raise _refused(f"{prompt.name} needs {prompt.argument}: {prompt.argument_about}")
        return filled

    def _answered(self, tool: Tool, sent: Mapping[str, Any]) -> types.CallToolResult:
        arguments = tool.taken(sent)
        unfilled = self._unfilled()
        if unfilled:
            return as_result(unfilled)
        return reply(tool, Question(self._archive, self._sources, arguments))

    async def _protocol(self, question: Callable[[], Result], unfilled: Result | None) -> Result:
        """Return what `question` answers, or `unfilled` from an archive that never was filled.

        What goes wrong is an error of the protocol: only tools have results that say it.
        """

        def asked() -> Result:
            answer = self._unfilled()
            if answer is None:
                return question()
            if unfilled is None:
                raise SjduckError(f"{answer['error']}; {answer['hint']}")
            return unfilled

        try:
            return await self._calls.run(asked)
        except UsageError as error:
            raise _refused(str(error)) from error
        except SjduckError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error

    def _begin_filling(self) -> None:
        with suppress(SjduckError, OSError):
            if not latest_key(self._archive.root):
                self._filling.begin()

    def _unfilled(self) -> Answer | None:
        """Return why there is no answer yet where the archive was never filled, else None."""
        # A look at file names tells it first: what opens a snapshot is heavy to import.
        if not self._is_filled:
            if not latest_key(self._archive.root) or self._archive.is_empty:
                return self._filling.answer()
            self._is_filled = True
        return None


def _as_listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.about,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            title=tool.title, read_only_hint=not tool.is_writing, open_world_hint=False
        ),
    )


def _refused(message: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, message)
