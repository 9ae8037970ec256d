"""How a fact's source can be asked again by a program, as a spec says it.

    repositories: {value: 22, ..., ask: {kind: hub_search, query: Apodex-1.1-mini, count: repositories}}
    memory_bandwidth: {status: not_published, ..., ask: {kind: web, address: https://..., pattern: "memory bandwidth"}}

Threads' states, sizes of files and citations of the engine's source need no `ask`: the spec already says what to ask.
"""

from __future__ import annotations

from generator.facts import Ask
from generator.specs.document import MappingNode, ScalarNode
from generator.specs.shapes import REPOSITORY, URL, Choice, Field, Place, Record, Text, Values, hint, optional, required

KINDS: dict[str, tuple[str, ...]] = {
    "hub_repository": ("repository", "field"),
    "hub_card": ("repository", "words"),
    "hub_search": ("query", "count"),
    "github_search": ("repository", "query"),
    "github_release": ("repository", "field"),
    "web": ("address",),
}
"""Kind of question -> the parts it needs.

hub_repository: a field of a repository (modified, pipeline, gated). hub_card: how often `words` (parted by |) stand in its
model card. hub_search: over the repositories that match `query`, the count of `repositories`, `namespaces`, `cards`, or of cards
`naming` any of `words`. github_search: threads found by `query`. github_release: `newest_build`, `newest_build_published` or
`latest`. web: whether a page answers, or with `pattern` how often that stands in it; a page without its `control` is not the one meant.
"""

FIELDS = ("modified", "pipeline", "gated", "newest_build", "newest_build_published", "latest")
COUNTS = ("repositories", "namespaces", "cards", "naming")

_KIND = required("kind", Choice(tuple(KINDS)), "Kind of question.", "hub_search")
_PARTS: tuple[Field[str], ...] = (
    optional("repository", Text(REPOSITORY, "repository such as Qwen/Qwen3-8B"), "Repository asked about.", ""),
    optional("field", Choice(FIELDS), "Which of its fields.", ""),
    optional("query", Text(longest=200), "Words searched for.", ""),
    optional("count", Choice(COUNTS), "What is counted.", ""),
    optional("words", Text(longest=400), "Words counted, parted by |.", ""),
    optional("address", Text(URL, "web address"), "Page read.", ""),
    optional("pattern", Text(longest=400), "Text looked for on the page, whatever its case.", ""),
    optional("control", Text(longest=400), "Text that the page meant must have, so that finding nothing on it means something.", ""),
)


def _check(node: MappingNode, at: Place) -> None:
    kind = node.get("kind")
    if not isinstance(kind, ScalarNode) or kind.text not in KINDS:
        return
    needed = KINDS[kind.text]
    for name in needed:
        if node.get(name) is None:
            at.key(name).fault(node.line, f"a question of kind '{kind.text}' needs '{name}'", hint(name, needed))


def _build(values: Values, _: Place) -> Ask:
    return Ask.of(values[_KIND], **{part.name: values[part] for part in _PARTS if values[part]})


ASK = Record("How the source is asked again.", [_KIND, *_PARTS], _build, check=_check)
