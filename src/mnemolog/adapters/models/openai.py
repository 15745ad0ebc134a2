"""An extractor that asks any OpenAI-compatible server. What the model says is only a proposal: each fact must quote the turn
exactly and its value must be read out of that quote, else `decide` refuses it and records the refusal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from ...processors.core.markers import mask_injected
from ...processors.core.ports import Extraction, SeenTurn
from ...processors.core.values import detect_lang, parse_value
from ...schemas.codec import canonical, sha256_hex
from ...schemas.errors import InvalidInput, ModelOutputInvalid, ModelUnavailable
from ...schemas.forms import Slot
from ...schemas.observations import Authority, Candidate, EntityRef
from ...schemas.registry import Registry
from ...schemas.values import TEXT_TYPES, Value, normal_text

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.chat import ChatCompletion, ChatCompletionMessageParam

__all__ = ["OpenAIExtractor"]

_INSTRUCTIONS = """You read ONE chat message and list the facts it states. Answer with one JSON object only:
{"facts": [{"op": "set|add|remove|retire", "form_type": "...", "slot": "...", "about": "self" or a name,
"relation": "how that person or thing relates to the user, or empty", "value": "...", "before": "", "quote": "...",
"said_as": "user|hearsay|quoted|hypothetical|joke|question|speculated|model", "hedged": false, "correction": false,
"cause": "", "confidence": 0.9, "importance": 0.7}]}
Rules: `quote` is copied character by character from the MESSAGE and contains the value's own words. Only what the message
itself states; nothing inferred, nothing from the earlier messages or from general knowledge. op add/remove for slots marked
"many". `hedged` for about, roughly, maybe, 大概, 左右. `said_as` user only for a plain first-hand statement.
No facts: {"facts": []}.
Form types and slots:
"""


class _Fact(msgspec.Struct, kw_only=True):
    op: Literal["set", "add", "remove", "retire"] = "set"
    form_type: str = ""
    slot: str = ""
    about: str = "self"
    relation: str = ""
    value: str | int | float | bool | None = None
    before: str | None = None
    quote: str = ""
    said_as: str = "user"
    hedged: bool = False
    correction: bool = False
    cause: str | None = None
    confidence: float = 0.9
    importance: float = 0.7


class _Answer(msgspec.Struct):
    facts: list[_Fact] = []


class OpenAIExtractor:
    """`Memory(extractor=OpenAIExtractor("http://localhost:8080/v1", "qwen3", api_key="..."))`.

    base_url: the server's `/v1` address; model: its name there; api_key: sent as a bearer token; timeout: seconds for one
    answer; window: earlier turns of the session shown as context; registry: the Form types to extract (default: built in);
    concurrency: on servers, so many turns of different scopes are asked about at once.
    Needs the `llm` extra. Raises ModelUnavailable where the server cannot be reached or refuses for its own reasons (the turn
    waits), ModelOutputInvalid where the answer is not the agreed JSON.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "none",
        *,
        registry: Registry | None = None,
        timeout: float = 60.0,
        window: int = 6,
        concurrency: int = 8,
    ) -> None:
        if not base_url:
            raise InvalidInput("base_url", "is empty", "give the server's address, such as http://localhost:8080/v1")
        if not model:
            raise InvalidInput("model", "is empty", "give the model's name as the server knows it")
        if concurrency < 1:
            raise InvalidInput("concurrency", f"is {concurrency}", "give 1 or more")
        self.concurrency = concurrency
        self._base_url, self._model, self._api_key, self._timeout = base_url, model, api_key, timeout
        self._window = window
        self._registry = registry or Registry.load()
        self._system = _INSTRUCTIONS + _catalogue(self._registry)
        self._client: OpenAI | None = None
        self._json_mode = True

    @property
    def name(self) -> str:
        return f"openai:{self._model}/1"

    @property
    def window(self) -> int:
        return self._window

    def extract(self, turn: SeenTurn, window: Sequence[SeenTurn]) -> Extraction:
        masked = mask_injected(turn.turn.content)
        messages = self._messages(turn, masked, window)
        prompt_hash = sha256_hex(canonical(messages))
        raw = self._ask(messages)
        facts = _parse(raw).facts
        candidates = [self._candidate(fact, turn, masked) for fact in facts]
        return Extraction(
            candidates=candidates,
            context_ids=[seen.id for seen in window],
            raw=raw,
            model=self._model,
            prompt_hash=prompt_hash,
        )

    def _messages(self, turn: SeenTurn, masked: str, window: Sequence[SeenTurn]) -> list[dict[str, str]]:
        earlier = "\n".join(f"[{seen.turn.role}] {mask_injected(seen.turn.content)}" for seen in window)
        said = f"EARLIER:\n{earlier or '(nothing)'}\n\nMESSAGE by {turn.turn.speaker or turn.turn.role}, "
        return [
            {"role": "system", "content": self._system},
            {"role": "user", "content": f"{said}{turn.turn.occurred_at}:\n{masked}"},
        ]

    def _ask(self, messages: list[dict[str, str]]) -> str:
        try:
            import openai
        except ImportError:
            raise InvalidInput("extractor", "needs the openai package", "pip install 'mnemolog[llm]'") from None
        if self._client is None:
            # A server that wants no key gets one all the same: the client does not go without.
            self._client = openai.OpenAI(
                base_url=self._base_url, api_key=self._api_key or "none", timeout=self._timeout, max_retries=0
            )
        try:
            answer = self._complete(self._client, messages)
        except openai.BadRequestError as error:
            if not self._json_mode:
                raise ModelOutputInvalid(f"{self._base_url} refused the request: {error}") from error
            self._json_mode = False  # some servers know no response_format
            return self._ask(messages)
        except openai.OpenAIError as error:
            raise ModelUnavailable(f"model server {self._base_url}: {error}") from error
        if not answer.choices or not answer.choices[0].message.content:
            raise ModelOutputInvalid(f"{self._model} gave an empty answer")
        return answer.choices[0].message.content

    def _complete(self, client: OpenAI, messages: list[dict[str, str]]) -> ChatCompletion:
        typed: list[ChatCompletionMessageParam] = [
            {"role": "system", "content": messages[0]["content"]},
            {"role": "user", "content": messages[1]["content"]},
        ]
        if self._json_mode:
            return client.chat.completions.create(
                model=self._model, messages=typed, temperature=0, response_format={"type": "json_object"}
            )
        return client.chat.completions.create(model=self._model, messages=typed, temperature=0)

    def _candidate(self, fact: _Fact, turn: SeenTurn, masked: str) -> Candidate:
        start = masked.find(fact.quote) if fact.quote else -1
        # A quote that is not in the turn keeps an empty span: decide's evidence check refuses it, and says so.
        start, end = (start, start + len(fact.quote)) if start >= 0 else (0, 0)
        value, authority = self._value(fact, turn)
        return Candidate(
            op=fact.op,
            entity=_entity(fact, turn),
            form_type=fact.form_type,
            slot=fact.slot,
            value=value,
            before=self._before(fact, turn),
            correction=fact.correction,
            hedged=fact.hedged,
            authority=authority,
            confidence=min(max(fact.confidence, 0.0), 1.0),
            importance=min(max(fact.importance, 0.0), 1.0),
            cause=fact.cause if fact.cause and fact.cause in masked else "",
            quote=fact.quote,
            start=start,
            end=end,
        )

    def _slot(self, fact: _Fact) -> Slot | None:
        form = self._registry.types.get(fact.form_type)
        return None if form is None else form.slots.get(fact.slot) or (Slot() if form.open_slots else None)

    def _read(self, slot: Slot, text: str, turn: SeenTurn) -> Value | None:
        return parse_value(
            slot, text, at=turn.turn.occurred_at, utc_offset=turn.turn.utc_offset, lang=detect_lang(turn.turn.content)
        )

    def _value(self, fact: _Fact, turn: SeenTurn) -> tuple[Value | None, Authority]:
        said: Authority = fact.said_as if fact.said_as in get_args(Authority) else "model"  # type: ignore[assignment]
        if turn.turn.role != "user":
            said = "tool" if turn.turn.role == "tool" else "assistant"
        slot = self._slot(fact)
        if slot is None or fact.value is None:
            return None, said
        text = str(fact.value).lower() if isinstance(fact.value, bool) else str(fact.value)
        value = self._read(slot, text, turn)
        if value is None or not self._supported(slot, value, text, fact.quote, turn):
            return value, "model" if value is not None else said
        return value, said

    def _supported(self, slot: Slot, value: Value, text: str, quote: str, turn: SeenTurn) -> bool:
        """Whether the quote itself says the value; else it is the model's inference, pending at most."""
        if normal_text(text) in normal_text(quote):
            return True
        if value.type in TEXT_TYPES and value.type != "enum":
            return False
        read = self._read(slot, quote, turn)
        return read is not None and read.key == value.key

    def _before(self, fact: _Fact, turn: SeenTurn) -> Value | None:
        slot = self._slot(fact)
        return self._read(slot, fact.before, turn) if slot is not None and fact.before else None


def _entity(fact: _Fact, turn: SeenTurn) -> EntityRef:
    if fact.about in ("", "self", "user"):
        if turn.turn.speaker and turn.turn.role == "user":
            return EntityRef(kind="named", name=turn.turn.speaker, relation="speaker")
        return EntityRef(kind="self" if fact.form_type in ("", "person", "rule") else "current")
    return EntityRef(kind="named", name=fact.about, relation=fact.relation)


def _parse(raw: str) -> _Answer:
    """The first JSON object in the answer: models like to wrap it in prose or a code fence."""
    begin = raw.find("{")
    if begin < 0:
        raise ModelOutputInvalid("the model's answer holds no JSON object", raw)
    try:
        found, _ = json.JSONDecoder().raw_decode(raw, begin)
        return msgspec.convert(found, _Answer)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise ModelOutputInvalid(f"the model's answer is not the agreed JSON: {error}", raw) from error


def _catalogue(registry: Registry) -> str:
    lines = []
    for name, form in registry.types.items():
        slots = ", ".join(
            f"{slot_name} ({slot.type}{', many' if slot.many else ''}{': ' + '/'.join(slot.values) if slot.values else ''})"
            for slot_name, slot in form.slots.items()
        )
        lines.append(f"- {name}: {slots or 'any slot name'}")
    return "\n".join(lines)
