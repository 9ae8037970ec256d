"""A local server that plays the Hugging Face Hub, GitHub and web pages from a scenario, well enough for the real clients."""

from tests.emulator.budgets import Budgets, Limit, published
from tests.emulator.faults import Fault
from tests.emulator.github_state import Release, Tag, Thread, Tracker
from tests.emulator.hub_state import Commit, HubFile, Repository
from tests.emulator.scenario import GITHUB_TOKEN, HUB_TOKEN, Page, Scenario, day
from tests.emulator.server import Clock, Emulator, Exchange

__all__ = [
    "GITHUB_TOKEN",
    "HUB_TOKEN",
    "Budgets",
    "Clock",
    "Commit",
    "Emulator",
    "Exchange",
    "Fault",
    "HubFile",
    "Limit",
    "Page",
    "Release",
    "Repository",
    "Scenario",
    "Tag",
    "Thread",
    "Tracker",
    "day",
    "published",
]
