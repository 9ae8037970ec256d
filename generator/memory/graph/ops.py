"""The operations of a compute graph: what shape each gives, and which share memory with an operand.

Source: llama.cpp ggml/src/ggml.c, the function of the same name with `ggml_` before it. Names of results are those the engine prints.
What the engine asserts of operands' shapes raises MisfitError here.
"""

from __future__ import annotations

from collections.abc import Callable

from generator.memory.graph.tensor import Shape, Tensor, shape, strides
from generator.memory.graph.unknown import MisfitError

F32 = "F32"

# --- what operands must be -------------------------------------------------------------------------


def _misfit(op: str, *operands: Tensor) -> MisfitError:
    shown = " and ".join(f"'{tensor.name or tensor.op.lower()}' [{', '.join(map(str, _trimmed(tensor.ne)))}]" for tensor in operands)
    return MisfitError(f"{shown} do not go together in {op.lower()}")


def _trimmed(ne: Shape) -> Shape | tuple[int, ...]:
    """Give a shape without ones at its end."""
    count = max((place + 1 for place, length in enumerate(ne) if length != 1), default=1)
    return ne[:count]


def _repeats(small: Shape, large: Shape) -> bool:
    """Tell whether a shape can be repeated to fill another (`ggml_can_repeat`)."""
    if 0 in small:
        return 0 in large
    return not (large[0] % small[0] or large[1] % small[1] or large[2] % small[2] or large[3] % small[3])


def _multiplies(a: Shape, b: Shape) -> bool:
    """Tell whether two matrices have a product (`ggml_can_mul_mat`)."""
    return a[0] == b[0] and bool(a[2] and a[3]) and not (b[2] % a[2] or b[3] % a[3])


# --- the same shape as the operand -----------------------------------------------------------------


def like(op: str, a: Tensor, *others: Tensor | None, name: str = "") -> Tensor:
    """Give what an operation makes of a tensor without changing its shape; the result has no gaps (`ggml_dup_tensor`)."""
    return Tensor(op, a.type, a.ne, (a, *(other for other in others if other is not None)), name)


def add(a: Tensor, b: Tensor, name: str = "") -> Tensor:
    """Sum; `b` is repeated over `a`."""
    return _repeating("ADD", a, b, name)


def sub(a: Tensor, b: Tensor, name: str = "") -> Tensor:
    """Difference."""
    return _repeating("SUB", a, b, name)


def mul(a: Tensor, b: Tensor, name: str = "") -> Tensor:
    """Product element by element; `b` is repeated over `a`."""
    return _repeating("MUL", a, b, name)


def div(a: Tensor, b: Tensor, name: str = "") -> Tensor:
    """Quotient element by element."""
    return _repeating("DIV", a, b, name)


def add_id(a: Tensor, b: Tensor, ids: Tensor, name: str = "") -> Tensor:
    """Sum with the rows of `b` that `ids` choose."""
    return like("ADD_ID", a, b, ids, name=name)


def scale(a: Tensor, name: str = "") -> Tensor:
    """Product with a number."""
    return like("SCALE", a, name=name)


def clamp(a: Tensor, name: str = "") -> Tensor:
    """Limit to a range."""
    return like("CLAMP", a, name=name)


def sqr(a: Tensor, name: str = "") -> Tensor:
    """Square."""
    return like("SQR", a, name=name)


def sqrt(a: Tensor, name: str = "") -> Tensor:
    """Square root."""
    return like("SQRT", a, name=name)


def log(a: Tensor, name: str = "") -> Tensor:
    """Natural logarithm."""
    return like("LOG", a, name=name)


def unary(a: Tensor, name: str = "") -> Tensor:
    """One of the functions of one element: silu, gelu, relu, sigmoid, tanh, exp, softplus, neg and so on."""
    return like("UNARY", a, name=name)


def rms_norm(a: Tensor, name: str = "") -> Tensor:
    """Division by the root mean square."""
    return like("RMS_NORM", a, name=name)


def norm(a: Tensor, name: str = "") -> Tensor:
    """Layer norm."""
    return like("NORM", a, name=name)


def l2_norm(a: Tensor, name: str = "") -> Tensor:
    """Division by the length."""
    return like("L2_NORM", a, name=name)


def rope(a: Tensor, positions: Tensor, factors: Tensor | None = None, name: str = "") -> Tensor:
    """Rotation by position."""
    return like("ROPE", a, positions, factors, name=name)


def rope_back(a: Tensor, positions: Tensor, name: str = "") -> Tensor:
    """Rotation by position taken back."""
    return like("ROPE_BACK", a, positions, name=name)


def soft_max(a: Tensor, mask: Tensor | None = None, sinks: Tensor | None = None, name: str = "") -> Tensor:
    """Soft maximum of rows."""
    return like("SOFT_MAX", a, mask, sinks, name=name)


def fill(a: Tensor, name: str = "") -> Tensor:
    """The same number everywhere."""
    return like("FILL", a, name=name)


def in_place(operation: Callable[[Tensor], Tensor], a: Tensor) -> Tensor:
    """An operation written over its operand: a view of it (`ggml_scale_inplace` and so on)."""
    made = operation(a)
    made.nb, made.view = a.nb, a.view or a
    return made


# --- other shapes ----------------------------------------------------------------------------------


def mul_mat(a: Tensor, b: Tensor, name: str = "") -> Tensor:
    """Matrix product: of `a` [k, m] and `b` [k, n] gives [m, n] in F32."""
    if not _multiplies(a.ne, b.ne):
        raise _misfit("MUL_MAT", a, b)
    return Tensor("MUL_MAT", F32, (a.ne[1], b.ne[1], b.ne[2], b.ne[3]), (a, b), name)


def mul_mat_id(experts: Tensor, b: Tensor, ids: Tensor, name: str = "") -> Tensor:
    """Matrix products with the chosen experts: [m, used, tokens] in F32."""
    if experts.ne[0] != b.ne[0] or experts.ne[3] != 1 or ids.ne[1] != b.ne[2] or not b.ne[1] or ids.ne[0] % b.ne[1]:
        raise _misfit("MUL_MAT_ID", experts, b, ids)
    return Tensor("MUL_MAT_ID", F32, (experts.ne[1], ids.ne[0], b.ne[2], 1), (experts, b, ids), name)


def get_rows(a: Tensor, ids: Tensor, name: str = "") -> Tensor:
    """The rows of `a` that `ids` choose, in F32 (in I32 from I32)."""
    if a.ne[2] != ids.ne[1] or a.ne[3] != ids.ne[2]:
        raise _misfit("GET_ROWS", a, ids)
    kind = a.type if a.type == "I32" else F32
    return Tensor("GET_ROWS", kind, (a.ne[0], ids.ne[0], ids.ne[1], ids.ne[2]), (a, ids), name)


def set_rows(a: Tensor, b: Tensor, ids: Tensor, name: str = "") -> Tensor:
    """Rows written into `a`: a view of it."""
    if a.ne[0] != b.ne[0]:
        raise _misfit("SET_ROWS", a, b)
    made = Tensor("SET_ROWS", a.type, a.ne, (b, ids, a), name, a.nb)
    made.view = a.view or a
    return made


def cpy(a: Tensor, b: Tensor, name: str = "") -> Tensor:
    """`a` written into `b`: a view of it."""
    if a.elements != b.elements:
        raise _misfit("CPY", a, b)
    made = Tensor("CPY", b.type, b.ne, (a, b), name, b.nb)
    made.view = b.view or b
    return made


def cont(a: Tensor, *ne: int, name: str = "") -> Tensor:
    """A copy without gaps, of another shape where one is given."""
    made = Tensor("CONT", a.type, shape(*ne) if ne else a.ne, (a,), name)
    if made.elements != a.elements:
        raise _misfit("CONT", a, made)
    return made


def cast(a: Tensor, kind: str, name: str = "") -> Tensor:
    """A copy of another type; the engine notes it twice among the operands."""
    made = Tensor("CPY", kind, a.ne, (a,), name)
    made.src = (a, made)
    return made


def set_1d(a: Tensor, b: Tensor, name: str = "") -> Tensor:
    """A copy of `a` with some of its elements replaced by those of `b`."""
    return like("SET", a, b, name=name)


def arange(count: int, name: str = "") -> Tensor:
    """Numbers one after the other."""
    return Tensor("ARANGE", F32, shape(count), (), name)


def concat(a: Tensor, b: Tensor, dim: int, name: str = "") -> Tensor:
    """`b` after `a` along a dimension."""
    if any(one != other for place, (one, other) in enumerate(zip(a.ne, b.ne, strict=True)) if place != dim):
        raise _misfit("CONCAT", a, b)
    ne = list(a.ne)
    ne[dim] += b.ne[dim]
    return Tensor("CONCAT", a.type, shape(*ne), (a, b), name)


def repeat(a: Tensor, *ne: int, name: str = "") -> Tensor:
    """A tensor repeated to a shape."""
    made = Tensor("REPEAT", a.type, shape(*ne), (a,), name)
    if not _repeats(a.ne, made.ne):
        raise _misfit("REPEAT", a, made)
    return made


def pad(a: Tensor, *more: int, name: str = "") -> Tensor:
    """Zeros after the end of each dimension."""
    extra = shape(*more, *(0,) * (4 - len(more)))
    return Tensor("PAD", a.type, _sum(a.ne, extra), (a,), name)


def sum_rows(a: Tensor, name: str = "") -> Tensor:
    """The sum of each row."""
    return Tensor("SUM_ROWS", a.type, (1, a.ne[1], a.ne[2], a.ne[3]), (a,), name)


def mean(a: Tensor, name: str = "") -> Tensor:
    """The mean of each row."""
    return Tensor("MEAN", F32, (1, a.ne[1], a.ne[2], a.ne[3]), (a,), name)


def argsort(a: Tensor, name: str = "") -> Tensor:
    """The order of each row, in I32."""
    return Tensor("ARGSORT", "I32", a.ne, (a,), name)


def argsort_top_k(a: Tensor, count: int, name: str = "") -> Tensor:
    """The first of the order of each row: a view of the whole order."""
    if count > a.ne[0]:
        raise MisfitError(f"{count} of {a.ne[0]} cannot be chosen in '{name or a.name}'")
    order = argsort(a, name)
    return view(order, (count, order.ne[1], order.ne[2], order.ne[3]), order.nb, name=name)


def top_k(a: Tensor, count: int, name: str = "") -> Tensor:
    """The places of the largest of each row, in I32."""
    if count > a.ne[0]:
        raise MisfitError(f"{count} of {a.ne[0]} cannot be chosen in '{name or a.name}'")
    return Tensor("TOP_K", "I32", (count, a.ne[1], a.ne[2], a.ne[3]), (a,), name)


def glu(a: Tensor, b: Tensor | None = None, name: str = "") -> Tensor:
    """A gated unit (swiglu, geglu, reglu, …): of `a` gated by `b`, or of the two halves of `a`."""
    if b is None:
        return Tensor("GLU", a.type, (a.ne[0] // 2, a.ne[1], a.ne[2], a.ne[3]), (a,), name)
    if a.ne != b.ne:
        raise _misfit("GLU", a, b)
    return Tensor("GLU", a.type, a.ne, (a, b), name)


def flash_attn(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, sinks: Tensor | None = None, name: str = "") -> Tensor:
    """Attention in one operation: [v length, heads, tokens, streams] in F32."""
    if not _multiplies(k.ne, q.ne) or k.ne[1] != v.ne[1] or (mask is not None and mask.ne[0] != k.ne[1]):
        raise _misfit("FLASH_ATTN_EXT", q, k, v)
    others = tuple(other for other in (mask, sinks) if other is not None)
    return Tensor("FLASH_ATTN_EXT", F32, (v.ne[0], q.ne[2], q.ne[1], q.ne[3]), (q, k, v, *others), name)


def ssm_conv(inputs: Tensor, kernel: Tensor, name: str = "") -> Tensor:
    """The convolution before a state space: [inner, tokens, sequences]."""
    if inputs.ne[1] != kernel.ne[1]:
        raise _misfit("SSM_CONV", inputs, kernel)
    tokens = inputs.ne[0] - kernel.ne[0] + 1
    return Tensor("SSM_CONV", F32, (kernel.ne[1], tokens, inputs.ne[2], 1), (inputs, kernel), name)


def gated_delta_net(q: Tensor, k: Tensor, v: Tensor, gate: Tensor, beta: Tensor, state: Tensor, copies: int = 1, name: str = "") -> Tensor:
    """Gated delta net in one operation: what comes out of every token, and after it the state and its copies for a draft."""
    length, heads, tokens, sequences = v.ne
    ne = (length * heads, tokens * sequences + copies * length * sequences, 1, 1)
    return Tensor("GATED_DELTA_NET", F32, ne, (q, k, v, gate, beta, state), name)


def ssm_scan(states: Tensor, inputs: tuple[Tensor, Tensor, Tensor, Tensor, Tensor], ids: Tensor, kept: int, name: str = "") -> Tensor:
    """The scan of a state space over x, dt, A, B and C: what it gives for each token, then `kept` states of each sequence, in one row."""
    state = states.ne[0] * states.ne[1] * states.ne[2] * ids.ne[0]
    return Tensor("SSM_SCAN", F32, shape(inputs[0].elements + kept * state), (states, *inputs, ids), name)


def linear_attn(op: str, k: Tensor, *others: Tensor, name: str = "") -> Tensor:
    """RWKV_WKV6, RWKV_WKV7 or GATED_LINEAR_ATTN: a row for each token, then the new states; the last operand is the old states."""
    head, heads, tokens = k.ne[:3]
    return Tensor(op, F32, shape(head * heads, tokens + head * others[-1].ne[1]), (k, *others), name)


def lightning_indexer(q: Tensor, k: Tensor, weights: Tensor, mask: Tensor, name: str = "") -> Tensor:
    """The scores of an indexer: [tokens cached, tokens, 1, streams] in F32."""
    return Tensor("LIGHTNING_INDEXER", F32, (k.ne[2], q.ne[2], 1, q.ne[3]), (q, k, weights, mask), name)


def hc_pre(streams: Tensor, weights: Tensor, name: str = "") -> Tensor:
    """Residual streams added up by their weights: [width, tokens] in F32."""
    return Tensor("DSV4_HC_PRE", F32, (streams.ne[0], streams.ne[2], 1, 1), (streams, weights), name)


def hc_comb(mixes: Tensor, scales: Tensor, base: Tensor, count: int, name: str = "") -> Tensor:
    """How residual streams are mixed: [count, count, tokens] in F32."""
    return Tensor("DSV4_HC_COMB", F32, (count, count, mixes.ne[1], 1), (mixes, scales, base), name)


def hc_post(a: Tensor, residual: Tensor, written: Tensor, mixed: Tensor | None, name: str = "") -> Tensor:
    """Residual streams after a part of a block: [width, count, tokens] in F32."""
    return Tensor(
        "DSV4_HC_POST", F32, (a.ne[0], residual.ne[1], a.ne[1], 1), (a, residual, written, *(() if mixed is None else (mixed,))), name
    )


# --- views -----------------------------------------------------------------------------------------


def view(a: Tensor, ne: Shape, nb: Shape, op: str = "VIEW", name: str = "") -> Tensor:
    """A tensor's memory seen with another shape and other strides."""
    made = Tensor(op, a.type, ne, (a,), name, nb)
    made.view = a.view or a
    if any(length < 0 for length in ne) or made.elements > made.view.elements:
        raise _misfit(op, a, made)
    return made


def view_1d(a: Tensor, count: int, name: str = "") -> Tensor:
    """A run of elements."""
    return view(a, shape(count), strides(a.type, shape(count)), name=name)


def view_2d(a: Tensor, ne0: int, ne1: int, nb1: int, name: str = "") -> Tensor:
    """Rows `nb1` bytes apart."""
    return view(a, (ne0, ne1, 1, 1), (a.nb[0], nb1, nb1 * ne1, nb1 * ne1), name=name)


def view_3d(a: Tensor, ne0: int, ne1: int, ne2: int, nb1: int, nb2: int, name: str = "") -> Tensor:
    """Planes `nb2` bytes apart of rows `nb1` bytes apart."""
    return view(a, (ne0, ne1, ne2, 1), (a.nb[0], nb1, nb2, nb2 * ne2), name=name)


def view_4d(a: Tensor, ne: Shape, nb1: int, nb2: int, nb3: int, name: str = "") -> Tensor:
    """As the others, in four dimensions."""
    return view(a, ne, (a.nb[0], nb1, nb2, nb3), name=name)


def reshape(a: Tensor, *ne: int, name: str = "") -> Tensor:
    """A tensor without gaps with another shape."""
    new = shape(*ne)
    made = view(a, new, strides(a.type, new), "RESHAPE", name)
    if made.elements != a.elements:
        raise _misfit("RESHAPE", a, made)
    return made


def permute(a: Tensor, *axes: int, name: str = "") -> Tensor:
    """Dimensions in another order: dimension i becomes dimension `axes[i]`."""
    ne, nb = [0] * 4, [0] * 4
    for source, target in enumerate(axes):
        ne[target], nb[target] = a.ne[source], a.nb[source]
    return view(a, shape(*ne), shape(*nb), "PERMUTE", name)


def transpose(a: Tensor, name: str = "") -> Tensor:
    """The first two dimensions exchanged."""
    ne, nb = (a.ne[1], a.ne[0], a.ne[2], a.ne[3]), (a.nb[1], a.nb[0], a.nb[2], a.nb[3])
    return view(a, ne, nb, "TRANSPOSE", name)


def _repeating(op: str, a: Tensor, b: Tensor, name: str) -> Tensor:
    if not _repeats(b.ne, a.ne):
        raise _misfit(op, a, b)
    return like(op, a, b, name=name)


def _sum(a: Shape, b: Shape) -> Shape:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])
