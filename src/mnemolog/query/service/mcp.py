"""The memory as an MCP server: which tools a caller has and for whom they work is decided at each request, from what the
transport knows of the caller and never from what a model says; a tool that fails answers with what to do instead."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import mcp_types as types
import msgspec
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from ... import __version__
from ...schemas.errors import InvalidInput, MnemologError
from ...schemas.scope import check_name
from .mcp_asker import Asker, Context, Run, agent_of, run_in_thread
from .mcp_reading import get_prompt, list_prompts, list_resources, list_templates, read_resource
from .mcp_shapes import object_schema
from .mcp_tools import INSTRUCTIONS, TOOLS, Tool, Whose
from .problems import is_inside
from .workers import Overloaded

__all__ = ["server_of"]

_log = logging.getLogger("mnemolog.mcp")
_NOT_NOW = "the memory cannot answer now; nothing was lost: try again in a moment, or go on without it"


def server_of(asker: Callable[[Context], Asker], *, run: Run = run_in_thread) -> Server[Any]:
    """A server whose tools work for whomever `asker` says that a request is from; `run` calls the memory, in a thread."""

    async def list_tools(context: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        who = asker(context)
        return types.ListToolsResult(tools=[_described(tool, who.subject is None) for tool in TOOLS if _may(who, tool)])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        who = asker(context)
        tool = next((tool for tool in TOOLS if tool.name == params.name and _may(who, tool)), None)
        if tool is None:
            known = ", ".join(tool.name for tool in TOOLS if _may(who, tool))
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:100]!r}; there are {known}")
        try:
            whose, given = _understood(who, tool, dict(params.arguments or {}), agent_of(context))
            result = await run(partial(tool.run, whose, given))
        except MnemologError as error:
            if is_inside(error):
                _log.warning("tool %s could not answer: %s: %s", tool.name, type(error).__name__, error)
                return _failed(_NOT_NOW)
            return _failed(str(error))
        except Overloaded:
            return _failed("the memory is busy and nothing was done: try again in a moment")
        except Exception:
            _log.exception("tool %s failed", tool.name)
            return _failed("this failed for a reason that is not yours to mend; the server's log has it. Go on without it.")
        text = msgspec.json.encode(result).decode("utf-8") if tool.text is None else tool.text(result)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], structured_content=msgspec.to_builtins(result)
        )

    async def resources(context: Context, _params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return list_resources(asker(context))

    async def templates(context: Context, _params: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
        return list_templates(asker(context))

    async def read(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await read_resource(asker(context), context, run, str(params.uri))

    async def prompts(context: Context, _params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return list_prompts(asker(context))

    async def prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await get_prompt(asker(context), context, run, params.name, dict(params.arguments or {}))

    return Server(
        "mnemolog",
        title="mnemolog",
        version=__version__,
        description="Long-term memory with history and sources",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=resources,
        on_list_resource_templates=templates,
        on_read_resource=read,
        on_list_prompts=prompts,
        on_get_prompt=prompt,
    )


def _may(who: Asker, tool: Tool) -> bool:
    """Whether the tool is there for this caller."""
    return who.writes if tool.writes else who.reads


def _described(tool: Tool, names_subject: bool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=object_schema(tool.arguments, subject=names_subject),
        output_schema=object_schema(tool.result),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.writes,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent or not tool.writes,
            open_world_hint=False,
        ),
    )


def _understood(who: Asker, tool: Tool, arguments: dict[str, Any], agent: str) -> tuple[Whose, Any]:
    """For whom, and the arguments as typed data. Raises InvalidInput, which names the argument."""
    subject = who.subject
    if subject is None:
        subject = check_name("subject", arguments.pop("subject", ""))
    elif "subject" in arguments:
        raise InvalidInput("subject", "is no argument here", "this memory is one subject's; leave it out")
    try:
        given = msgspec.convert(arguments, tool.arguments)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        known = ", ".join(field.name for field in msgspec.structs.fields(tool.arguments))
        raise InvalidInput(path.strip("`.") or "arguments", problem, f"{tool.name} takes: {known}") from None
    return Whose(who.memory, subject, who.session, agent, who.reads), given


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
