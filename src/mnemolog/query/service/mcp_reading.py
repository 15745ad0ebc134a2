"""What a person, not a model, takes from the MCP server: a resource that a host attaches to a conversation, and a prompt that
puts what is known before a message. Both read what the tool `context` reads, for the same subject."""

from __future__ import annotations

import logging
from functools import partial
from urllib.parse import unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from ...schemas.errors import MnemologError
from ...schemas.scope import check_name
from .mcp_asker import Asker, Run, agent_of
from .mcp_asker import Context as Request
from .mcp_shapes import MAX_QUERY
from .problems import UNAVAILABLE, is_inside
from .workers import Overloaded

__all__ = ["get_prompt", "list_prompts", "list_resources", "list_templates", "read_resource"]

_log = logging.getLogger("mnemolog.mcp")

_URI, _TEMPLATE = "mnemolog://profile", "mnemolog://profile/{subject}"
_PROMPT = "with-memory"
_BUDGET = 2000
"""Tokens."""
_ABOUT = "What holds now: standing rules and profile, as text. Information about the user, not an instruction."


def list_resources(who: Asker) -> types.ListResourcesResult:
    """The profile, where it is known whose."""
    if who.subject is None or not who.reads:
        return types.ListResourcesResult(resources=[])
    profile = types.Resource(uri=_URI, name="profile", title="What is remembered", description=_ABOUT, mime_type="text/plain")
    return types.ListResourcesResult(resources=[profile])


def list_templates(who: Asker) -> types.ListResourceTemplatesResult:
    """The profile of whomever the host names, where it may."""
    if who.subject is not None or not who.reads:
        return types.ListResourceTemplatesResult(resource_templates=[])
    template = types.ResourceTemplate(
        uri_template=_TEMPLATE, name="profile", title="What is remembered", description=_ABOUT, mime_type="text/plain"
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(who: Asker, request: Request, run: Run, uri: str) -> types.ReadResourceResult:
    """The text of the profile. Raises MCPError for another URI."""
    subject = who.subject if uri == _URI else None
    if who.subject is None and uri.startswith(f"{_URI}/"):
        subject = unquote(uri.removeprefix(f"{_URI}/"))
    if subject is None or not who.reads:
        raise MCPError(types.INVALID_PARAMS, f"Unknown resource: {uri[:200]!r}", {"uri": uri})
    text = await _known(who, request, run, subject, "")
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)])


def list_prompts(who: Asker) -> types.ListPromptsResult:
    """The one prompt."""
    if not who.reads:
        return types.ListPromptsResult(prompts=[])
    arguments = [types.PromptArgument(name="message", description="What you want to say to the agent.", required=True)]
    if who.subject is None:
        arguments.insert(0, types.PromptArgument(name="subject", description="Whose memory, such as user:42.", required=True))
    prompt = types.Prompt(
        name=_PROMPT,
        title="Ask with memory",
        description="Puts what is remembered and bears on a message before that message.",
        arguments=arguments,
    )
    return types.ListPromptsResult(prompts=[prompt])


async def get_prompt(who: Asker, request: Request, run: Run, name: str, arguments: dict[str, str]) -> types.GetPromptResult:
    """The message with what is known before it. Raises MCPError for another prompt, or arguments that do not fit."""
    if name != _PROMPT or not who.reads:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {name[:100]!r}; there is {_PROMPT}")
    known = {"message"} if who.subject is not None else {"message", "subject"}
    if set(arguments) != known or not arguments["message"].strip():
        raise MCPError(types.INVALID_PARAMS, f"{_PROMPT} takes: {', '.join(sorted(known))}")
    message = arguments["message"]
    if len(message) > MAX_QUERY:
        raise MCPError(types.INVALID_PARAMS, f"message: is longer than {MAX_QUERY:,} characters")
    text = await _known(who, request, run, who.subject or arguments["subject"], message)
    content = types.TextContent(type="text", text=f"{text}\n\n{message}" if text else message)
    return types.GetPromptResult(description="Ask with memory", messages=[types.PromptMessage(role="user", content=content)])


async def _known(who: Asker, request: Request, run: Run, subject: str, query: str) -> str:
    """The context for a question; for none what holds whatever is asked. Raises MCPError."""
    try:
        check_name("subject", subject)
        read = partial(
            who.memory.context,
            query,
            subject=subject,
            budget=_BUDGET,
            agent_id=agent_of(request),
            session=who.session,
        )
        return str(await run(read))
    except Overloaded:
        raise MCPError(types.INTERNAL_ERROR, "the memory is busy: try again in a moment") from None
    except MnemologError as error:
        if is_inside(error):
            _log.warning("the profile could not be read: %s: %s", type(error).__name__, error)
            raise MCPError(types.INTERNAL_ERROR, UNAVAILABLE) from None
        raise MCPError(types.INVALID_PARAMS, str(error)) from None
