"""One `gen new`, top to bottom: open what is named, make its files beside the catalogue, and move them in when all of them are well."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from generator.catalog import Catalog
from generator.errors import InputError
from generator.facts import Fact, Lock, write_whole
from generator.gguf import Inventory
from generator.locking import header_facts, size_fact
from generator.memory.architectures import layers_of
from generator.new.described import Described, described
from generator.new.names import slug
from generator.new.quants import quant_for, usual
from generator.new.settings import Choice, choose
from generator.new.source import Origin, opened
from generator.new.written import model_text, recipe_text
from generator.planning import model_of_header, model_of_quant
from generator.solve.question import quant_of, usable_of
from generator.sources.hub import InvalidReference, parse_reference

ENGINE = "llama.cpp"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command asks for: the source, a quant of it or an empty text for one that suits each card, the cards, and a name or none."""

    source: str
    quant: str = ""
    cards: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class MadeRecipe:
    """A recipe that was made: its card, the quant, and how its settings were chosen."""

    card: str
    quant: str
    choice: Choice


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did: the files it wrote and those that were there already with the same content, below the project's folder.

    `origin` and `about` are None where the model was in the catalogue before.
    """

    model: str
    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    recipes: tuple[MadeRecipe, ...]
    origin: Origin | None = None
    about: Described | None = None
    architecture_known: bool = True


def new(catalog: Catalog, asked: Asked, today: date) -> Outcome:
    """Make a model's spec and lock, and a recipe for each card; of a model that the catalogue has, the recipes alone.

    Nothing is written before everything was made and read back, and no file that says something else is written over. Raises
    UnknownNameError for a card or quant, InputError for what cannot be used, UnsupportedArchitecture, and what opening the source raises.
    """
    for card in asked.cards:
        usable_of(catalog, catalog.card(card))
    model = _in_catalogue(catalog, asked)
    if model:
        with _staged(catalog, model) as staged:
            recipes = [_recipe(staged, model, card, _quant_of_model(staged, model, card, asked.quant)) for card in asked.cards]
            return _moved_in(staged, catalog, Outcome(model, (), (), tuple(recipes)))
    with opened(asked.source) as source:
        origin = source.origin
        name = _name(catalog, asked, origin)
        quants = {card: _quant(catalog, origin, card, asked.quant) for card in asked.cards}
        read = list(dict.fromkeys(quants.values())) or [_quant(catalog, origin, None, asked.quant)]
        headers = {quant: source.header(quant) for quant in read}
    about = described(origin, headers[read[0]])
    engine = newest_build(catalog)
    for quant, header in headers.items():
        layers_of(model_of_header(header, quant), engine[1])
    with _staged(catalog, name) as staged:
        folder = staged.root / "recipes" / "models" / name
        write_whole(folder / "model.yml", model_text(name, replace(about, title=about.title or name), origin, read, today))
        _lock(name, origin, headers, today).write(folder / "model.lock.json")
        staged.model(name)
        recipes = [_recipe(staged, name, card, quant) for card, quant in quants.items()]
        known = about.architecture in staged.engine(*engine).architectures
        return _moved_in(staged, catalog, Outcome(name, (), (), tuple(recipes), origin, about, known))


# --- names ---------------------------------------------------------------------------------------


def _in_catalogue(catalog: Catalog, asked: Asked) -> str:
    """Give the model of the catalogue that a source means: by name, or by its repository; nothing where there is none."""
    names = catalog.models()
    if asked.source in names and not asked.name:
        return asked.source
    repository = _repository_named(asked.source)
    same = [name for name in names if repository and catalog.model(name).repository.lower() == repository.lower()]
    return next((name for name in same if not asked.name or name == asked.name), "")


def _repository_named(source: str) -> str:
    plain = source.removeprefix("hf://").partition("@")[0]
    try:
        return parse_reference(f"{plain}:any" if plain.count("/") == 1 and ":" not in plain else plain).repository
    except InvalidReference:
        return ""


def _name(catalog: Catalog, asked: Asked, origin: Origin) -> str:
    name = asked.name or slug(origin.title)
    if not _NAME.fullmatch(name) or ".." in name:
        problem = f"{name!r} is no name for a model" if name else "nothing that could be a model's name is in its title"
        raise InputError(problem, remedy="give one with --name, in lower case letters, digits, dots and hyphens")
    if name in catalog.models():
        raise InputError(
            f"a model called '{name}' is in the catalogue, from {catalog.model(name).repository or 'a file of its own'}",
            remedy=f"give another name with --name; or add a recipe to that model: `gen new {name} --card CARD`",
        )
    return name


def newest_build(catalog: Catalog) -> tuple[str, str]:
    """Give the engine and the newest of its builds in the catalogue. Raises InputError where there is none."""
    builds = [build for name, build in catalog.engines() if name == ENGINE]
    if not builds:
        raise InputError(f"the catalogue has no build of {ENGINE}", remedy="recipes/engines/ holds the builds that a recipe can name")
    return ENGINE, max(builds, key=lambda build: (int(re.sub(r"\D", "", build) or 0), build))


# --- quants --------------------------------------------------------------------------------------


def _quant(catalog: Catalog, origin: Origin, card: str | None, asked: str) -> str:
    """Give the quant that is asked for or that the source names, else the one for a card."""
    if asked:
        return origin.quant(asked)
    if origin.named:
        return origin.named
    return _suitable(catalog, card, {name: file.size for name, file in origin.quants.items()})


def _quant_of_model(catalog: Catalog, model: str, card: str, asked: str) -> str:
    """Give the quant for a card of a model whose spec and lock are there: among those whose header or shape is known."""
    spec = catalog.model(model)
    if asked:
        found = next((name for name in spec.quants if name.lower() == asked.lower()), asked)
        return spec.quant(found).name
    facts = catalog.known(spec)
    sizes = {}
    for name in spec.quants:
        try:
            tensors = model_of_quant(catalog, model, name).tensors
        except InputError:
            continue
        key = f"file.{name.lower()}.size"
        sizes[name] = int(facts[key].quantity() if key in facts else sum(int(tensor.size) for tensor in tensors))
    if not sizes:
        raise InputError(f"no header of any quant of '{model}' is known", where=spec.file, remedy=f"run `gen lock {model} --header Q=FILE`")
    return _suitable(catalog, card, sizes)


def _suitable(catalog: Catalog, card: str | None, sizes: Mapping[str, int]) -> str:
    if card is None:
        return usual(sizes)
    spec = catalog.card(card)
    return quant_for(sizes, usable_of(catalog, spec), unified=spec.unified)


# --- what is made --------------------------------------------------------------------------------


def _lock(name: str, origin: Origin, headers: Mapping[str, Inventory], today: date) -> Lock:
    """Give the lock: sizes and hashes as the Hub has them, and the headers that were read."""
    facts = []
    for quant, file in origin.quants.items():
        source, kind = origin.source(file), "fetched" if origin.repository else "header"
        common = Fact("", None, origin=kind, source=source, checked=today)
        facts.append(size_fact(quant, file.size, common))
        if file.sha256:
            facts.append(replace(common, key=f"file.{quant.lower()}.sha256", value=file.sha256))
        if quant in headers:
            facts += header_facts(quant, headers[quant], replace(common, origin="header"))
    return Lock(name).updated(facts, today)


def _recipe(staged: Catalog, model: str, card: str, quant: str) -> MadeRecipe:
    """Write the recipe of a model on a card where it is staged, and read it back."""
    engine, spec = newest_build(staged), staged.card(card)
    choice = choose(quant_of(staged, model, quant), spec, usable_of(staged, spec), engine[1])
    write_whole(staged.root / "recipes" / "models" / model / f"{card}.yml", recipe_text(model, card, quant, engine, choice))
    staged.recipe(model, card)
    return MadeRecipe(card, quant, choice)


# --- staging -------------------------------------------------------------------------------------


@contextmanager
def _staged(catalog: Catalog, model: str) -> Iterator[Catalog]:
    """Give a catalogue beside the real one, with all of it that a recipe needs, where this model can be made."""
    with tempfile.TemporaryDirectory(prefix="gen-new-") as folder:
        recipes = Path(folder) / "recipes"
        own = recipes / "models" / model
        own.mkdir(parents=True)
        for shared in ("cards", "engines", "issues"):
            if (catalog.root / "recipes" / shared).is_dir():
                (recipes / shared).symlink_to((catalog.root / "recipes" / shared).resolve(), target_is_directory=True)
        for name in ("model.yml", "model.lock.json"):
            existing = catalog.root / "recipes" / "models" / model / name
            if existing.is_file():
                shutil.copyfile(existing, own / name)
        yield Catalog.open(Path(folder))


def _moved_in(staged: Catalog, catalog: Catalog, outcome: Outcome) -> Outcome:
    """Write what is staged into the catalogue, all of it or nothing. Raises InputError where other content is in its place."""
    made = {path.relative_to(staged.root): path.read_text(encoding="utf-8") for path in sorted(staged.root.glob("recipes/models/*/*"))}
    fresh = {path: text for path, text in made.items() if not (catalog.root / path).exists()}
    other = [path.as_posix() for path in made.keys() - fresh.keys() if (catalog.root / path).read_text(encoding="utf-8") != made[path]]
    if other:
        raise InputError(
            "this is there already and says something else",
            where=", ".join(sorted(other)),
            remedy="edit it, or move it away and run this again; nothing was written",
        )
    _write(catalog.root, fresh)
    same = [path.as_posix() for path in made if path not in fresh]
    return replace(outcome, written=tuple(path.as_posix() for path in fresh), unchanged=tuple(same))


def _write(root: Path, texts: Mapping[Path, str]) -> None:
    """Write new files, and take them away again where one of them cannot be written."""
    done: list[Path] = []
    folders = [root / path.parent for path in texts if not (root / path.parent).exists()]
    try:
        for path, text in texts.items():
            done.append(root / path)
            write_whole(root / path, text)
    except BaseException:
        _taken_away(done, folders)
        raise


def _taken_away(files: Sequence[Path], folders: Sequence[Path]) -> None:
    for path in files:
        path.unlink(missing_ok=True)
    for folder in dict.fromkeys(folders):
        if folder.exists():
            folder.rmdir()
