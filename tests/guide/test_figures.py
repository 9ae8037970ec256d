"""Expected places are worked out by hand: a figure is 640 wide with margins of 24, so a bar spans 24 to 616, 592 in all."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.guide.figures import (
    Amount,
    Caption,
    Chosen,
    CrossoverFigure,
    CrossoverPoint,
    FigureError,
    HostBar,
    LadderFigure,
    Rung,
    Total,
    VramBar,
    crossover,
    ladder,
    vram_bar,
)
from generator.guide.figures.callouts import placed
from generator.guide.figures.palette import DARK, FILLS, LIGHT
from generator.guide.figures.text import clean, fitted, text_width, wrapped
from generator.guide.figures.ticks import byte_ticks, round_step

GIB = 2**30
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>alert(1)</script>&amp;\"'\x00\x1b\u202e\ud800<![CDATA["

INSTALLED = Amount("installed", 512 * GIB, "512 GiB")
CARD = VramBar(
    title="8.891 GiB of 10.0 GiB",
    subtitle="RTX 5070",
    parts=(
        Amount("weights", 8_768_055_808 - 286_064_640, "7.900 GiB"),
        Amount("input embedding", 286_064_640, "0.266 GiB"),
        Amount("KV cache", 713_031_680, "0.664 GiB"),
        Amount("recurrent state", 65_863_680, "62.8 MiB"),
    ),
    ceiling=Amount("ceiling", 10 * GIB, "10.0 GiB"),
    usable=Amount("usable", 11 * GIB, "11.0 GiB"),
    card=Amount("card", 12 * GIB, "12 GiB"),
    margin=Caption("slack", "1.109 GiB"),
    reserve=Caption("reserve", "1.0 GiB"),
    beyond=Caption("driver", "1.0 GiB"),
)
HOST = HostBar(
    "In host memory",
    parts=(Amount("offloaded experts", 12_608_077_824, "11.742 GiB"), Amount("input embedding", 286_064_640, "0.266 GiB")),
    caps=(Amount("prompt cache, at most", 2 * GIB, "2.0 GiB"),),
)


def bar(*gib: float) -> VramBar:
    """Give a bar of parts of so many GiB, named part 0 and up."""
    return replace(CARD, parts=tuple(Amount(f"part {index}", int(size * GIB), f"{size} GiB") for index, size in enumerate(gib)))


def rung(n_cpu_moe: int, n_ctx: str, *gib: float | None) -> Rung:
    return Rung(str(n_cpu_moe), n_ctx, tuple(None if size is None else Total(int(size * GIB), f"{size} GiB") for size in gib))


LADDER = LadderFigure(
    title="Which -ncmoe fits",
    subtitle="",
    ceiling=CARD.ceiling,
    series=("q8_0/q8_0", "q8_0/f16", "f16/f16"),
    rungs=(
        rung(20, "32,768", 11.219, None, None),
        rung(24, "65,536", 9.799, 10.092, 10.385),
        rung(25, "65,536", 9.378, 9.671, 9.964),
        rung(26, "65,536", 8.891, 9.184, 9.477),
        rung(30, "262,144", 9.132, 10.303, None),
    ),
    chosen=Chosen(3, 0, "this guide"),
)
ONE_RUNG = LadderFigure("One", "", CARD.ceiling, ("f16/f16",), (Rung("0", "8,192", (Total(10 * GIB, "10.0 GiB"),)),))
MANY_RUNGS = replace(
    LADDER, rungs=tuple(rung(n, "65,536", 20.3 - 0.45 * n, 20.6 - 0.45 * n, 20.9 - 0.45 * n) for n in range(41)), chosen=Chosen(25, 0, "x")
)
CROSSOVER = CrossoverFigure(
    title="Where the host becomes the bottleneck",
    subtitle="",
    points=tuple(
        CrossoverPoint(depth, f"{depth:,}", Fraction(ratio), ratio) for depth, ratio in ((0, "5.47"), (65536, "7.28"), (131072, "9.09"))
    ),
)
DENSE = replace(
    CROSSOVER, points=tuple(CrossoverPoint(n * 4096, f"{n * 4096:,}", 5 + Fraction(n, 10), f"{5 + n / 10:.2f}") for n in range(33))
)

VRAM_BARS = {
    "the guide's": CARD,
    "with host memory": replace(CARD, host=HOST),
    "empty": bar(),
    "a part of nothing": bar(3, 0, 2),
    "one part takes all": bar(12),
    "one part takes the ceiling": bar(10),
    "over the ceiling": bar(10.8, 0.3, 0.06),
    "over the card": bar(30.1, 10, 1.1),
    "crumbs first": bar(0.1, 0.05, 0.05, 0.02, 0.3),
    "many crumbs": bar(*[0.01] * 25),
    "many halves": bar(*[0.5] * 18),
    "a far larger host": replace(CARD, host=HostBar("Host", (Amount("experts", 300 * GIB, "300 GiB"),), memory=INSTALLED)),
    "an empty host": replace(CARD, host=HostBar("Host", ())),
    "no reserve": replace(CARD, ceiling=Amount("ceiling", 12 * GIB, "12 GiB"), usable=Amount("usable", 12 * GIB, "12 GiB")),
    "no ceiling": replace(CARD, ceiling=Amount("ceiling", 0, "0 B")),
    "long labels": replace(bar(), parts=tuple(Amount(f"{index} long label" * 9, GIB, "1.000 GiB") for index in range(5))),
}
ALL = {
    **{f"vram bar, {name}": vram_bar(figure) for name, figure in VRAM_BARS.items()},
    "ladder": ladder(LADDER),
    "ladder of one rung": ladder(ONE_RUNG),
    "ladder of 41 rungs": ladder(MANY_RUNGS),
    "ladder all above": ladder(replace(LADDER, ceiling=Amount("ceiling", GIB, "1.0 GiB"))),
    "ladder all below": ladder(replace(LADDER, ceiling=Amount("ceiling", 99 * GIB, "99.0 GiB"))),
    "ladder of nothing": ladder(replace(ONE_RUNG, ceiling=Amount("c", 0, "0"), rungs=(Rung("0", "1", (Total(0, "0 B"),)),))),
    "crossover": crossover(CROSSOVER),
    "crossover of many depths": crossover(DENSE),
    "crossover falling": crossover(
        replace(CROSSOVER, points=(CrossoverPoint(1, "1", Fraction(9), "9"), CrossoverPoint(2, "2", Fraction(1, 9), "1")))
    ),
}


class Box(NamedTuple):
    text: str
    left: float
    right: float
    top: float
    bottom: float


def root(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def attribute(element: ET.Element, name: str) -> float:
    return float(element.attrib[name])


def elements(svg: str, tag: str, **attributes: str) -> list[ET.Element]:
    wanted = {key.rstrip("_"): value for key, value in attributes.items()}
    return [found for found in root(svg).iter(SVG + tag) if all(found.get(key) == value for key, value in wanted.items())]


def drawn(svg: str, tag: str, **attributes: str) -> list[ET.Element]:
    """Give the elements on the sheet, without those of the patterns."""
    wanted = {key.rstrip("_"): value for key, value in attributes.items()}
    return [found for found in root(svg).findall(SVG + tag) if all(found.get(key) == value for key, value in wanted.items())]


def words(element: ET.Element) -> str:
    return "".join(element.itertext())


def text_box(element: ET.Element) -> Box:
    """Give the estimated box of a text, from the height of its capitals to its descenders."""
    x, y, size = attribute(element, "x"), attribute(element, "y"), float(element.get("font-size", "20"))
    bold = "b" in element.attrib["class"].split()
    parts = [text_width(element.text or "", size, bold=bold), *(text_width(words(span), size, bold=True) for span in element)]
    width = sum(parts) + (0.34 * size if len(parts) > 1 else 0)
    left = {"start": x, "middle": x - width / 2, "end": x - width}[element.get("text-anchor", "start")]
    return Box(words(element), left, left + width, y - 0.75 * size, y + 0.22 * size)


def text_boxes(svg: str) -> list[Box]:
    return [text_box(element) for element in elements(svg, "text")]


def overlap(one: Box, other: Box) -> bool:
    return one.left < other.right and other.left < one.right and one.top < other.bottom and other.top < one.bottom


def texts(svg: str) -> list[str]:
    return [words(element) for element in elements(svg, "text")]


def bar_rectangles(svg: str) -> list[tuple[float, float]]:
    """Give `(start, end)` of each stretch of the bars, 72 high, in drawing order, without outlines."""
    return [
        (attribute(found, "x"), attribute(found, "x") + attribute(found, "width"))
        for found in drawn(svg, "rect", height="72")
        if not found.get("class", "").startswith("s-")
    ]


def assert_legible(svg: str) -> None:
    """Check that every text is on the panel and on no other text or leader, by estimate."""
    width, height = (float(part) for part in root(svg).attrib["viewBox"].split()[2:])
    boxes = text_boxes(svg)
    outside = [box for box in boxes if box.left < 2 or box.right > width - 2 or box.top < 2 or box.bottom > height - 2]
    assert not outside
    assert not [(one.text, other.text) for one, other in combinations(boxes, 2) if overlap(one, other)]
    leaders = [Box("", x - 1, x + 1, min(ends), max(ends)) for x, ends in upright_leaders(svg)]
    assert not [(box.text, leader) for box, leader in product(boxes, leaders) if overlap(box, leader)]


def upright_leaders(svg: str) -> list[tuple[float, tuple[float, float]]]:
    """Give the upright part of each leader: its x, and the y of both ends."""
    routes = [re.fullmatch(r"M\S+ \S+L(\S+) (\S+)V(\S+)", found.attrib["d"]) for found in drawn(svg, "path")]
    return [(float(route[1]), (float(route[2]), float(route[3]))) for route in routes if route]


# --- every figure --------------------------------------------------------------------------------


@pytest.mark.parametrize("svg", ALL.values(), ids=ALL)
def test_every_label_is_on_the_panel_and_clear_of_the_others(svg: str) -> None:
    assert_legible(svg)


@pytest.mark.parametrize("svg", ALL.values(), ids=ALL)
def test_a_figure_names_and_describes_itself(svg: str) -> None:
    top = root(svg)
    assert top.tag == SVG + "svg"
    assert top.attrib["role"] == "img"
    ids = top.attrib["aria-labelledby"].split()
    assert [found.tag for name in ids for found in top.iter() if found.get("id") == name] == [SVG + "title", SVG + "desc"]


@pytest.mark.parametrize("svg", ALL.values(), ids=ALL)
def test_a_figure_refers_only_to_itself(svg: str) -> None:
    assert svg.count("http") == 1
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg" ')
    assert not {found.tag for found in root(svg).iter()} & {SVG + name for name in ("script", "image", "use", "a", "foreignObject")}
    name = root(svg).attrib["id"]
    ids = [found.attrib["id"] for found in root(svg).iter() if "id" in found.attrib]
    assert len(ids) == len(set(ids))
    assert all(one == name or one.startswith(f"{name}-") for one in ids)
    assert set(re.findall(r"url\(#([^)]*)\)", svg)) <= set(ids)


@pytest.mark.parametrize("svg", ALL.values(), ids=ALL)
def test_text_is_above_ten_pixels_at_a_phones_width(svg: str) -> None:
    phone = 328 / float(root(svg).attrib["viewBox"].split()[2])
    assert min(attribute(found, "font-size") for found in root(svg).iter() if "font-size" in found.attrib) * phone > 10
    assert "font-size" in root(svg).attrib


@pytest.mark.parametrize("svg", ALL.values(), ids=ALL)
def test_every_class_and_variable_used_is_styled(svg: str) -> None:
    sheet = words(elements(svg, "style")[0])
    used = {name for found in root(svg).iter() for name in found.get("class", "").split()}
    assert used <= set(re.findall(r"\.([a-z0-9-]+)\{", sheet))
    light, dark = sheet.split("@media screen and (prefers-color-scheme:dark)")
    declared = [set(re.findall(r"--(\w+):#[0-9a-f]{6}", scheme)) for scheme in (light, dark)]
    assert declared[0] == declared[1] == set(re.findall(r"var\(--(\w+)\)", sheet)) | {"edge", "rule"}


def test_the_same_figure_gives_the_same_bytes() -> None:
    again = [vram_bar(replace(CARD, host=HOST)), ladder(replace(LADDER)), crossover(replace(CROSSOVER))]
    assert again == [ALL["vram bar, with host memory"], ALL["ladder"], ALL["crossover"]]


def test_hostile_text_stays_text() -> None:
    dirty = Amount(HOSTILE, GIB, HOSTILE)
    word = Caption(HOSTILE, HOSTILE)
    host = HostBar(HOSTILE, (dirty,), (dirty,), dirty)
    figures = [
        vram_bar(VramBar(HOSTILE, HOSTILE, (dirty,) * 3, dirty, dirty, dirty, word, word, word, host)),
        ladder(
            LadderFigure(
                HOSTILE,
                HOSTILE,
                dirty,
                (HOSTILE,),
                (Rung(HOSTILE, HOSTILE, (Total(GIB + 1, HOSTILE),)),),
                Chosen(0, 0, HOSTILE),
                HOSTILE,
                (HOSTILE, HOSTILE),
            )
        ),
        crossover(
            CrossoverFigure(
                HOSTILE,
                HOSTILE,
                tuple(CrossoverPoint(n, HOSTILE, Fraction(n + 1), HOSTILE) for n in range(3)),
                HOSTILE,
                HOSTILE,
            )
        ),
    ]
    for svg in figures:
        svg.encode()
        assert "<script" not in svg
        assert not list(root(svg).iter(SVG + "script"))
        assert words(elements(svg, "title")[0]) == "</text><script>alert(1)</script>&amp;\"'\ufffd\ufffd\ufffd\ufffd<![CDATA["
        assert_legible(svg)


@pytest.mark.parametrize("name", ["", "9lives", "Upper", "a b", 'x"><script>', "x\n"])
def test_a_name_that_is_no_id_is_refused(name: str) -> None:
    with pytest.raises(FigureError, match="cannot be a figure's name"):
        vram_bar(replace(CARD, name=name))


# --- the palette ---------------------------------------------------------------------------------


def contrast(one: str, other: str) -> float:
    """Give the contrast ratio of WCAG 2.2 of two colours `#rrggbb`."""

    def luminance(colour: str) -> float:
        channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_formula_agrees_with_known_ratios() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the known near miss of AA


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_contrasts_with_all_it_is_written_on(scheme: dict[str, str]) -> None:
    pairs = [("ink", ground) for ground in ("panel", "band", "past", "above", "below")]
    pairs += [("muted", "panel"), ("refuse", "panel"), ("panel", "muted"), *(("panel", f"fill{index}") for index in range(FILLS))]
    assert {pair: contrast(scheme[pair[0]], scheme[pair[1]]) for pair in pairs if contrast(scheme[pair[0]], scheme[pair[1]]) < 4.5} == {}


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_marks_contrast_with_all_they_are_drawn_on(scheme: dict[str, str]) -> None:
    marks = ["ink", "muted", "refuse", *(f"fill{index}" for index in range(FILLS))]
    low = {
        (mark, ground): contrast(scheme[mark], scheme[ground])
        for mark, ground in product(marks, ("panel", "band", "past", "above", "below"))
        if contrast(scheme[mark], scheme[ground]) < 3
    }
    assert low == {}


def test_no_two_fills_share_a_texture() -> None:
    patterns = {found.attrib["id"]: found for found in elements(ALL["ladder"], "pattern")}
    looks = {
        (found.get("patternTransform"), found.attrib["width"], *(tuple(sorted(cut.attrib.items())) for cut in found[1]))
        for name, found in patterns.items()
        if "fill" in name
    }
    assert len(looks) == FILLS - 1  # the first fill has none


# --- the memory bar ------------------------------------------------------------------------------


def test_lengths_on_the_bar_are_proportional_to_bytes() -> None:
    # 12 GiB on 592 units: a GiB is 49.333. Parts of 6, 1.5 and 0.75 GiB, then free, reserve, beyond.
    spans = bar_rectangles(vram_bar(bar(6, 1.5, 0.75)))
    expected = [(24, 320), (320, 394), (394, 431), (431, 517.33), (517.33, 566.67), (566.67, 616)]
    assert spans == [pytest.approx(span, abs=0.02) for span in expected]


def test_marks_stand_at_their_bytes() -> None:
    svg = vram_bar(bar(6))
    top, bottom = 0.0, 0.0
    for found in drawn(svg, "rect", height="72"):
        top, bottom = attribute(found, "y"), attribute(found, "y") + 72
    through = [attribute(found, "x1") for found in drawn(svg, "line") if attribute(found, "y1") <= top and attribute(found, "y2") >= bottom]
    assert through == pytest.approx([517.33, 566.67, 616], abs=0.01)


def test_a_part_with_room_is_labelled_inside_and_a_small_one_by_a_leader() -> None:
    svg = ALL["vram bar, the guide's"]
    (big_start, big_end), (_, small_start), *_ = bar_rectangles(svg)
    box = next(box for box in text_boxes(svg) if box.text == "weights")
    assert big_start < box.left
    assert box.right < big_end <= small_start
    routes = [found.attrib["d"] for found in drawn(svg, "path")]
    # embedding: from 8481991168 B for 286064640 B, its middle at 24 + 592 * 8625023488 / 12884901888 = 420.28
    assert any(route.startswith("M420.28 ") for route in routes)
    assert "input embedding 0.266 GiB" in texts(svg)


def test_a_total_at_the_ceiling_fits_and_one_byte_more_is_hatched_as_too_much() -> None:
    refused = "url(#vram-bar-refuse)"
    at = bar(10)
    past = replace(at, parts=(Amount("part", 10 * GIB + 1, "10.0 GiB"),))
    assert not drawn(vram_bar(at), "rect", fill=refused, height="72")
    assert len(drawn(vram_bar(past), "rect", fill=refused, height="72")) == 1


def test_what_passes_the_card_stretches_the_scale() -> None:
    # 24 GiB on 592 units: the ceiling at 24 + 592 * 10/24, the card at half.
    svg = vram_bar(bar(24))
    (over,) = drawn(svg, "rect", fill="url(#vram-bar-refuse)", height="72")
    assert attribute(over, "x") == pytest.approx(270.67, abs=0.01)
    assert attribute(over, "x") + attribute(over, "width") == pytest.approx(616, abs=0.02)
    assert "reserve 1.0 GiB" not in texts(svg)
    assert any("refuse" in found.attrib["class"] and words(found) == "slack" for found in elements(svg, "text"))


def test_the_host_bar_shares_the_cards_scale_until_one_is_twice_the_other() -> None:
    def spans(host: int) -> list[tuple[float, float]]:
        return bar_rectangles(vram_bar(replace(bar(6), host=HostBar("Host", (Amount("experts", host * GIB, ""),)))))

    assert spans(24)[0] == pytest.approx((24, 172))  # 6 of 24 GiB
    assert spans(24)[-1] == pytest.approx((24, 616))
    assert spans(25)[0] == pytest.approx((24, 320))  # 6 of 12 GiB
    assert spans(25)[-1] == pytest.approx((24, 616))
    assert spans(6)[-1] == pytest.approx((24, 320))
    assert spans(5)[-1] == pytest.approx((24, 616))


def test_another_scale_is_said() -> None:
    assert "another scale" in texts(ALL["vram bar, a far larger host"])
    assert "another scale" not in texts(ALL["vram bar, with host memory"])


def test_the_same_thing_has_the_same_fill_on_both_bars() -> None:
    svg = vram_bar(replace(CARD, host=replace(HOST, parts=HOST.parts[1:])))
    assert len(drawn(svg, "rect", fill="url(#vram-bar-fill1)", height="72")) == 2  # the input embedding, second and first


def test_leaders_of_crumbs_stand_wider_apart_than_their_swatches() -> None:
    leaders = sorted(x for x, (start, end) in upright_leaders(ALL["vram bar, crumbs first"]) if end > start)
    assert len(leaders) == 5 + 2  # the parts, the reserve and what is beyond; what is free is labelled inside
    assert min(right - left for left, right in pairwise(leaders)) > 16


def test_labels_too_long_for_leaders_are_listed_whole() -> None:
    names = [f"a rather long label, the {index}th" for index in range(5)]
    svg = vram_bar(replace(CARD, parts=tuple(Amount(name, 2 * GIB, "2.000 GiB") for name in names)))
    assert {f"{name} 2.000 GiB" for name in names} <= set(texts(svg))
    assert not [x for x, (start, end) in upright_leaders(svg) if end > start]


def test_the_description_says_what_the_bars_show() -> None:
    assert words(elements(ALL["vram bar, with host memory"], "desc")[0]) == (
        "On the card: weights 7.900 GiB, input embedding 0.266 GiB, KV cache 0.664 GiB, recurrent state 62.8 MiB. "
        "ceiling 10.0 GiB, usable 11.0 GiB, card 12 GiB. slack 1.109 GiB. "
        "In host memory: offloaded experts 11.742 GiB, input embedding 0.266 GiB, prompt cache, at most 2.0 GiB."
    )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Amount("less than nothing", -1, ""),
        lambda: replace(CARD, usable=Amount("usable", 13 * GIB, "")),
        lambda: replace(CARD, ceiling=Amount("", 0, ""), usable=Amount("", 0, ""), card=Amount("", 0, "")),
    ],
)
def test_a_bar_that_cannot_be_drawn_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(FigureError):
        wrong()


labels = st.text(max_size=40)
sizes = st.one_of(st.integers(0, 2**36), st.integers(0, 2**26))
amounts = st.builds(Amount, labels, sizes, labels)


@given(st.lists(amounts, max_size=9), st.lists(sizes, min_size=3, max_size=3).map(sorted), st.lists(amounts, max_size=4))
def test_whatever_lies_in_memory_the_labels_are_legible(parts: list[Amount], places: list[int], host: list[Amount]) -> None:
    ceiling, usable, card = places
    figure = replace(
        CARD,
        parts=tuple(parts),
        ceiling=Amount("ceiling", ceiling, "10.0 GiB"),
        usable=Amount("usable", usable, "11.0 GiB"),
        card=Amount("card", card + 1, "12 GiB"),
        host=HostBar("Host", tuple(host), (Amount("cache", 2 * GIB, "2.0 GiB"),)),
    )
    assert_legible(vram_bar(figure))


@pytest.mark.parametrize(("place", "anchor"), [(100, "start"), (200, "start"), (250, None), (400, None), (440, "end"), (600, "end")])
def test_a_label_stands_on_the_side_of_its_leader_that_holds_it(place: float, anchor: str | None) -> None:
    caption = Caption("n" * 24, "0" * 5)  # 24 * 0.64 + 0.34 + 5 * 0.64 * 1.13 = 19.316 em, 386 wide, from 14 beside the leader
    (spot,) = placed([place], [caption])
    assert (spot.anchor if spot.tied else None) == anchor


# --- the ladder ----------------------------------------------------------------------------------


def centres(svg: str, role: str) -> list[tuple[float, float]]:
    """Give the centre of every mark of a role: each is drawn from an absolute move to it. The key's come first."""
    moves = (re.findall(r"M(\S+) ([0-9.]+)", found.attrib["d"]) for found in drawn(svg, "path", class_=role))
    return [(float(x), float(y)) for path in moves for x, y in path]


def test_totals_stand_in_proportion_to_their_distance_from_the_ceiling() -> None:
    svg = ladder(replace(ONE_RUNG, rungs=(rung(0, "1", 8), rung(1, "1", 9), rung(2, "1", 12))))
    _, (eight, _), (nine, _) = centres(svg, "fill0")
    ((twelve, _),) = centres(svg, "s-fill0")
    ceiling = attribute(drawn(svg, "line", class_="s-ink")[-1], "x1")
    assert (ceiling - eight) / (ceiling - nine) == pytest.approx(2, abs=0.001)
    assert (twelve - eight) / (ceiling - eight) == pytest.approx(2, abs=0.001)


def test_totals_above_the_ceiling_are_hollow_and_crossed_out() -> None:
    svg = ALL["ladder"]
    # above 10 GiB by series: 11.219; 10.092 and 10.303; 10.385
    hollow = [centres(svg, f"s-fill{series}") for series in range(3)]
    assert [len(found) for found in hollow] == [1, 2, 1]
    _in_key, *crosses = centres(svg, "s-refuse")
    assert sorted(crosses) == sorted(spot for found in hollow for spot in found)


def test_a_total_at_the_ceiling_is_not_refused_and_one_byte_more_is() -> None:
    assert centres(ALL["ladder of one rung"], "s-refuse") == centres(ALL["ladder of one rung"], "s-fill0") == []
    past = replace(ONE_RUNG, rungs=(Rung("0", "8,192", (Total(10 * GIB + 1, "10.0 GiB"),)),))
    assert len(centres(ladder(past), "s-refuse")) == 1 + 1


def test_the_chosen_total_is_ringed_and_labelled_in_a_band() -> None:
    svg = ALL["ladder"]
    (ring,) = drawn(svg, "circle", class_="s-ink")
    # of the first series 9.799, 9.378, 8.891 and 9.132 fit: the least is the chosen one
    assert (attribute(ring, "cx"), attribute(ring, "cy")) == min(centres(svg, "fill0")[1:])
    (band,) = drawn(svg, "rect", class_="band")
    label = next(box for box in text_boxes(svg) if box.text == "this guide 8.891 GiB")
    row = next(box for box in text_boxes(svg) if box.text == "26")
    for box in (label, row):
        assert attribute(band, "y") < box.top
        assert box.bottom < attribute(band, "y") + attribute(band, "height")


def test_only_the_chosen_row_is_in_bold_and_the_next_starts_below_its_band() -> None:
    svg = ALL["ladder"]
    assert [words(found) for found in elements(svg, "text", class_="ink b")] == ["Which -ncmoe fits", "26", "65,536"]
    (band,) = drawn(svg, "rect", class_="band")
    bottom = attribute(band, "y") + attribute(band, "height")
    assert next(box for box in text_boxes(svg) if box.text == "262,144").top > bottom
    _, in_next_row = centres(svg, "s-fill1")
    assert in_next_row[1] > bottom


def test_a_ladder_without_a_choice_has_no_band() -> None:
    svg = ALL["ladder of one rung"]
    assert not drawn(svg, "rect", class_="band")
    assert not drawn(svg, "circle", class_="s-ink")


def test_every_rung_is_a_row_in_the_order_given() -> None:
    rows = [box for box in text_boxes(ALL["ladder of 41 rungs"]) if box.text.isdigit()]
    assert [box.text for box in rows] == [str(n) for n in range(41)]
    assert [box.top for box in rows] == sorted(box.top for box in rows)


def test_the_ladders_description_names_each_total_and_what_is_refused() -> None:
    description = words(elements(ALL["ladder"], "desc")[0])
    assert "-ncmoe 24 -c 65,536: q8_0/q8_0 9.799 GiB, q8_0/f16 10.092 GiB (above the ceiling)" in description


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"rungs": ()}, "at least one rung"),
        ({"series": ("q8_0/q8_0",)}, "one total for each series"),
        ({"rungs": (Rung("0", "1", (None, None, None)),), "chosen": None}, "no rung has a total"),
        ({"chosen": Chosen(0, 2, "")}, "chosen rung has no total"),
    ],
)
def test_a_ladder_that_cannot_be_drawn_is_refused(change: dict[str, object], problem: str) -> None:
    with pytest.raises(FigureError, match=problem):
        replace(LADDER, **change)  # type: ignore[arg-type]


# --- the crossover -------------------------------------------------------------------------------


def test_points_stand_in_proportion_to_depth_and_ratio() -> None:
    svg = ALL["crossover"]
    points = [(attribute(found, "cx"), attribute(found, "cy")) for found in drawn(svg, "circle", class_="ink")]
    (left, low), (middle, between), (right, high) = points
    assert middle - left == pytest.approx(right - middle, abs=0.02)  # 0, 65536, 131072
    assert (low - between) / (low - high) == pytest.approx((7.28 - 5.47) / (9.09 - 5.47), abs=0.001)
    zero = next(box for box in text_boxes(svg) if box.text == "0")
    baseline = zero.bottom - 0.22 * 20 - 7  # the tick's text stands 7 below its line
    assert (baseline - low) / (baseline - high) == pytest.approx(5.47 / 9.09, abs=0.001)


def test_every_point_is_numbered_with_the_text_it_came_with() -> None:
    assert {"5.47", "7.28", "9.09", "65,536", "131,072"} <= set(texts(ALL["crossover"]))


def test_host_bound_is_above_the_line_and_card_bound_below() -> None:
    # more card bandwidth than the threshold: the card half is done first, the host half takes longer
    svg = ALL["crossover"]
    heights = [attribute(found, "cy") for found in drawn(svg, "circle", class_="ink")]
    above, below = (next(box for box in text_boxes(svg) if box.text == name) for name in ("host-bound", "card-bound"))
    assert above.bottom < min(heights)
    assert below.top > max(heights)


def test_crowded_depths_keep_the_outer_numbers() -> None:
    shown = texts(ALL["crossover of many depths"])
    assert {"5.00", "8.20", "131,072"} <= set(shown)
    assert len(drawn(ALL["crossover of many depths"], "circle", class_="ink")) == 33


@pytest.mark.parametrize(
    "points",
    [
        (),
        ((0, 5),),
        ((0, 5), (0, 6)),
        ((2, 5), (1, 6)),
        ((-1, 5), (1, 6)),
        ((0, 0), (1, 6)),
    ],
)
def test_a_crossover_that_cannot_be_drawn_is_refused(points: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(FigureError):
        replace(CROSSOVER, points=tuple(CrossoverPoint(depth, str(depth), Fraction(ratio), "") for depth, ratio in points))


@given(st.dictionaries(st.integers(0, 9999), st.fractions(Fraction(1, 100), 1000), min_size=2, max_size=12))
def test_whatever_the_ratios_the_numbers_are_legible(ratios: dict[int, Fraction]) -> None:
    points = tuple(CrossoverPoint(depth, f"{depth:,}", ratio, f"{float(ratio):.2f}") for depth, ratio in sorted(ratios.items()))
    svg = crossover(replace(CROSSOVER, points=points))
    numbers = [box for box in text_boxes(svg) if "bound" not in box.text and "half" not in box.text]
    assert not [(one.text, other.text) for one, other in combinations(numbers, 2) if overlap(one, other)]


# --- ticks and text ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span", "most", "step"),
    [(10, 5, "2"), (11, 5, "5"), (3, 8, "1/2"), (1, 10, "1/10"), (12, 7, "2"), (700, 6, "200"), (51, 5, "20"), (99, 1, "100")],
)
def test_a_step_is_a_round_number(span: int, most: int, step: str) -> None:
    assert round_step(Fraction(span), most) == Fraction(step)


def test_byte_ticks_are_multiples_of_a_round_step_and_name_their_unit() -> None:
    assert byte_ticks(Fraction(8 * GIB), Fraction(12 * GIB), 500) == [(Fraction(n * GIB), f"{n} GiB") for n in range(8, 13)]
    assert [text for _, text in byte_ticks(Fraction(0), Fraction(GIB), 300)] == ["0 GiB", "0.5 GiB", "1 GiB"]
    assert byte_ticks(Fraction(0), Fraction(600 * 2**20), 400)[-1] == (Fraction(600 * 2**20), "600 MiB")


def test_fewer_ticks_are_set_where_their_text_has_no_room() -> None:
    low, high = Fraction(8 * GIB), Fraction(12 * GIB)
    assert [text for _, text in byte_ticks(low, high, 250)] == ["8 GiB", "10 GiB", "12 GiB"]


@pytest.mark.parametrize(
    ("label", "dejavu", "liberation"),
    # advance widths in em, read from the fonts' own tables
    [("Input embedding 0.266 GiB", 13.800, 12.175)],
)
def test_the_estimated_width_is_a_little_above_the_widest_usual_font(label: str, dejavu: float, liberation: float) -> None:
    assert liberation < dejavu <= text_width(label, 1) <= dejavu * 1.05


def test_wide_scripts_and_emoji_are_estimated_wide() -> None:
    assert text_width("重み", 20) >= 40
    assert text_width("🚀", 20) >= 25


def test_text_that_is_too_wide_is_cut_with_an_ellipsis() -> None:
    cut = fitted("a rather long label", 20, 100)
    assert cut.endswith("…")
    assert "a rather long label".startswith(cut[:-1])
    assert 80 < text_width(cut, 20) <= 100
    assert fitted("short", 20, 100) == "short"
    assert fitted("short", 20, 5) == ""


def test_text_breaks_at_spaces_and_its_last_line_is_cut() -> None:
    assert wrapped("one two three", 20, 90, lines=3) == ["one two", "three"]
    rows = wrapped("one two three four five six seven", 20, 90, lines=2)
    assert rows[0] == "one two"
    assert rows[1].startswith("three")
    assert rows[1].endswith("…")
    assert wrapped("", 20, 90, lines=2) == []


def test_control_and_reordering_characters_are_replaced() -> None:
    assert clean("a\tb\n c") == "a b c"
    assert clean("a\u202eb\u2066c\x07d\ufffe") == "a\ufffdb\ufffdc\ufffdd\ufffd"
