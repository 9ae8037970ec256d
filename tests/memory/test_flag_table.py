from __future__ import annotations

import re

from generator.memory.flag_table import CHECKED, ENGINE, PROGRAMS, ROWS, VERSION
from scripts.flag_table import Entry, entries

HELP = """\
----- common params -----

-h,    --help, --usage                  print usage and exit
-c,    --ctx-size N                     size of it (default: 0, 0 = from the model)
                                        (env: LLAMA_ARG_CTX_SIZE)
-fa,   --flash-attn [on|off|auto]       use it ('on', 'off', or 'auto', default: 'auto')
-kvo,  --kv-offload, -nkvo, --no-kv-offload
                                        whether to (default: enabled)
                                        (env: LLAMA_ARG_KV_OFFLOAD)
--no-host                               a switch of its own
-ctk,  --cache-type-k TYPE              type
                                        allowed values: f32, q8_0
                                        (default: f16)
-lm,   --load-mode MODE                 mode (default: auto)
                                        - auto: one
                                        - mmap+mlock: two, which goes
                                        on here
--format FORMAT                         one of:
                                        - none: one
                                        - deepseek: two
                                        (default: auto)
-ot,   --override-tensor <tensor name pattern>=<buffer type>,...
                                        override
-sm,   --split-mode {none,layer}        one of:
                                        - none: one
                                        - layer (default): two


----- example-specific params -----

--control-vector-layer-range START END
                                        range
--threads N                             threads (default: same as before)
--draft, --draft-max N                  the argument has been removed. use --spec-draft-n-max or
                                        --spec-ngram-mod-n-max
"""


def entry(names: str, values: int = 0, **rest: str) -> Entry:
    listed = {key: tuple(rest.pop(key, "").split()) for key in ("negated", "choices", "replaced_by")}
    return Entry(tuple(names.split()), values=values, default=rest.get("default", ""), env=rest.get("env", ""), **listed)


def test_a_help_text_is_read_as_the_flags_it_shows() -> None:
    assert list(entries(HELP)) == [
        entry("-h --help --usage"),
        entry("-c --ctx-size", 1, default="0", env="LLAMA_ARG_CTX_SIZE"),
        entry("-fa --flash-attn", 1, choices="on off auto", default="auto"),
        entry("-kvo --kv-offload", negated="-nkvo --no-kv-offload", default="enabled", env="LLAMA_ARG_KV_OFFLOAD"),
        entry("--no-host"),
        entry("-ctk --cache-type-k", 1, choices="f32 q8_0", default="f16"),
        entry("-lm --load-mode", 1, choices="auto mmap+mlock", default="auto"),
        entry("--format", 1, default="auto"),
        entry("-ot --override-tensor", 1),
        entry("-sm --split-mode", 1, choices="none layer", default="layer"),
        entry("--control-vector-layer-range", 2),
        entry("--threads", 1),
        entry("--draft --draft-max", 1, replaced_by="--spec-draft-n-max --spec-ngram-mod-n-max"),
    ]


def test_the_table_says_where_it_comes_from() -> None:
    assert ENGINE == "llama.cpp as vendored by llama-cpp-python 0.3.36"
    assert re.fullmatch(r"\d+\.\d+\.\d+(-dev)? \(build \d+, commit [0-9a-f]{7}\)", VERSION)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", CHECKED)
    assert {"llama-server", "llama-fit-params"} <= set(PROGRAMS)


def test_a_row_of_the_table_is_what_an_entry_writes() -> None:
    written = entry("-fa --flash-attn", 1, choices="on off auto", default="auto", env="LLAMA_ARG_FLASH_ATTN").row("all")
    assert written in ROWS.splitlines()
