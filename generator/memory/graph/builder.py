"""What every architecture's graph is made of: hyperparameters, weights, inputs, and the order of what is computed.

Source: llama.cpp src/llama-graph.cpp (`llm_graph_context`), src/llama-context.cpp (`graph_reserve`: a full micro-batch of equal
sequences), src/llama-kv-cache.cpp (what is read from and written to a cache).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from generator.memory.graph import ops
from generator.memory.graph.tensor import NONE, Count, Tensor, given, shape, strides
from generator.memory.graph.unknown import UnknownGraphError
from generator.memory.model import Model
from generator.memory.rows import head_length, kv_heads
from generator.memory.windows import windowed_blocks
from generator.quantity import ONE, Quantity


@dataclass(frozen=True, slots=True, eq=False)
class CacheView:
    """One attention cache as a graph sees it: `cells` of one stream, `streams`, types, and the rows of each block in elements.

    `values` is None for a cache without V. Rows of V are all `widest_value` where V is transposed, which is without flash attention.
    `rotates_keys` and `rotates_values` are the sizes of the rotation before quantised rows, 0 for none. `label` tells caches of the
    same block apart.
    """

    cells: int
    streams: int
    type_k: str
    type_v: str
    keys: Mapping[int, int]
    values: Mapping[int, int] | None
    transposed: bool = False
    widest_value: int = 0
    rotates_keys: int = 0
    rotates_values: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """The worst case that the engine reserves for: tokens of a micro-batch, sequences, and tokens whose logits are kept.

    `masks_in_f32` is so in older builds even with flash attention. `state_rows` are the rows of a recurrent state,
    `rollback` the tokens that a draft can be taken back by.
    """

    tokens: int
    sequences: int
    outputs: int
    unified: bool
    flash: bool
    masks_in_f32: bool
    state_rows: int = 0
    rollback: int = 0

    @property
    def streams(self) -> int:
        """Streams of attention: one where sequences share a cache."""
        return 1 if self.unified else self.sequences


class Builder:
    """A graph that is being made for one model. Tensors are added in the engine's order by `expand`."""

    def __init__(
        self,
        model: Model,
        batch: Batch,
        caches: dict[int, CacheView],
        device_of: Callable[[str], int | None],
        layer_device: Callable[[int], int],
        weight_device: Callable[[int], int],
    ) -> None:
        self.model, self.batch, self.caches = model, batch, caches
        self.every_cache: tuple[CacheView, ...] = tuple(dict.fromkeys(caches.values()))
        self.arch = model.architecture
        self.leafs: list[Tensor] = []
        self.nodes: list[Tensor] = []
        self._device_of, self._layer_device, self._weight_device = device_of, layer_device, weight_device
        self._weights: dict[str, Tensor | None] = {}
        self._asked: dict[tuple[str, int | None, str], Tensor | None] = {}
        self._shapes = {tensor.name: tensor for tensor in model.tensors}
        self._tied: Tensor | None = None
        self._held: dict[tuple[str, int], Tensor] = {}
        self.n_tokens = batch.tokens
        self.n_embd = self.number("embedding_length")
        self.n_layer = int(model.loaded_blocks)
        self.blocks: Sequence[int] = range(self.n_layer)
        self.windowed = windowed_blocks(model)
        self.attention_device: int | None = None
        self.missing: frozenset[str] = frozenset()
        self.soft_caps_scores = False
        self.unread: frozenset[str] = frozenset()
        self.embedded: Tensor | None = None

    # hyperparameters

    def number(self, name: str, default: int | None = None) -> int:
        """Give a hyperparameter that is one whole number."""
        return Count.of(self.model.number(name, default))

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Give a hyperparameter that is true or false."""
        return bool(self.model.raw(name)) if self.model.has(name) else default

    def real(self, name: str, default: float = 0.0) -> float:
        """Give a hyperparameter that is a real number."""
        value = self.model.raw(name) if self.model.has(name) else default
        return float(value) if isinstance(value, int | float) else default

    def of_block(self, name: str, il: int, default: int | None = None) -> int:
        """Give a hyperparameter of one block."""
        if default is not None and not self.model.has(name):
            return default
        return Count.of(self.model.per_block(name, il))

    def heads_kv(self, il: int) -> int:
        """Give the heads of K and V of a block."""
        return Count.of(kv_heads(self.model, il))

    def head(self, part: str, il: int) -> int:
        """Give the elements of a head's `key` or `value` in a block."""
        return Count.of(head_length(self.model, part, windowed=il in self.windowed))

    # weights

    def w(self, name: str, il: int | None = None, suffix: str = "weight") -> Tensor:
        """Give a weight that the file must have: `name` as in the file, without the block and without `.weight`."""
        found = self.opt(name, il, suffix)
        if found is None:
            full = f"{name}.{suffix}" if il is None else f"blk.{il}.{name}.{suffix}"
            raise UnknownGraphError(f"the header has no '{full}'")
        return found

    def opt(self, name: str, il: int | None = None, suffix: str = "weight") -> Tensor | None:
        """Give a weight where the file has it; some are written without a suffix (`ssm_a`)."""
        key = (name, il, suffix)
        if key not in self._asked:
            self._asked[key] = self._optional(name, il, suffix)
        return self._asked[key]

    def _optional(self, name: str, il: int | None, suffix: str) -> Tensor | None:
        if f"{name}.{suffix}" in self.unread:
            return None
        bare = name if il is None else f"blk.{il}.{name}"
        full = f"{bare}.{suffix}" if suffix and not (suffix == "weight" and bare in self._shapes) else bare
        if full not in self._weights:
            self._weights[full] = self._weight(full)
        return self._weights[full]

    def shared(self, name: str, il: int) -> Tensor | None:
        """Give a weight outside the blocks that every block reads, on the device of this one: each device has one of its own."""
        full, row = f"{name}.weight", self._shapes.get(f"{name}.weight")
        if row is None:
            return None
        device = self._weight_device(il)
        key = f"{full} on {device}"
        if key not in self._weights:
            self._weights[key] = self._made(full, row.type, row.shape, device)
        return self._weights[key]

    def bias(self, name: str, il: int | None = None) -> Tensor | None:
        """Give a bias where the file has it."""
        return self.opt(name, il, "bias")

    def shaped(self, name: str, il: int, *ne: int) -> Tensor:
        """Give a weight that the engine takes in another shape than the file has (`TENSOR_ALLOW_RESHAPE`)."""
        found = self.w(name, il)
        found.ne = shape(*ne)
        found.nb = strides(found.type, found.ne)
        return found

    def _weight(self, full: str) -> Tensor | None:
        row = self._shapes.get(full)
        return None if row is None else self._made(full, row.type, row.shape, self._device_of(full))

    def _made(self, name: str, kind: str, dims: tuple[int, ...], home: int | None) -> Tensor:
        remembered = self.model.remembered
        key = ("dimensions", name)
        if key not in remembered:
            remembered[key] = tuple(self._dimension(name, place, value) for place, value in enumerate(dims))
        made = given(name, kind, *remembered[key])
        made.home, made.is_weight = home, True
        return made

    def _dimension(self, name: str, place: int, value: int) -> Count:
        fact = self.model.tensors_fact
        return Count.lazily(value, lambda: Quantity.read(value, ONE, fact, f"{name}, dimension {place}"))

    def head_matrix(self) -> Tensor:
        """Give the output matrix: the embedding once more where the file has none."""
        own = self.opt("output")
        if own is not None:
            return own
        if self._tied is None:
            self.w("token_embd")
            row = self._shapes["token_embd.weight"]
            self._tied = self._made("token_embd.weight", row.type, row.shape, self._device_of("output"))
        return self._tied

    # the order of what is computed

    def expand(self, tensor: Tensor) -> Tensor:
        """Add a tensor and all that it needs (`ggml_build_forward_expand`)."""
        if not tensor.seen:
            tensor.seen = True
            for operand in tensor.src:
                if not operand.seen:
                    self.expand(operand)
            self.add(tensor)
        return tensor

    def add(self, tensor: Tensor) -> None:
        """Put a tensor that all it needs stands before among the leafs or the nodes."""
        (self.leafs if tensor.op == NONE else self.nodes).append(tensor)

    # inputs

    def input(self, name: str, kind: str, *ne: int) -> Tensor:
        """Give what the host fills in before each run."""
        made = given(name, kind, *ne)
        made.is_input = True
        return made

    def embedding(self, *, scaled: bool = False) -> Tensor:
        """Give the embedded tokens (`build_inp_embd`): the host looks them up, and takes embeddings as they come instead.

        `scaled` is for architectures that multiply them by a factor whether the header states one or not.
        """
        wide = 1 + self.deepstack_layers()
        embedded = ops.get_rows(self.w("token_embd"), self.input("inp_tokens", "I32", self.n_tokens), "embd")
        if wide > 1:
            embedded = ops.pad(embedded, self.n_embd * (wide - 1))
        self.expand(embedded)
        self.expand(self.input("inp_embd", "F32", self.n_embd * wide, self.n_tokens))
        if wide > 1:
            embedded = ops.view_2d(embedded, self.n_embd, self.n_tokens, embedded.nb[1])
        self.embedded = embedded
        if scaled or self.real("embedding_scale"):
            if not embedded.is_contiguous:
                embedded = ops.cont(embedded)
            embedded = ops.scale(embedded, "embd")
        return self.expand(embedded)

    def deepstack_layers(self) -> int:
        """Give how many more embeddings a token of an image brings, for blocks beyond the first."""
        mapping = self.model.raw("deepstack_mapping") if self.model.has("deepstack_mapping") else ()
        mapped = {stream for stream in mapping if stream >= 0} if isinstance(mapping, list | tuple) else set()
        return self.number("n_deepstack_layers", len(mapped))

    def positions(self, each: int = 1) -> Tensor:
        """Give the positions of tokens."""
        return self.input("inp_pos", "I32", self.n_tokens * each)

    @property
    def uses_mrope(self) -> bool:
        """Whether heads are rotated by positions of several parts (src/llama-hparams.cpp, `use_mrope`)."""
        sections = self.model.raw("rope.dimension_sections") if self.model.has("rope.dimension_sections") else ()
        return isinstance(sections, list | tuple) and len(sections) > 1 and sections[0] > 0 and sections[1] > 0

    def out_ids(self) -> Tensor:
        """Give which tokens' logits are kept."""
        return self.input("out_ids", "I32", self.batch.outputs)

    def kept(self, il: int, out_ids: Tensor, *rows: Tensor) -> tuple[Tensor, ...]:
        """Give what goes on from a block: in the last one only the rows of the tokens whose logits are kept."""
        return rows if il != self.n_layer - 1 else tuple(ops.get_rows(part, out_ids) for part in rows)

    # caches

    def held(self, name: str, il: int, kind: str, *ne: int) -> Tensor:
        """Give a tensor of a cache or a state, which is where its layer's is."""
        key = (name, il)
        if key not in self._held:
            made = given(f"{name}_l{il}", kind, *ne)
            made.home = self._layer_device(il)
            self._held[key] = made
        return self._held[key]

    # common parts

    def norm(self, cur: Tensor, name: str, il: int | None = None, *, kind: str = "rms", label: str = "") -> Tensor:
        """Norm, and its weight and bias where the file has them (`build_norm`)."""
        return self.normed(cur, self.opt(name, il), self.bias(name, il), kind=kind, label=label or name)

    def norm_if_any(self, cur: Tensor, name: str, il: int, *, kind: str = "rms", label: str = "") -> Tensor:
        """Give what is given behind the norm of that name, or as it is where the file has none."""
        return cur if self.opt(name, il) is None else self.norm(cur, name, il, kind=kind, label=label)

    def normed(self, cur: Tensor, weight: Tensor | None, bias: Tensor | None = None, *, kind: str = "rms", label: str = "norm") -> Tensor:
        """Norm with a weight and a bias that are given."""
        cur = ops.rms_norm(cur, "norm") if kind == "rms" else ops.norm(cur, "norm")
        if weight is not None:
            cur = ops.mul(cur, weight, label)
        return cur if bias is None else ops.add(cur, bias, label)

    def linear(self, name: str, cur: Tensor, il: int | None = None, label: str = "", *, scale: bool = True) -> Tensor:
        """A matrix of the model times what is given, and its scale where the file has one (`build_lora_mm`)."""
        made = ops.mul_mat(self.w(name, il), cur, label or name)
        factor = self.opt(name, il, "scale") if scale else None
        return made if factor is None else ops.mul(made, factor, label or name)

    def linear_with_bias(self, name: str, cur: Tensor, il: int | None = None, label: str = "") -> Tensor:
        """The same with a bias added where the file has one."""
        made = self.linear(name, cur, il, label)
        bias = self.bias(name, il)
        return made if bias is None else ops.add(made, bias, label or name)

    def finish(self, cur: Tensor, *, norm: str = "rms", scaled: int = 0, label: str = "result_norm") -> None:
        """The norm of what comes out and the logits (`result_norm`, `result_output`); both stay until they are read."""
        cur = self.norm(cur, "output_norm", kind=norm, label=label)
        self.logits(cur, scaled=scaled)

    def finish_whole(self, cur: Tensor, out_ids: Tensor, *, scaled: int = 0) -> None:
        """The same where a draft head reads all tokens (`h_nextn`): those whose logits are kept are chosen behind the norm."""
        cur = self.norm(cur, "output_norm", label="h_nextn")
        cur.is_output = True
        self.logits(ops.get_rows(cur, out_ids, "result_norm"), scaled=scaled)

    def logits(self, cur: Tensor, *, scaled: int = 0, keep_embedding: bool = True, after: Callable[[Tensor], Tensor] | None = None) -> None:
        """The logits of what is given; `scaled` is how many operations of one element follow: a scale, the three of a soft cap, or both.

        `after` is what else becomes of them.
        """
        cur.is_output = keep_embedding
        made = ops.mul_mat(self.head_matrix(), cur, "result_output")
        bias, scale = self.bias("output"), self.opt("output", None, "scale")
        if scale is not None:
            made = ops.mul(made, scale, "result_output")
        if bias is not None:
            made = ops.add(made, bias, "result_output")
        for step in range(scaled):
            made = ops.unary(made, "result_output") if scaled > 1 and step == scaled - 2 else ops.scale(made, "result_output")
        if after is not None:
            made = after(made)
        made.is_output = True
        self.expand(made)


def hadamard(cur: Tensor, rotation: Tensor) -> Tensor:
    """Rows rotated before they are quantised (src/llama-impl.h, `llama_mul_mat_hadamard`)."""
    size = rotation.ne[0]
    seen = (ops.reshape if cur.is_contiguous else ops.cont)(cur, size, cur.elements // size)
    return ops.reshape(ops.mul_mat(rotation, seen), *cur.ne)


SMALLEST_ROTATION = 64
"""Elements of the smallest rotation before quantised rows (src/llama-kv-cache.cpp)."""


def rotation_of(head: int) -> int:
    """Give the elements that rows of heads are rotated by: the largest power of two from 64 up that divides them."""
    size = SMALLEST_ROTATION
    while not head % (size * 2):
        size *= 2
    return size
