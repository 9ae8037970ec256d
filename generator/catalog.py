"""The catalogue: finds and loads what is under recipes/, and resolves names.

    recipes/models/<model>/model.yml, <card>.yml, model.lock.json, and <card>.measure.lock.json once an engine was asked
    recipes/cards/<card>.yml
    recipes/engines/<engine>/<build>.yml
    recipes/checks/<model>/<name>.yml
    recipes/issues/<tracker>/<number>.md
    and beside them, once a source was asked, cards/<card>.lock.json, engines/<engine>/<build>.lock.json,
    issues/<tracker>/threads.lock.json

A file is read when it is asked for, once. `check` reads all of them and reports every problem of every file at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from generator.errors import GenError, InputError, Problem, SpecErrors, UnknownNameError, did_you_mean, quoted
from generator.facts import Fact, Facts, Lock
from generator.specs import (
    Card,
    Check,
    Engine,
    Issue,
    Model,
    Recipe,
    Spec,
    load_card,
    load_check,
    load_engine,
    load_issue,
    load_model,
    load_recipe,
    tracker_name,
)

T = TypeVar("T")

ROOT_VARIABLE = "GEN_ROOT"
KINDS = ("models", "cards", "recipes", "checks", "engines", "issues")

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
_REF = re.compile(r"(?P<tracker>[a-z0-9][a-z0-9.-]*)#(?P<number>[1-9][0-9]{0,9})")
_MODEL_FILE = "model.yml"
_LOCK_FILE = "model.lock.json"
_THREADS_LOCK = "threads.lock.json"
_SEVERAL = re.compile(r"^([2-8])x-")
_SIZED = re.compile(r"-[0-9]+gb$")
_LOCK_SUFFIX = ".lock.json"
_MEASURED_SUFFIX = ".measure.lock.json"


class UnknownEntryError(UnknownNameError):
    """A name the catalogue does not hold. One that differs only in case and separators is what was meant, where there is one."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, remedy: str = "") -> None:
        super().__init__(kind, name, known, remedy=remedy)
        plain = {_plain(each): each for each in self.known}
        same = plain.get(_plain(name))
        near = [same] if same else [plain[each] for each in did_you_mean(_plain(name), plain)]
        if near:
            self.near = near
            self.problem = f"no {kind} is called '{name}'; did you mean {quoted(near)}?"


def _is_newer(locked: Fact, own: Fact | None) -> bool:
    """Tell whether a locked fact stands over what the spec says: it does unless the author has read the source since."""
    return own is None or own.checked is None or (locked.checked is not None and locked.checked >= own.checked)


def card_of(page: str) -> str:
    """Give the name of the card that a page is about."""
    return _SEVERAL.sub("", page)


def count_of(page: str) -> int:
    """Give how many of that card it is about."""
    match = _SEVERAL.match(page)
    return int(match[1]) if match else 1


def _plain(name: str) -> str:
    return re.sub(r"[\s_.#-]+", "", name.lower())


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a listing: kind (`card`), the name commands take, its title, and a detail in a few words."""

    kind: str
    name: str
    title: str
    detail: str

    def as_dict(self) -> dict[str, str]:
        """Give the row for JSON."""
        return {"kind": self.kind, "name": self.name, "title": self.title, "detail": self.detail}


def find_root() -> Path:
    """Give the folder that holds recipes/: GEN_ROOT, or the nearest one at or above the current folder. Raises InputError."""
    remedy = f"go to a clone of the project, or set {ROOT_VARIABLE} to one"
    named = os.environ.get(ROOT_VARIABLE)
    if named:
        if not (Path(named) / "recipes").is_dir():
            raise InputError(f"there is no folder recipes/ in {ROOT_VARIABLE}", where=named, remedy=remedy)
        return Path(named)
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "recipes").is_dir():
            return folder
    raise InputError("there is no folder recipes/ here or above", where=str(here), remedy=remedy)


@dataclass(slots=True)
class Catalog:
    """What is under `root`/recipes. Listing methods give names in order; the others read a file and give its spec."""

    root: Path
    _read: dict[Path, object] = field(default_factory=dict, repr=False)

    @staticmethod
    def open(root: Path | None = None) -> Catalog:
        """Give the catalogue of a project folder, by default the one `find_root` finds. Raises InputError."""
        folder = find_root() if root is None else root
        if not (folder / "recipes").is_dir():
            raise InputError("there is no folder recipes/ in it", where=str(folder), remedy="give the folder that holds recipes/")
        return Catalog(folder)

    # names

    def models(self) -> list[str]:
        """Give the names of the models."""
        return sorted(path.parent.name for path in self._recipes.glob(f"models/*/{_MODEL_FILE}"))

    def cards(self) -> list[str]:
        """Give the names of the cards; a file of a chip that is sold with several sizes of memory is several. Raises SpecErrors."""
        return sorted(name for path in self._recipes.glob("cards/*.yml") for name in self._load(path, load_card).names)

    def recipes(self) -> list[tuple[str, str]]:
        """Give the (model, page) of every recipe: a page is called after its card, or 2x-<card> for two of them."""
        files = (path for path in self._recipes.glob("models/*/*.yml") if path.name != _MODEL_FILE)
        return sorted((path.parent.name, path.stem) for path in files)

    def checks(self) -> list[tuple[str, str]]:
        """Give the (model, name) of every check."""
        return sorted((path.parent.name, path.stem) for path in self._recipes.glob("checks/*/*.yml"))

    def pages(self) -> list[tuple[str, str]]:
        """Give the (model, name) of every page: recipes and checks."""
        return sorted([*self.recipes(), *self.checks()])

    def engines(self) -> list[tuple[str, str]]:
        """Give the (engine, build) of every engine at a build."""
        return sorted((path.parent.name, path.stem) for path in self._recipes.glob("engines/*/*.yml"))

    def issues(self) -> list[str]:
        """Give the references of the issues (llama.cpp#26609), by number."""
        files = [path for path in self._recipes.glob("issues/*/*.md") if path.stem.isdecimal()]
        return [f"{path.parent.name}#{path.stem}" for path in sorted(files, key=lambda path: (path.parent.name, int(path.stem)))]

    # specs

    def model(self, name: str) -> Model:
        """Read a model. Raises UnknownNameError, SpecErrors."""
        return self._load(self._model_folder(name) / _MODEL_FILE, load_model)

    def card(self, name: str) -> Card:
        """Read a card. Raises UnknownNameError, SpecErrors."""
        chip = name if self._card_file(name).is_file() else _SIZED.sub("", name)
        path = self._card_file(chip)
        if not _NAME.fullmatch(name) or not path.is_file() or name not in self._load(path, load_card).names:
            raise UnknownEntryError("card", name, self.cards(), remedy="`gen list cards` shows all")
        return self._load(path, load_card).sized(name)

    def recipe(self, model: str, page: str) -> Recipe:
        """Read the recipe of a model and a card, or several cards (2x-rtx-3090).

        Raises UnknownNameError for the model, the card, or the pair; SpecErrors.
        """
        path = self._model_folder(model) / f"{page}.yml"
        if not _NAME.fullmatch(page) or path.name == _MODEL_FILE or not path.is_file():
            own = [each for of, each in self.recipes() if of == model]
            if card_of(page) not in self.cards():
                raise UnknownEntryError("card", page, self.cards(), remedy="`gen list cards` shows all")
            raise UnknownEntryError(f"recipe of '{model}'", page, own, remedy="`gen list recipes` shows all")
        return self._load(path, load_recipe)

    def check_of(self, model: str, name: str) -> Check:
        """Read the check of a claim about a model. Raises UnknownNameError, SpecErrors."""
        path = self._recipes / "checks" / model / f"{name}.yml"
        if not _NAME.fullmatch(name) or not _NAME.fullmatch(model) or not path.is_file():
            known = [each for of, each in self.checks() if of == model]
            raise UnknownEntryError(f"check of '{model}'", name, known, remedy="`gen list checks` shows all")
        return self._load(path, load_check)

    def engine(self, name: str, build: str) -> Engine:
        """Read an engine at a build. Raises UnknownNameError, SpecErrors."""
        names = {of for of, _ in self.engines()}
        if name not in names:
            raise UnknownEntryError("engine", name, names, remedy="`gen list engines` shows all")
        builds = [each for of, each in self.engines() if of == name]
        if build not in builds:
            raise UnknownEntryError(f"build of '{name}'", build, builds, remedy="`gen list engines` shows all")
        return self._load(self._recipes / "engines" / name / f"{build}.yml", load_engine)

    def issue(self, ref: str) -> Issue:
        """Read an issue by its reference (llama.cpp#26609). Raises UnknownNameError, SpecErrors."""
        match = _REF.fullmatch(ref)
        path = self._recipes / "issues" / match["tracker"] / f"{match['number']}.md" if match else None
        if path is None or not path.is_file():
            raise UnknownEntryError("issue", ref, self.issues(), remedy="`gen list issues` shows all")
        return self._load(path, load_issue)

    def lock(self, model: str) -> Lock:
        """Read the lock of a model. Raises UnknownNameError, MissingFileError, LockError."""
        path = self.lock_path(model)
        if path not in self._read:
            self._read[path] = Lock.read(path)
        found = self._read[path]
        assert isinstance(found, Lock)
        return found

    def lock_path(self, model: str) -> Path:
        """Give the path of a model's lock, whether or not it is there. Raises UnknownNameError."""
        return self._model_folder(model) / _LOCK_FILE

    def measured_path(self, model: str, page: str) -> Path:
        """Give the path of the lock with what an engine said of a recipe, whether or not it is there.

        Raises UnknownNameError, SpecErrors.
        """
        self.card(card_of(page))
        return self._model_folder(model) / f"{page}{_MEASURED_SUFFIX}"

    def measured(self, model: str, page: str) -> Facts:
        """Give what an engine said of a recipe when it was last asked; nothing where none was. Raises LockError."""
        path = self.measured_path(model, page)
        return self._locked(path) if path.exists() else Facts()

    # what sources answered

    def lock_of(self, spec: Spec) -> Path:
        """Give the path of the lock that keeps what the sources of a spec answered, whether or not it is there."""
        match spec:
            case Model():
                return self.lock_path(spec.name)
            case Card():
                return self._recipes / "cards" / f"{spec.name}.lock.json"
            case Check():
                return self._recipes / "checks" / spec.model / f"{spec.name}.lock.json"
            case Engine():
                return self._recipes / "engines" / spec.name / f"{spec.build}.lock.json"
            case Issue():
                return self._recipes / "issues" / tracker_name(spec.tracker) / _THREADS_LOCK
        raise InputError(f"a spec of kind {type(spec).__name__} keeps no answers")

    def known(self, spec: Spec) -> Facts:
        """Give a spec's facts with what its lock has laid over them, where that was checked no earlier. Raises LockError."""
        path = self.lock_of(spec)
        if not path.exists():
            return spec.facts
        locked = self._locked(path)
        own = {fact.key: fact for fact in spec.facts}
        newer = [fact for fact in locked if _is_newer(fact, own.get(fact.key))]
        if isinstance(spec, Issue):
            newer = [fact for fact in newer if fact.key.startswith(f"{spec.prefix}.")]
        return spec.facts.merged(newer)

    def threads(self, engine: str) -> list[str]:
        """Give the references of the threads in an engine's tracker."""
        return [ref for ref in self.issues() if ref.startswith(f"{engine}#")]

    def _locked(self, path: Path) -> Facts:
        if path not in self._read:
            self._read[path] = Lock.read(path)
        found = self._read[path]
        assert isinstance(found, Lock)
        return found.facts

    # the whole

    def check(self) -> None:
        """Read every file and what it refers to. Raises SpecErrors with all problems of all files."""
        every = self._every_file()
        problems = self._stray_files({path for path, _ in every})
        for path, read in every:
            problems += self._problems_of(path, read)
        for model, card in self.recipes():
            problems += self._references(model, card)
        for model, name in self.checks():
            problems += self._references_of_check(model, name)
        if problems:
            raise SpecErrors(sorted(dict.fromkeys(problems), key=lambda problem: (problem.file, problem.line)))

    def listing(self, kind: str | None = None) -> list[Row]:
        """Give the rows of `gen list`, of one kind (a word of KINDS) or of all. Raises UnknownNameError, SpecErrors."""
        rows: dict[str, Callable[[], list[Row]]] = {
            "models": lambda: [_model_row(self.model(name)) for name in self.models()],
            "cards": lambda: [_card_row(self.card(name)) for name in self.cards()],
            "recipes": lambda: [self._recipe_row(self.recipe(*names)) for names in self.recipes()],
            "checks": lambda: [self._check_row(self.check_of(*names)) for names in self.checks()],
            "engines": lambda: [_engine_row(self.engine(*names)) for names in self.engines()],
            "issues": lambda: [_issue_row(self.issue(ref)) for ref in self.issues()],
        }
        if kind is not None and kind not in rows:
            raise UnknownEntryError("kind of spec", kind, KINDS)
        return [row for each in KINDS if kind in {None, each} for row in rows[each]()]

    # reading

    @property
    def _recipes(self) -> Path:
        return self.root / "recipes"

    def _card_file(self, name: str) -> Path:
        return self._recipes / "cards" / f"{name}.yml"

    def _model_folder(self, name: str) -> Path:
        folder = self._recipes / "models" / name
        if not _NAME.fullmatch(name) or not (folder / _MODEL_FILE).is_file():
            raise UnknownEntryError("model", name, self.models(), remedy="`gen list models` shows all")
        return folder

    def _load(self, path: Path, load: Callable[[Path, str], T]) -> T:
        if path not in self._read:
            self._read[path] = load(path, self._shown(path))
        return self._read[path]  # type: ignore[return-value]  # what is kept under a path was loaded by its one loader

    def _shown(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _every_file(self) -> list[tuple[Path, Callable[[], object]]]:
        """Give each file with what reads it."""
        folder = self._recipes
        reads: list[tuple[Path, Callable[[], object]]] = []
        reads += [(folder / "models" / name / _MODEL_FILE, partial(self.model, name)) for name in self.models()]
        reads += [(self.lock_path(name), partial(self.lock, name)) for name in self.models() if self.lock_path(name).exists()]
        reads += [(path, partial(self._load, path, load_card)) for path in sorted(folder.glob("cards/*.yml"))]
        reads += [(folder / "models" / model / f"{card}.yml", partial(self.recipe, model, card)) for model, card in self.recipes()]
        reads += [(folder / "checks" / model / f"{name}.yml", partial(self.check_of, model, name)) for model, name in self.checks()]
        reads += [(folder / "engines" / name / f"{build}.yml", partial(self.engine, name, build)) for name, build in self.engines()]
        for ref in self.issues():
            tracker, _, number = ref.partition("#")
            reads.append((folder / "issues" / tracker / f"{number}.md", partial(self.issue, ref)))
        return reads

    def _problems_of(self, path: Path, read: Callable[[], object]) -> list[Problem]:
        try:
            read()
        except SpecErrors as error:
            return list(error.problems)
        except GenError as error:
            return [Problem(self._shown(path), 0, "", error.problem, error.remedy)]
        return []

    def _stray_files(self, found: set[Path]) -> list[Problem]:
        """Note files that no listing finds, because of their name or their place."""
        remedy = "see the layout at the top of generator/catalog.py; files end in .yml, issues in .md"
        files = (path for kind in ("models", "cards", "checks", "engines", "issues") for path in (self._recipes / kind).rglob("*"))
        known = (path for path in files if path.is_file() and not path.name.startswith(".") and not path.name.endswith(_LOCK_SUFFIX))
        strays = [path for path in known if path not in found]
        return [Problem(self._shown(path), 0, "", "no spec is looked for under this name", remedy) for path in strays]

    def _references(self, model: str, card: str) -> list[Problem]:
        """Note what a recipe refers to and the catalogue does not hold."""
        try:
            recipe = self.recipe(model, card)
        except GenError:
            return []  # reported where every file is read
        problems = []

        def look(path: str, get: Callable[[], object]) -> None:
            try:
                get()
            except UnknownNameError as error:
                problems.append(Problem(recipe.file, recipe.lines.get(path, 0), path, error.problem, error.remedy))
            except GenError:
                return  # the file referred to has problems of its own

        known_engine = recipe.engine in {name for name, _ in self.engines()}
        look("model", partial(self.model, recipe.model))
        look("card", partial(self.card, recipe.card))
        look("quant", lambda: self.model(recipe.model).quant(recipe.quant))
        look("build" if known_engine else "engine", partial(self.engine, recipe.engine, recipe.build))
        for index, ref in enumerate(recipe.issues):
            look(f"issues[{index}]", partial(self.issue, ref))
        if recipe.build in {build for name, build in self.engines() if name == recipe.engine}:
            for name in recipe.settings:
                look(f"settings.{name}", lambda: self.engine(recipe.engine, recipe.build).flag(name))  # noqa: B023  # called at once
        return problems

    def _references_of_check(self, model: str, name: str) -> list[Problem]:
        """Note what a check refers to and the catalogue does not hold, and a name that a guide of the model has."""
        try:
            check = self.check_of(model, name)
        except GenError:
            return []  # reported where every file is read
        problems = []
        wanted: dict[str, Callable[[], object]] = {
            "model": partial(self.model, check.model),
            "card": partial(self.card, check.card),
            "build": partial(self.engine, check.engine, check.build),
            **{f"threads.{ref}": partial(self.issue, ref) for ref in check.threads},
        }
        for path, get in wanted.items():
            try:
                get()
            except UnknownNameError as error:
                problems.append(Problem(check.file, check.lines.get(path, 0), path, error.problem, error.remedy))
            except GenError:
                continue  # the file referred to has problems of its own
        if (model, name) in self.recipes():
            message, remedy = f"a guide of the model is called '{name}' as well", "rename the check: commands know a page by its name"
            problems.append(Problem(check.file, check.lines.get("check", 0), "check", message, remedy))
        return problems

    def _check_row(self, check: Check) -> Row:
        title = f"{self.model(check.model).title} on {self.card(check.card).title}: {check.about}"
        return Row("check", f"{check.model} {check.name}", title, f"{check.quant}, {check.engine} {check.build}")

    def _recipe_row(self, recipe: Recipe) -> Row:
        title = f"{self.model(recipe.model).title} on {recipe.titled(self.card(recipe.card))}"
        return Row("recipe", f"{recipe.model} {recipe.page}", title, f"{recipe.quant}, {recipe.engine} {recipe.build}")


def _model_row(model: Model) -> Row:
    return Row("model", model.name, model.title, f"{model.architecture}, {', '.join(model.quants)}")


def _card_row(card: Card) -> Row:
    memory = card.facts["card.memory"]
    return Row("card", card.name, card.full_name, f"{card.vendor} {card.architecture}, {memory.value} {memory.unit}")


def _engine_row(engine: Engine) -> Row:
    return Row("engine", f"{engine.name} {engine.build}", engine.repository, f"architectures: {', '.join(engine.architectures)}")


def _issue_row(issue: Issue) -> Row:
    title, state = (issue.facts[f"{issue.prefix}.{name}"] for name in ("title", "state"))
    return Row("issue", issue.ref, str(title.value), f"{issue.severity} {issue.topic}, {state.value}")
