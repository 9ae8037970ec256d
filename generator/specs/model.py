"""recipes/models/<model>/model.yml: a base model and its quantised files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from generator.errors import UnknownNameError, did_you_mean, quoted
from generator.facts import Fact, Facts
from generator.specs.common import CHECKED, COMMON, SOURCE, FactShape, Spec, WrittenFact, facts_of, held
from generator.specs.document import MappingNode, ScalarNode
from generator.specs.read import read_spec
from generator.specs.shapes import REPOSITORY, Choice, Field, OwnName, Place, Record, TableOf, Text, Truth, Values, optional, required

_BUILD_NAME = re.compile(r"b[0-9]+|v[0-9]+\.[0-9]+\.[0-9]+")

FIDELITIES = ("header", "config")
SAMPLING = ("temp", "top_p", "top_k", "min_p", "repeat_penalty")
CONFIG = (
    *("block_count", "context_length", "embedding_length", "embedding_length_per_layer_input", "feed_forward_length", "vocab_size"),
    *("attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length", "attention.kv_lora_rank"),
    *("attention.key_length_mla", "attention.value_length_mla", "attention.q_lora_rank", "attention.shared_kv_layers"),
    *("attention.key_length_swa", "attention.value_length_swa", "attention.sliding_window", "attention.sliding_window_pattern"),
    *("expert_count", "expert_used_count", "expert_shared_count", "expert_gating_func", "expert_group_count", "expert_group_used_count"),
    *("expert_feed_forward_length", "expert_shared_feed_forward_length", "leading_dense_block_count", "nextn_predict_layers"),
    *("ssm.conv_kernel", "ssm.group_count", "ssm.inner_size", "ssm.state_size", "ssm.time_step_rank", "kda.head_dim"),
    *("full_attention_interval", "rope.dimension_count", "rope.dimension_sections", "shortconv.l_cache"),
    *("tied_embeddings", "draft_head_has_embedding"),
)
"""What a configuration may say: keys of a header without the architecture, and two things that a header shows by its tensors."""


@dataclass(frozen=True, slots=True)
class Quant:
    """One quantised file of the repository; of a sharded set, its first file.

    `fidelity` is `header` where the tensor table is read from the file, `config` where sizes are shared out by
    the model's `config`. `size` is what somebody read the file to be; a lock knows better. `converted` is a file that nobody publishes: the
    reader makes it from the base repository.
    """

    name: str
    file: str
    fidelity: str
    size: Fact | None
    converted: bool = False


@dataclass(frozen=True, slots=True)
class Projector:
    """The vision projector of the repository; its file is empty where the name was not recorded."""

    file: str
    size: Fact | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(Spec):
    """A model. Facts have the keys `model.<name>`, with sizes of files, shape and sampling among them.

    The shape is `config.<name>`, under the names a GGUF header has without the architecture before them.

    Sizes are `file.<quant in lower case>.size` and `model.projector.size`. `sampling` has the vendor's values, as
    `model.sampling.<setting>`. `base` is the repository of the model it was made from, empty where there is none; so is `repository`
    where the files are the reader's own.
    """

    name: str
    title: str
    architecture: str
    base: str
    licence: str
    publisher: str
    repository: str
    quants: Mapping[str, Quant]
    projector: Projector | None
    sampling: Facts

    @property
    def repository_url(self) -> str:
        """The address of the repository; empty where there is none."""
        return f"https://huggingface.co/{self.repository}" if self.repository else ""

    def quant(self, name: str) -> Quant:
        """Give a quant by name. Raises UnknownNameError."""
        if name not in self.quants:
            raise UnknownNameError("quant", name, self.quants, remedy=f"declare it under `quants` in {self.file}")
        return self.quants[name]


CONVERTED = "Q8_0"
"""The quant that the engine's converter writes without a quantiser: the one that a reader can make whose size follows from the shape."""

GGUF_FILE = re.compile(r"^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./+-]*\.gguf$")
"""Names of files that a spec may hold."""

_GGUF = Text(GGUF_FILE.pattern, "name of a GGUF file")
_HUB = Text(REPOSITORY, "repository such as Qwen/Qwen3-8B")

_FILE = required("file", _GGUF, "File in the repository; of a sharded set, the first.", "apodex_Apodex-1.1-mini-Q4_K_M.gguf")
_FIDELITY = required(
    "fidelity", Choice(FIDELITIES), "header: the file's own tensor table; config: sizes shared out by config.json.", "header"
)
_SIZE: Field[WrittenFact | None] = optional("size", FactShape(), "Size of the file, as read by somebody.", None)
_CONVERTED = optional(
    "converted",
    Truth(),
    "The reader makes the file from the base repository with the engine's converter.",
    default=False,
)
_PROJECTOR_FILE = optional("file", _GGUF, "File in the repository.", "", "mmproj-F16.gguf")


@dataclass(frozen=True, slots=True)
class _WrittenQuant:
    file: str
    fidelity: str
    size: WrittenFact | None
    converted: bool


_QUANT = Record(
    "One quantised file.",
    [_FILE, _FIDELITY, _SIZE, _CONVERTED],
    lambda values, _: _WrittenQuant(values[_FILE], values[_FIDELITY], values[_SIZE], values[_CONVERTED]),
)
_PROJECTOR = Record("The vision projector.", [_PROJECTOR_FILE, _SIZE], lambda values, _: (values[_PROJECTOR_FILE], values[_SIZE]))

_MODEL = required("model", OwnName("model"), "Name of the model; the folder is called the same.", "apodex-mini")
_TITLE = required("title", Text(), "Title for headings.", "Apodex 1.1 mini")
_ARCHITECTURE = required(
    "architecture", Text(r"^[a-z0-9][a-z0-9._-]*$", "architecture"), "Architecture as the GGUF states it.", "qwen35moe"
)
_BASE = optional("base", _HUB, "Repository of the model it was made from.", "", "Qwen/Qwen3.5-35B-A3B")
_LICENCE = optional("licence", Text(), "Licence, by its SPDX name where it has one.", "", "Apache-2.0")
_PUBLISHER = required("publisher", Text(), "Who publishes the model.", "Apodex AI")
_REPOSITORY = optional(
    "repository",
    _HUB,
    "Repository of the quantised files; left out where the files are the reader's own.",
    "",
    "bartowski/apodex_Apodex-1.1-mini-GGUF",
)
_QUANTS = required("quants", TableOf(_QUANT, r"^[A-Za-z0-9][A-Za-z0-9._-]*$", what="quants and their files"), "Quantised files by name.")
_PROJECTOR_KEY = optional("projector", _PROJECTOR, "The vision projector, where the repository has one.", None)
_CONFIG: Field[dict[str, WrittenFact]] = optional(
    "config",
    TableOf(FactShape(), r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$", what="values of the configuration"),
    "The model's shape, each value a fact, under the names of a GGUF header without the architecture; and tied_embeddings.",
    {},
)
_SAMPLING: Field[dict[str, WrittenFact]] = optional(
    "sampling",
    TableOf(FactShape(), f"^({'|'.join(SAMPLING)})$", what="sampling settings"),
    "Sampling values the vendor gives, each a fact, by setting name.",
    {},
)


def _check(node: MappingNode, at: Place) -> None:
    """Note values that no configuration has, and files of the reader's making that cannot be."""
    quants, config = node.get("quants"), node.get("config")
    for key, _ in config.entries if isinstance(config, MappingNode) else ():
        if key.text not in CONFIG:
            near = did_you_mean(key.text, CONFIG)
            remedy = f"did you mean {quoted(near)}?" if near else f"values of a configuration: {quoted(CONFIG)}"
            at.key("config").key(key.text).fault(key.line, f"no shape follows from '{key.text}'", remedy)
    for key, quant in quants.entries if isinstance(quants, MappingNode) else ():
        if isinstance(quant, MappingNode) and _says(quant, "converted", "true"):
            here = at.key("quants").key(key.text)
            for problem, remedy in _of_converted(key.text, quant, has_shape=None not in (node.get("base"), config)):
                here.fault(key.line, problem, remedy)


def _of_converted(name: str, quant: MappingNode, *, has_shape: bool) -> Iterator[tuple[str, str]]:
    """Give what is wrong with a quant that the reader makes, each with its remedy."""
    if name != CONVERTED:
        yield f"the engine's converter writes no {name}", f"call it {CONVERTED}"
    if not has_shape:
        yield "a file that the reader makes follows from the base's shape", "give `base` and `config`"
    if quant.get("size") is not None or _says(quant, "fidelity", "header"):
        yield "a file that the reader makes has neither a header nor a published size", "write `fidelity: config` and leave out `size`"


def _says(node: MappingNode, key: str, text: str) -> bool:
    value = node.get(key)
    return isinstance(value, ScalarNode) and value.text == text


def _build(values: Values, at: Place) -> Model:
    has = held(values, "model")
    if "model.floor" in has.facts and not _BUILD_NAME.fullmatch(str(has.facts["model.floor"].value)):
        here = at.key("facts").key("floor")
        here.fault(at.report.lines.get(here.path, 0), "the name of a build is expected", "write it as the engine tags it, such as b7990")
    source, checked = values[SOURCE], values[CHECKED]
    sizes = {f"file.{name.lower()}": quant.size for name, quant in values[_QUANTS].items() if quant.size}
    config = facts_of(values[_CONFIG], "config", source, checked)
    sampling = facts_of(values[_SAMPLING], "model.sampling", source, checked)
    projector = values[_PROJECTOR_KEY]
    if projector and projector[1]:
        sizes["model.projector"] = projector[1]
    made = {key: facts_of({"size": size}, key, source, checked)[f"{key}.size"] for key, size in sizes.items()}
    return Model(
        file=at.report.file,
        lines=at.report.lines,
        facts=has.facts.merged(made.values()).merged(config).merged(sampling),
        quotes=has.quotes,
        notes=has.notes,
        name=values[_MODEL],
        title=values[_TITLE],
        architecture=values[_ARCHITECTURE],
        base=values[_BASE],
        licence=values[_LICENCE],
        publisher=values[_PUBLISHER],
        repository=values[_REPOSITORY],
        quants={
            name: Quant(name, quant.file, quant.fidelity, made.get(f"file.{name.lower()}"), quant.converted)
            for name, quant in values[_QUANTS].items()
        },
        projector=Projector(projector[0], made.get("model.projector")) if projector else None,
        sampling=sampling,
    )


MODEL = Record(
    "A model and its quantised files: recipes/models/<model>/model.yml.",
    [_MODEL, _TITLE, _ARCHITECTURE, _BASE, _LICENCE, _PUBLISHER, _REPOSITORY, _QUANTS, _PROJECTOR_KEY, _CONFIG, _SAMPLING, *COMMON],
    _build,
    check=_check,
)


def load_model(path: Path, shown: str = "") -> Model:
    """Read a model's file. `shown` is the path for messages. Raises SpecErrors with all problems, or MissingFileError."""
    return read_spec(path, MODEL, shown or str(path), {"model": path.parent.name})
