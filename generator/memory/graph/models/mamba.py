"""State space mixers: Mamba, Mamba-2, and PLaMo-2's.

Source: llama.cpp src/models/mamba-base.cpp (`build_mamba_layer`, `build_mamba2_layer`) and plamo2.cpp (`build_plamo2_mamba_layer`).
"""

from __future__ import annotations

from generator.memory.graph import ops
from generator.memory.graph.builder import Builder
from generator.memory.graph.states import StateInput, by_sequence, held_state, read_state
from generator.memory.graph.tensor import Tensor, element_bytes

ELEMENT = element_bytes("F32")
Operands = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


class Sizes:
    """The hyperparameters of a mixer: the convolution's kernel, what it works on in all, a state, heads and groups."""

    __slots__ = ("channels", "groups", "heads", "inner", "kernel", "sequences", "state", "tokens")

    def __init__(self, b: Builder) -> None:
        self.kernel, self.inner, self.state = b.number("ssm.conv_kernel"), b.number("ssm.inner_size"), b.number("ssm.state_size")
        self.heads, self.groups = b.number("ssm.time_step_rank"), b.number("ssm.group_count", 0)
        self.channels = self.inner + 2 * self.groups * self.state
        self.sequences = b.batch.sequences
        self.tokens = b.batch.tokens // self.sequences

    @property
    def head(self) -> int:
        """Elements of a head."""
        return self.inner // self.heads


def mamba(b: Builder, given: StateInput, cur: Tensor, il: int) -> Tensor:
    """Mamba (`build_mamba_layer`): one decay for each element of a state; B, C and dt may be normed."""
    m = Sizes(b)
    conv = _conv_state(b, given, m, il)
    xz = b.linear("ssm_in", by_sequence(b, cur, cur.ne[0]), il)
    x, z = (ops.view_3d(xz, m.inner, xz.ne[1], xz.ne[2], xz.nb[1], xz.nb[2]) for _ in range(2))
    x = _convolved(b, m, conv, x, il, flat=True)
    dt, at_b, at_c = _steps(b, m, x, il)
    dt = _with_bias(b, b.linear("ssm_dt", dt, il), il)
    heads = ops.reshape(x, 1, m.inner, m.tokens, m.sequences)
    scanned = _scan(b, given, m, (heads, dt, b.w("ssm_a", il), at_b, at_c), il, flat=True)
    y = ops.view_3d(scanned, m.inner, m.tokens, m.sequences, heads.nb[2], heads.nb[3])
    y = ops.add(y, ops.mul(x, b.w("ssm_d", il)))
    y = ops.glu(ops.cont(z), y)
    out = b.linear("ssm_out", y, il)
    return ops.reshape(out, out.ne[0], m.tokens * m.sequences)


def mamba2(b: Builder, given: StateInput, cur: Tensor, il: int) -> Tensor:
    """Mamba-2 (`build_mamba2_layer`): one decay a head, and what the convolution works on holds B and C too."""
    m = Sizes(b)
    conv = _conv_state(b, given, m, il)
    both = by_sequence(b, b.linear("ssm_in", cur, il), b.w("ssm_in", il).ne[1])
    z = ops.view_4d(both, (m.head, m.heads, m.tokens, m.sequences), m.head * ELEMENT, both.nb[1], both.nb[2])
    conv_in = ops.view_3d(both, m.channels, m.tokens, m.sequences, both.nb[1], both.nb[2])
    dt = ops.view_3d(both, m.heads, m.tokens, m.sequences, both.nb[1], both.nb[2])
    mixed = _convolved(b, m, conv, conv_in, il, flat=False)
    x = ops.view_4d(mixed, (m.head, m.heads, m.tokens, m.sequences), m.head * ELEMENT, mixed.nb[1], mixed.nb[2])
    at_b, at_c = (_by_group(mixed, m, m.groups) for _ in range(2))
    dt = _with_bias(b, ops.cont(dt), il)
    scanned = _scan(b, given, m, (x, dt, b.w("ssm_a", il), at_b, at_c), il, flat=False)
    row = m.heads * x.nb[1]
    y = ops.view_4d(scanned, (m.head, m.heads, m.tokens, m.sequences), x.nb[1], row, m.tokens * row)
    y = ops.add(y, ops.mul(x, b.w("ssm_d", il)), "mamba2_y_add_d")
    y = ops.glu(ops.cont(z), y)
    if b.opt("ssm_norm", il) is not None:
        y = b.norm(ops.reshape(y, m.inner // m.groups, m.groups, m.tokens, m.sequences), "ssm_norm", il)
    return b.linear("ssm_out", ops.reshape(y, m.inner, m.tokens * m.sequences), il, "mamba_out")


def plamo2(b: Builder, given: StateInput, cur: Tensor, il: int) -> Tensor:
    """PLaMo-2's (`build_plamo2_mamba_layer`): heads as in Mamba-2, B, C and dt from a matrix of their own and normed."""
    m = Sizes(b)
    shape = (m.head, m.heads, m.tokens, m.sequences)
    conv = _conv_state(b, given, m, il)
    zx = b.linear("ssm_in", by_sequence(b, cur, cur.ne[0]), il, "mamba_in_proj")
    zx = ops.cont(ops.permute(zx, 0, 2, 1, 3), m.head * 2, m.heads, m.tokens, m.sequences, name="mamba_in_proj_out")
    x = ops.cont(ops.view_4d(zx, shape, *zx.nb[1:]), m.inner, m.tokens, m.sequences, name="mamba_x_split")
    z = ops.view_4d(zx, shape, *zx.nb[1:], name="mamba_z_split")
    x = _convolved(b, m, conv, x, il, flat=True)
    mixed = b.linear("ssm_x", x, il, "mamba_bcdt_proj")
    parts = (("ssm_b_norm", m.state), ("ssm_c_norm", m.state), ("ssm_dt_norm", b.w("ssm_dt", il).ne[0]))
    at_b, at_c, dt = (b.norm(ops.view_3d(mixed, width, m.tokens, m.sequences, mixed.nb[1], mixed.nb[2]), name, il) for name, width in parts)
    dt = _with_bias(b, b.linear("ssm_dt", dt, il), il, "mamba_dt_proj")
    a = ops.reshape(b.w("ssm_a", il), 1, m.heads, name="mamba_A")
    x = ops.view_4d(x, shape, m.head * ELEMENT, m.inner * ELEMENT, m.inner * m.tokens * ELEMENT)
    at_b, at_c = (_by_group(part, m, 1) for part in (at_b, at_c))
    scanned = _scan(b, given, m, (x, dt, a, at_b, at_c), il, flat=True)
    y = ops.view_4d(scanned, shape, m.head * ELEMENT, m.inner * ELEMENT, m.inner * m.tokens * ELEMENT, name="mamba_y_view")
    y = ops.add(y, ops.mul(x, ops.reshape(b.w("ssm_d", il), 1, m.heads)), "mamba_y_add_d")
    y = ops.glu(ops.cont(z), y, "mamba_y_swiglu_z")
    out = b.linear("ssm_out", ops.view_3d(y, m.inner, m.tokens, m.sequences, y.nb[2], y.nb[3]), il, "mamba_out_proj")
    return ops.reshape(out, out.ne[0], m.tokens * m.sequences, name="mamba_out")


def _held_conv(b: Builder, m: Sizes, il: int) -> Tensor:
    return held_state(b, "r", il, (m.kernel - 1) * m.channels)


def _conv_state(b: Builder, given: StateInput, m: Sizes, il: int) -> Tensor:
    rows = read_state(b, given, _held_conv(b, m, il))
    return ops.reshape(rows, m.kernel - 1, m.channels, m.sequences)


def _convolved(b: Builder, m: Sizes, conv: Tensor, x: Tensor, il: int, *, flat: bool) -> Tensor:
    """The convolution over the last inputs and the new ones; the last of these are the next state, stored as one row where `flat`."""
    inputs = ops.concat(conv, ops.transpose(x), 0)
    if flat:
        last = ops.view_3d(inputs, m.kernel - 1, m.channels, m.sequences, inputs.nb[1], inputs.nb[2])
        b.expand(ops.cpy(last, ops.view_1d(_held_conv(b, m, il), last.elements)))
    else:
        store_last_inputs(b, inputs, m.kernel - 1, _held_conv(b, m, il))
    made = ops.ssm_conv(inputs, b.w("ssm_conv1d", il))
    bias = b.bias("ssm_conv1d", il)
    return ops.unary(made if bias is None else ops.add(made, bias))


def store_last_inputs(b: Builder, inputs: Tensor, count: int, held: Tensor) -> None:
    """Keep the last `count` inputs of a convolution, and for a draft those before each of its tokens."""
    channels, sequences = inputs.ne[1], inputs.ne[2]
    for _ in range(min(1 + b.batch.rollback, b.batch.tokens // sequences)):
        last = ops.view_3d(inputs, count, channels, sequences, inputs.nb[1], inputs.nb[2])
        b.expand(ops.cpy(last, ops.view_2d(held, count * channels, sequences, held.nb[1])))


def _steps(b: Builder, m: Sizes, x: Tensor, il: int) -> tuple[Tensor, Tensor, Tensor]:
    """The time steps, B and C of Mamba, normed where the file or the header says so."""
    mixed = b.linear("ssm_x", x, il)
    dt = ops.view_3d(mixed, m.heads, m.tokens, m.sequences, mixed.nb[1], mixed.nb[2])
    at_b, at_c = (_by_group(mixed, m, 1) for _ in range(2))
    names = ("ssm_dt_norm", "ssm_b_norm", "ssm_c_norm")
    if not b.flag("ssm.dt_b_c_rms") and any(b.opt(name, il) is None for name in names):
        return ops.cont(dt), at_b, at_c
    dt, at_b, at_c = (b.norm(part, name, il) for part, name in zip((dt, at_b, at_c), names, strict=True))
    return dt, at_b, at_c


def _by_group(part: Tensor, m: Sizes, groups: int) -> Tensor:
    return ops.view_4d(part, (m.state, groups, m.tokens, m.sequences), m.state * ELEMENT, part.nb[1], part.nb[2])


def _with_bias(b: Builder, cur: Tensor, il: int, label: str = "") -> Tensor:
    bias = b.bias("ssm_dt", il)
    assert bias is not None
    return ops.add(cur, bias, label)


def _scan(b: Builder, given: StateInput, m: Sizes, operands: Operands, il: int, *, flat: bool) -> Tensor:
    """Scan the tokens of x with dt, A, B and C; the states that come out are stored, as one row where `flat`."""
    x = operands[0]
    width = m.state * m.inner
    held = held_state(b, "s", il, width)
    kept = 1 if flat else 1 + b.batch.rollback

    def scan(states: Tensor, ids: Tensor) -> Tensor:
        return ops.ssm_scan(ops.reshape(states, m.state, x.ne[0], x.ne[1], held.ne[1]), operands, ids, kept)

    scanned = read_state(b, given, held, scan)
    if flat:
        b.expand(ops.cpy(ops.view_1d(scanned, width * m.sequences), ops.view_1d(held, width * m.sequences)))
        return scanned
    written, row = min(kept, m.tokens), width * ELEMENT
    states = ops.view_3d(scanned, width, m.sequences, written, row, row * m.sequences)
    b.expand(ops.cpy(states, ops.view_3d(held, width, m.sequences, written, held.nb[1], b.batch.state_rows * row)))
    return scanned
