"""Files with something wrong in them: each problem with its line, key path, message and remedy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from generator.errors import Problem

Problems = Callable[..., tuple[Problem, ...]]

CARD = [
    ("title: Tiny 8\n", "titel: Tiny 8\n", "titel", "there is no key 'titel' here", "did you mean 'title'?"),
    ("chip: GA000", "title: again", "title", "the key stands twice, first in line 3", "delete one"),
    ("card: tiny-8", "card: tiny-9", "card", "'tiny-9' stands in a file whose place says 'tiny-8'", "rename one"),
    ("card: tiny-8", "card: Tiny 8", "card", "'Tiny 8' is no name in lower case", "must match"),
    ("vendor: nvidia", "vendor: nvidea", "vendor", "'nvidea' is none of its words", "did you mean 'nvidia'?"),
    ("backend: cuda", "backend: yes", "backend", "'yes' is none of its words", "known: 'cuda'"),
    ("chip: GA000", "chip: 100", "chip", "text is expected, this is a number", "put it in quotes"),
    ("chip: GA000", "chip: true", "chip", "text is expected, this is a truth value", "put it in quotes"),
    ("chip: GA000", "chip: [GA000]", "chip", "this is a list", ""),
    ("chip: GA000", "chip:", "chip", "nothing stands here", "delete the key"),
    ('compute_capability: "8.6"', "compute_capability: 8.6", "compute_capability", "this is a number", "put it in quotes"),
    ('compute_capability: "8.6"\n', "", "compute_capability", "'compute_capability' is missing", "a CUDA card"),
    ("backend: cuda", "backend: vulkan", "compute_capability", "only a CUDA card", "delete the key"),
    ("checked: 2026-01-02\n\n", "checked: 2026-13-02\n\n", "checked", "'2026-13-02' is no day", "2026-08-31"),
    ("checked: 2026-01-02\n\n", "checked: 1.2.2026\n\n", "checked", "'1.2.2026' is no day", "2026-08-31"),
    ("memory: 8 GiB", "memory: 8 Gib", "facts.memory", "'Gib' is no unit", "did you mean 'GiB'"),
    ("memory: 8 GiB", "memory: {value: 8 Gib}", "facts.memory.value", "'Gib' is no unit", "did you mean 'GiB'"),
    ("memory: 8 GiB", "memory: {note: big}", "facts.memory", "neither a value nor 'status: not_published'", "add one"),
    ("memory: 8 GiB", "memory: {value: 8 GiB, status: not_published}", "facts.memory", "has a value and is not_published", "delete one"),
    ("memory: 8 GiB", "memory: {value: 8 GiB, status: gone}", "facts.memory.status", "'gone' is none of its words", "known"),
    (
        "memory: 8 GiB",
        "memory: {value: 8 GiB, origin: measured}",
        "facts.memory.origin",
        "'measured' is none of its words",
        "did you mean 'declared'?",
    ),
    ("memory: 8 GiB", "memory: {value: 8 GiB, origin: declared}", "facts.memory", "needs a note", "say in `note`"),
    (
        "memory: 8 GiB",
        "memory: {value: 8 GiB, origin: declared, note: so, source: 'https://example.org'}",
        "facts.memory",
        "a declared value has no source",
        "delete `source`",
    ),
    (
        "memory: 8 GiB",
        "memory: {status: not_published, origin: declared, note: so}",
        "facts.memory",
        "cannot be not_published",
        "give a value",
    ),
    (
        "memory: 8 GiB",
        "memory: {value: 8 GiB, source: 'https://a.example', published_in: a talk}",
        "facts.memory",
        "more than one source",
        "keep one",
    ),
    ("memory: 8 GiB", "memory: {value: 8 GiB, source: example}", "facts.memory.source", "'example' is no web address", "must match"),
    ("memory: 8 GiB", "memory: {value: 8 GiB, citation: x}", "facts.memory.citation", "there is no key 'citation' here", "known"),
    ("  memory: 8 GiB\n", "", "facts.memory", "the key 'memory' is missing", "every card states its memory"),
    ("  cores: 6144", "  Cores: 6144", "facts.Cores", "'Cores' cannot be a key here", "must match"),
    ("  vendor: https://example.org/tiny-8", "  vendor: javascript:alert(1)", "links.vendor", "is no web address", "must match"),
    ("{text: tiny but mighty, ", "{", "quotes.slogan.text", "the key 'text' is missing", "The words, exactly."),
    ("  slogan: {text", "  memory_peak: {text", "quotes.memory_peak", "the fact of this name has a quote", "rename"),
    ("notes:\n  usable: |\n", "notes:\n  overview: [a]\n  usable: |\n", "notes.overview", "prose is expected, this is a list", ""),
]

ENGINE = [
    ("build: b100\n", "build: b101\n", "build", "'b101' stands in a file whose place says 'b100'", "rename"),
    ("engine: llama.cpp", "engine: llama", "engine", "'llama' stands in a file whose place says 'llama.cpp'", "rename"),
    ("/{path}#L{line}", "/common.h", "source_url", "is no address with {path}", "must match"),
    (
        "citation: fit_margin}\n  n_ubatch",
        "citation: fit_margn}\n  n_ubatch",
        "facts.fit_margin.citation",
        "no citation 'fit_margn'",
        "did you mean 'fit_margin'?",
    ),
    (
        "{value: 1024 MiB, citation: fit_margin}",
        "{value: 1024 MiB, citation: fit_margin, source: 'https://a.example'}",
        "facts.fit_margin",
        "more than one source",
        "keep one",
    ),
    ("  n_cpu_moe: {names", "  n_cpu_mo: {names", "flags.n_cpu_mo", "'n_cpu_mo' is no setting", "did you mean 'n_cpu_moe'"),
    ("[-ncmoe, --n-cpu-moe]", "[ncmoe]", "flags.n_cpu_moe.names[0]", "'ncmoe' is no flag", "must match"),
    ("[-ncmoe, --n-cpu-moe]", "[-a, -a]", "flags.n_cpu_moe.names[1]", "'-a' is in the list already", "delete one"),
    ("[-ncmoe, --n-cpu-moe]", "[]", "flags.n_cpu_moe.names", "the list is empty", "list something"),
    ("[-ncmoe, --n-cpu-moe]", "-ncmoe", "flags.n_cpu_moe.names", "a list is expected", "[a, b]"),
    (
        "    line: 481\n    checked: 2026-01-02\n",
        "    line: 481\n",
        "citations.fit_margin",
        "nothing says when the source was read",
        "`checked`",
    ),
    (
        "    pattern: n_ubatch\n",
        "    pattern: n_ubatch\n    line: 3\n",
        "citations.n_ubatch",
        "a line at the pinned build needs the day",
        "`read_elsewhere`",
    ),
    ("    line: 40\n", "", "citations.list", "there is a last line and no first", "add `line`"),
    ("    line: 40\n", "    line: 0\n", "citations.list.line", "0 is too small, the least is 1", ""),
    ("path: ggml/CMakeLists.txt", "path: ../ggml/CMakeLists.txt", "citations.list.path", "is no path", "must match"),
    ("path: ggml/CMakeLists.txt", "path: ggml/../../x", "citations.list.path", "is no path", "must match"),
    ('toolkit: "12.8"', "toolkit: 12.8", "cuda.floors[0].toolkit", "this is a number", "put it in quotes"),
    ("cache_types: [f16, q8_0]", "cache_types: [f16, q9_0]", "backends.cuda.cache_types[1]", "'q9_0' is none of its words", "did you mean"),
    ("  cuda:\n    instructions", "  cuba:\n    instructions", "backends.cuba", "'cuba' cannot be a key here", "must match"),
    ("    op_offload: fit_margin", "    op_offload: fit", "backends.cuda.op_offload", "there is no citation 'fit'", "fit_margin"),
    ("value: b1,", "value: 1,", "architectures.llama.floor", "the name of a build is expected", "such as b7990"),
]

MODEL = [
    ("  image_words: 0", "  floor: soon", "facts.floor", "the name of a build is expected", "such as b7990"),
    ("model: tiny\n", "model: small\n", "model", "'small' stands in a file whose place says 'tiny'", "rename"),
    ("repository: example/Tiny-1-GGUF", "repository: Tiny-1-GGUF", "repository", "is no repository", "must match"),
    ("file: tiny-Q4_K_M.gguf", "file: tiny-Q4_K_M.bin", "quants.Q4_K_M.file", "is no name of a GGUF file", "must match"),
    ("file: tiny-Q4_K_M.gguf", "file: ../../etc/x.gguf", "quants.Q4_K_M.file", "is no name of a GGUF file", "must match"),
    ("file: tiny-Q4_K_M.gguf", 'file: "tiny-Q4_K_M.gguf\\n"', "quants.Q4_K_M.file", "is no name of a GGUF file", "must match"),
    ("fidelity: header", "fidelity: heder", "quants.Q4_K_M.fidelity", "'heder' is none of its words", "did you mean 'header'?"),
    ("  top_k: {value", "  topk: {value", "sampling.topk", "'topk' cannot be a key here", "must match"),
    ("checked: 2026-01-02\nquants", "quants", "quants.Q4_K_M.size", "nothing says when the value was last checked", "top of the file"),
    ("source: https://example.org/tiny\n", "", "facts.image_words", "nothing says where the value was read", "top of the file"),
    (
        "  block_count: 4\n",
        "  block_counts: 4\n",
        "config.block_counts",
        "no shape follows from 'block_counts'",
        "did you mean 'block_count'?",
    ),
    ("  block_count: 4\n", "  depth: 4\n", "config.depth", "no shape follows from 'depth'", "values of a configuration: 'block_count'"),
    ("  block_count: 4\n", "  Block: 4\n", "config.Block", "'Block' cannot be a key here", "must match"),
    ("  block_count: 4\n", "  block_count:\n", "config.block_count", "no value stands here", "not_published"),
    ("converted: true", "converted: 1", "quants.Q8_0.converted", "true or false is expected", ""),
    ("  Q8_0: {file: tiny-Q8_0", "  Q4_0: {file: tiny-Q8_0", "quants.Q4_0", "the engine's converter writes no Q4_0", "call it Q8_0"),
    ("base: example/Tiny-1\n", "", "quants.Q8_0", "a file that the reader makes follows from the base's shape", "give `base` and `config`"),
    (
        "fidelity: config, converted: true",
        "fidelity: header, converted: true",
        "quants.Q8_0",
        "has neither a header nor a published size",
        "`fidelity: config`",
    ),
    (
        "fidelity: config, converted: true",
        "fidelity: config, converted: true, size: 7 B",
        "quants.Q8_0",
        "has neither a header nor a published size",
        "leave out `size`",
    ),
]

RECIPE = [
    ("model: tiny\n", "model: small\n", "model", "'small' stands in a file whose place says 'tiny'", "rename"),
    ("card: tiny-8", "card: tiny-9", "card", "'tiny-9' stands in a file whose place says 'tiny-8'", "rename"),
    ("  n_ctx: 4096\n", "  n_ctxx: 4096\n", "settings.n_ctxx", "there is no key 'n_ctxx' here", "did you mean 'n_ctx'"),
    ("  n_ctx: 4096\n", "  n_ctx: 4k\n", "settings.n_ctx", "a whole number is expected, this is text", ""),
    ("  n_ctx: 4096\n", "  n_ctx: true\n", "settings.n_ctx", "a whole number is expected, this is a truth value", ""),
    ("  n_ctx: 4096\n", "  n_ctx: -1\n", "settings.n_ctx", "-1 is too small, the least is 0", ""),
    ("  n_ctx: 4096\n", "  port: 70000\n", "settings.port", "70000 is too large, the most is 65535", ""),
    ("n_cpu_moe: auto", "n_cpu_moe: all", "settings.n_cpu_moe", "'all' is none of its words", "known: 'auto'"),
    ("flash_attn: on\n", "flash_attn: true\n", "settings.flash_attn", "true is none of its words", "did you mean 'on'?"),
    ("flash_attn: on\n", "flash_attn: false\n", "settings.flash_attn", "false is none of its words", "did you mean 'off'?"),
    ("type_k: q8_0\n", "type_k: q8\n", "settings.type_k", "'q8' is none of its words", "did you mean 'q8_0'"),
    ("kv_offload: true", "kv_offload: on", "settings.kv_offload", "true or false is expected", "without quotes"),
    ("temp: 1.0", "temp: warm", "settings.temp", "a number is expected, this is text", ""),
    ("  n_ctx: 4096\n", "  tensor_split: 3;1\n", "settings.tensor_split", "is no list of shares", "must match"),
    ("off, type_v: f16}", "off, type_v: f17}", "fallbacks[0].settings.type_v", "'f17' is none of its words", "did you mean"),
    ("reserve: 512 MiB", "reserve: 512", "budget.reserve", "'512' is not in one of its units", "units: 'B'"),
    ("reserve: 512 MiB", "reserve: 512 tokens", "budget.reserve", "not in one of its units", "units: 'B'"),
    ("policy: published", "policy: publish", "budget.policy", "'publish' is none of its words", "did you mean 'published'?"),
    ("[3, 512]]", "[3]]", "ladder.rows[1]", "a list of 2 is expected, this has 1", ""),
    ("cache: [[q8_0, q8_0],", "cache: [[q8_0, q9_0],", "ladder.cache[0][1]", "'q9_0' is none of its words", "did you mean"),
    ("transfers: 3200", "transfers: fast", "memory_kinds[0].transfers", "a whole number is expected", ""),
    ("[llama.cpp#7]", "[7]", "issues[0]", "this is a number", "put it in quotes"),
    ("[llama.cpp#7]", "[llama.cpp/7]", "issues[0]", "is no thread", "must match"),
    ("sizes: [16 GiB, 32 GiB]", "sizes: [16, 32]", "machine.sizes[0]", "'16' is not in one of its units", "units"),
]

ISSUE = [
    ("number: 7", "number: 8", "number", "'8' stands in a file whose place says '7'", "rename"),
    ("tracker: ggml-org/llama.cpp", "tracker: ggml-org/ggml", "tracker", "stands in a file whose place says 'llama.cpp'", "rename"),
    ("severity: red", "severity: rde", "severity", "'rde' is none of its words", "did you mean 'red'?"),
    ("state: {value: merged", "state: {value: done", "facts.state", "'done' is no state", "known: 'open', 'closed', 'merged'"),
    ("  state: {value: merged, checked: 2026-01-03}\n", "", "facts.state", "the key 'state' is missing", "every thread states"),
    (", checked: 2026-01-03}", "}", "facts.state", "nothing says when the value was last checked", "add `checked`"),
    (
        "[expert_offload,",
        "[expert_ofload,",
        "applies.techniques[0]",
        "'expert_ofload' is none of its words",
        "did you mean 'expert_offload'",
    ),
    (
        "builds: {confirmed: [b90, b91]}",
        "builds: {confirmd: [b90]}",
        "applies.builds.confirmd",
        "there is no key",
        "did you mean 'confirmed'?",
    ),
    ("## headline\n", "## headlin\n", "headlin", "there is no section 'headlin'", "did you mean 'headline'?"),
    ("## Not established\n", "## report\n", "report", "the section stands twice", "put the two together"),
    ("Much.\n", "", "not established", "the section is empty", "delete its heading"),
    ("## headline\n\nIt dies with {comments} comments\n", "", "headline", "the section 'headline' is missing", "one sentence"),
    ("## headline\n", "Loose words.\n\n## headline\n", "", "text stands before the first section", "put it under a heading"),
    ("---\ntracker", "tracker", "", "does not start with front matter", "between two lines of ---"),
    ('2026-01-02"}\n---\n', '2026-01-02"}\n', "", "the front matter does not end", "close it"),
]

CASES = [
    pytest.param(kind, *case, id=f"{kind}-{case[2]}-{case[3]}"[:90])
    for kind, cases in {"card": CARD, "engine": ENGINE, "model": MODEL, "recipe": RECIPE, "issue": ISSUE}.items()
    for case in cases
]


@pytest.mark.parametrize(("kind", "old", "new", "path", "message", "remedy"), CASES)
def test_a_problem_is_told_with_its_path_and_remedy(
    problems: Problems, kind: str, old: str, new: str, path: str, message: str, remedy: str
) -> None:
    found = problems(kind, old, new)
    assert any(each.path == path and message in each.message and remedy in each.remedy for each in found), found


def test_every_problem_of_a_file_is_told_at_once_and_in_order(problems: Problems) -> None:
    found = problems(
        "card",
        *("title: Tiny 8", "titel: Tiny 8"),
        *("vendor: nvidia", "vendor: nvidea"),
        *("memory: 8 GiB", "memory: {value: 8 Gib, checked: never}"),
        *("cores: 6144", "cores: {value: 1, origin: declared}"),
        *("  vendor: https://example.org/tiny-8", "  vendor: nowhere"),
        *("  slogan: {text", "  memory_peak: {text"),
    )
    assert [(each.line, each.path) for each in found] == [
        (2, "title"),
        (3, "titel"),
        (5, "vendor"),
        (14, "facts.memory.value"),
        (14, "facts.memory.checked"),
        (19, "facts.cores"),
        (27, "links.vendor"),
        (30, "quotes.memory_peak"),
    ]


def test_problems_of_front_matter_and_body_are_told_together(problems: Problems) -> None:
    found = problems("issue", "severity: red", "severity: blue", "## headline\n", "## Headlines\n")
    assert [(each.line, each.path) for each in found] == [(5, "severity"), (21, "headline"), (22, "headlines")]


def test_a_problem_names_the_line_in_the_file_below_front_matter(problems: Problems) -> None:
    (problem,) = problems("issue", "number: 7", "number: seven")[-1:]
    assert (problem.line, problem.path) == (3, "number")


@pytest.mark.parametrize(
    ("heading", "message"),
    [
        ("## advice when experts\n\nText.\n\n## Not established", "'experts' is no condition"),
        ("## advice\n\nAny.\n\n## advice when moe\n\nSome.\n\n## Not established", "so nobody is told it"),
        ("## advice when moe\n\nOne.\n\n## advice when moe\n\nTwo.\n\n## Not established", "stands twice"),
        ("## advice when not\n\nOne.\n\n## Not established", "'not' is no condition"),
    ],
)
def test_a_variant_that_no_reader_can_get_is_refused(problems: Problems, heading: str, message: str) -> None:
    found = problems("issue", "## Not established", heading)
    assert any(message in each.message for each in found), found


def test_a_headline_for_some_readers_only_is_refused(problems: Problems) -> None:
    (problem,) = problems("issue", "## headline", "## headline when moe")
    assert "the section 'headline' is missing" in problem.message
