"""Where facts come from: the Hub, GitHub, engine source, web pages. Only this package touches the network, through one session a run."""

from generator.sources.engine_source import Found, find
from generator.sources.errors import (
    BadAnswer,
    InvalidAddress,
    SourceChanged,
    SourceDenied,
    SourceError,
    SourceLimited,
    SourceMoved,
    SourceNotFound,
    SourceUnreachable,
)
from generator.sources.github import GitHub, Thread
from generator.sources.hub import FileHead, Hub, HubFile, HubReference, RepoInfo, Tree, open_hub, open_hub_set, parse_reference
from generator.sources.ranges import HttpRanges
from generator.sources.session import Session
from generator.sources.validators import Validators
from generator.sources.web import Page, Web

__all__ = [
    "BadAnswer",
    "FileHead",
    "Found",
    "GitHub",
    "HttpRanges",
    "Hub",
    "HubFile",
    "HubReference",
    "InvalidAddress",
    "Page",
    "RepoInfo",
    "Session",
    "SourceChanged",
    "SourceDenied",
    "SourceError",
    "SourceLimited",
    "SourceMoved",
    "SourceNotFound",
    "SourceUnreachable",
    "Thread",
    "Tree",
    "Validators",
    "Web",
    "find",
    "open_hub",
    "open_hub_set",
    "parse_reference",
]
