"""The log in memory keeps the contract of logs."""

from __future__ import annotations

from logs.contract import LogContract
from mnemolog.adapters.logs.memory import MemoryLog
from mnemolog.processors.core.ports import EventLog
from support.events import ManualClock


class TestMemoryLog(LogContract):
    def make_log(self, clock: ManualClock) -> EventLog:
        return MemoryLog(clock=clock)
