from __future__ import annotations

import pytest

from generator.errors import InputError, RefusedSettings
from generator.guide.commands import commands_of, refuse_commands
from generator.memory.harms import Run
from tests.memory.models import dense

PAGE = """# A page

```bash
cmake -B build -DGGML_CUDA=ON
./build/bin/llama-server -m x.gguf \\
    -c 4096 \\
    -ctk q8_0
GGML_CUDA_DISABLE_GRAPHS=1 ./build/bin/llama-server -m x.gguf
HIPCXX="clang" cmake -B build
curl http://127.0.0.1:8080/v1/models
```

`llama-server -ctv q5_1` in a sentence, and what a log says:

```text
llama-server -ctv q5_1
```

```bash
./build/bin/llama-bench -m x.gguf -ngl 99 -fa 0 -ctv q8_0 -p 512
```
"""


def test_commands_are_read_whole_with_their_lines_and_nothing_else_is() -> None:
    found = [(line, " ".join(words)) for line, words in commands_of(PAGE)]
    assert found == [
        (5, "./build/bin/llama-server -m x.gguf -c 4096 -ctk q8_0"),
        (8, "GGML_CUDA_DISABLE_GRAPHS=1 ./build/bin/llama-server -m x.gguf"),
        (20, "llama-server -ngl 99 -fa off -ctv q8_0"),
    ]


def test_a_command_that_no_reader_should_copy_is_told_with_its_line() -> None:
    with pytest.raises(RefusedSettings, match="requires flash_attn to be enabled") as caught:
        refuse_commands(PAGE, dense(), Run("cuda", build="b10666"), file="site/page.md")
    assert caught.value.where == "site/page.md:20: -ctv"


def test_a_flag_that_the_engine_does_not_have_is_told_too() -> None:
    with pytest.raises(InputError, match="has no flag '--flash-attention'") as caught:
        refuse_commands("```bash\nllama-server --flash-attention on\n```\n", dense(), Run(), file="site/page.md")
    assert caught.value.where.startswith("site/page.md:2: ")
