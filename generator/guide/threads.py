"""The threads that a guide tells of: which apply to its reader, in what order, in which section, in which words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from generator.claims.scope import Situation, nearness, outside
from generator.guide.marks import Marks, escaped
from generator.specs import OUTCOMES, SEVERITIES, TOPICS, Issue, Recipe

ICONS = {"red": "🔴", "amber": "🟠", "note": "⚪"}

PLACES = ("first", "install", "memory", "two_cards", "auto_fit", "prefill", "draft_head", "vision", "host", "troubleshooting", "near")
"""Places that tell threads; `first` is on the first screen, and `near` names those that miss a reader by how the model is run."""

LEADS = {
    "established": "Established.",
    "not established": "Not established.",
    "not covered": "Not covered by it.",
    "advice": "What to do here.",
    "would change our mind": "What would change this.",
}


@dataclass(frozen=True, slots=True)
class Threads:
    """A catalogue's threads as one guide tells them: to whom, under which recipe's own words, with which marks."""

    issues: Mapping[str, Issue]
    recipe: Recipe
    here: Situation
    marks: Marks

    def told(self) -> dict[str, list[dict[str, str]]]:
        """Give the threads that apply, by the section that tells them, in order."""
        places: dict[str, list[dict[str, str]]] = {name: [] for name in PLACES}
        for issue in self.gathered():
            row = {"number": str(issue.number), "link": self.marks.issue_link(issue), "icon": ICONS[issue.severity]}
            row["about_architecture"] = "yes" if self.here.architecture in issue.applies.architectures else ""
            row["state"] = self.marks.state(issue)
            row["headline"] = self._section(issue, "headline")
            used = self._place(issue) not in {"draft_head", "vision"}  # what the page advises against is no risk of its command
            if issue.severity == "red" and used and is_open(issue, self.marks) and not places["first"]:
                places["first"].append(dict(row))
            particular = bool(nearness(issue.applies, self.here))
            row["is_risk"] = "yes" if used and particular and issue.severity != "note" and is_open(issue, self.marks) else ""
            titled = issue.symptom == str(self.marks.facts[f"{issue.prefix}.title"].value)
            row["symptom"] = self.marks.quoted(issue.symptom) if titled else escaped(issue.symptom)
            row["text"] = self._told(issue)
            places[self._place(issue)].append(row)
        for issue in self.near():
            row = {"link": self.marks.issue_link(issue), "state": self.marks.state(issue), "headline": self._section(issue, "headline")}
            places["near"].append(row)
        return places

    def near(self) -> list[Issue]:
        """Give the open threads of the gravest kind that are about the reader's architecture and backend, and another way to run it."""
        if self.here.meets("does_not_fit"):
            return []
        return [
            issue
            for ref, issue in self.issues.items()
            if issue.severity == "red" and is_open(issue, self.marks) and self.here.architecture in issue.applies.architectures
            if ref not in self.recipe.issues and outside(issue.applies, self.here) == ("techniques",)
            if not {"draft_head", "vision"}.intersection(issue.applies.techniques)
        ]

    def gathered(self) -> list[Issue]:
        """Give the threads that the recipe lists, in its order, and after them the rest that apply, by what they cost the reader.

        Of a set-up that does not fit there is none: nothing of it can be met.

        That is: severity, open before closed, the reader's own card or architecture before others, topic, and number. One that another
        thread of the page tells of is left to it.
        """
        if self.here.meets("does_not_fit"):
            return []
        rank = {ref: place for place, ref in enumerate(self.recipe.issues)}
        found = {ref: issue for ref, issue in self.issues.items() if ref in rank or not outside(issue.applies, self.here)}
        numbers = {issue.number for issue in found.values()}
        alone = [issue for ref, issue in found.items() if ref in rank or numbers.isdisjoint(issue.told_in)]
        return sorted(alone, key=lambda issue: (rank.get(issue.ref, len(rank)), *self._cost(issue)))

    def _cost(self, issue: Issue) -> tuple[int, ...]:
        near = nearness(issue.applies, self.here)
        return (SEVERITIES.index(issue.severity), not is_open(issue, self.marks), -near, TOPICS.index(issue.topic), issue.number)

    def _place(self, issue: Issue) -> str:
        """Give the section that tells a thread: by its topic, and for some by what it is about, among those that the page has."""
        about = {issue.topic, *issue.applies.techniques}
        if issue.topic == "draft_head" and self.here.meets("draft_head"):
            return "draft_head"
        if "build" in about:
            return "install"
        if "auto_fit" in about:
            return "auto_fit"
        for word in ("draft_head", "vision", "two_cards"):
            if word in about and self.here.meets(word):
                return word
        if "prompt_cache" in about:
            return "host"
        if "memory" in about:
            return "memory"
        offloads = {"expert_offload": "prefill", "layer_offload": "auto_fit"}
        return next((place for word, place in offloads.items() if {"speed", word} <= about), "troubleshooting")

    def _section(self, issue: Issue, name: str) -> str:
        """Give a section of a thread, in the recipe's own words where it has some; empty where nothing is told."""
        own = self.recipe.threads.get(issue.ref, {}).get(name)
        prose = own or issue.section(name, lambda condition: self._meets(issue, condition))
        return self.marks.prose(prose, issue, issue.prefix) if prose else ""

    def _meets(self, issue: Issue, condition: str) -> bool:
        """Tell whether a condition holds for this reader, or for what has become of a thread."""
        word = condition.removeprefix("not ")
        if word not in OUTCOMES:
            return self.here.meets(condition)
        fact = self.marks.facts[f"{issue.prefix}.state"]
        return (word == ("gone" if fact.status == "gone" else fact.value)) is (word == condition)

    def _told(self, issue: Issue) -> str:
        """Give a thread's sections as Markdown: what is reported, established and not, and what to do."""
        parts = []
        for name in ("report", "if closed", "established", "not established", "not covered", "advice", "would change our mind"):
            if name == "if closed" and is_open(issue, self.marks):
                continue
            text = self._section(issue, name)
            if not text:
                continue
            lead = LEADS.get(name, "")
            joint = "\n\n" if text.startswith(("-", "1.", "|", "```")) else " "
            parts.append(f"**{lead}**{joint}{text}" if lead else text)
        return "\n\n".join(parts)


def is_open(issue: Issue, marks: Marks) -> bool:
    """Tell whether a thread is open, as far as is known."""
    fact = marks.facts[f"{issue.prefix}.state"]
    return fact.value == "open" and fact.status != "gone"


def misplaced(recipe: Recipe, issues: Mapping[str, Issue], here: Situation) -> Iterable[tuple[str, str, str]]:
    """Give the recipe's references to threads of other cards, or of none: their place in the file, what is wrong, and the remedy.

    An author may list a thread of another architecture, backend or generation of cards, to say how far it reaches.
    """
    for place, ref in [
        *((f"issues[{index}]", ref) for index, ref in enumerate(recipe.issues)),
        *((f"threads.{ref}", ref) for ref in recipe.threads),
    ]:
        if ref not in issues:
            yield place, f"there is no thread '{ref}' in the catalogue", "write its file, or take it out"
        elif "cards" in outside(issues[ref].applies, here):
            yield place, f"{ref} is about other cards than this recipe's", "take it out, or widen `applies` in its file"
