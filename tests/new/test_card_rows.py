"""Rows of tables as vendors and databases write them, and the values that a card's file has for them."""

from __future__ import annotations

import pytest

from generator.new.card_rows import facts_of_rows, is_label


@pytest.mark.parametrize(
    ("label", "text", "values"),
    [
        ("Memory Size", "12 GB", {"memory": "12 GiB"}),
        ("Standard Memory Config", "12 GB GDDR7", {"memory": "12 GiB", "memory_type": "GDDR7"}),
        ("Memory", "16GB", {"memory": "16 GiB"}),
        ("Memory Size", "12,288 MB", {"memory": "12288 MiB"}),
        ("Memory Type", "GDDR6X", {"memory_type": "GDDR6X"}),
        ("Memory Interface Width", "192-bit", {"memory_bus": "192 bit"}),
        ("Memory Bus", "192 bit", {"memory_bus": "192 bit"}),
        ("Memory Interface", "256-bit", {"memory_bus": "256 bit"}),
        ("Bandwidth", "360.0 GB/s", {"memory_bandwidth": "360 GB/s"}),
        ("Memory Bandwidth (GB/sec)", "1,008", {"memory_bandwidth": "1008 GB/s"}),
        ("Memory Bandwidth", "Up to 640 GB/s", {"memory_bandwidth": "640 GB/s"}),
        ("Bandwidth", "1.01 TB/s", {"memory_bandwidth": "1010 GB/s"}),
        ("Memory Clock", "1875 MHz 15 Gbps effective", {"memory_clock": "1875 MHz"}),
        ("Memory Speed", "20 Gbps", {"memory_speed": "20000 MT/s"}),
        ("Boost Clock (GHz)", "2.51", {"boost_clock": "2.51 GHz"}),
        ("Base Clock:", "2162 MHz", {"base_clock": "2162 MHz"}),
        ("NVIDIA CUDA® Cores", "6144", {"cuda_cores": "6144"}),
        ("NVIDIA CUDA Cores [1]", "21,760", {"cuda_cores": "21760"}),
        ("Total Graphics Power (W)", "250", {"board_power": "250 W"}),
        ("Typical Board Power (Desktop)", "304 W", {"board_power": "304 W"}),
        ("TDP", "170 W", {"board_power": "170 W"}),
        ("Required System Power (W) (5)", "650", {"system_power": "650 W"}),
        ("Suggested PSU", "450 W", {"system_power": "450 W"}),
        ("Bus Interface", "PCIe 4.0 x16", {"pcie_generation": "4", "pcie_lanes": "16"}),
        ("PCI Express Configurations ‡", "PCI Express 4.0 x8", {"pcie_generation": "4", "pcie_lanes": "8"}),
        ("PCI Express", "Gen 5", {"pcie_generation": "5"}),
        ("PCI Express Gen 5", "Yes", {"pcie_generation": "5"}),
        ("Max # of PCI Express Lanes", "8", {"pcie_lanes": "8"}),
        ("PCI Express Lanes", "8", {"pcie_lanes": "8"}),
        ("GPU Architecture", "Blackwell", {"architecture": "Blackwell"}),
        ("Graphics Processor", "GB205", {"chip": "GB205"}),
        ("CUDA", "8.6", {"compute_capability": '"8.6"'}),
        ("Release Date", "Jan 12th, 2021", {"released": "2021-01-12"}),
        ("Launch Date", "03/06/2025", {"released": "2025-03-06"}),
    ],
)
def test_a_row_is_read_as_what_it_is(label: str, text: str, values: dict[str, str]) -> None:
    assert {name: read.value for name, read in facts_of_rows([(label, text)]).items()} == values


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("Memory", "soldered"),
        ("Memory Bus", "wide"),
        ("Bandwidth", "as much as you like"),
        ("Boost Clock", "2.51"),
        ("TDP", "unknown"),
        ("CUDA Cores", "11.5 TFLOPS"),
        ("Release Date", "soon"),
        ("PCI Express Gen 5", "No"),
        ("Architecture", "{{ evil }}"),
        ("Graphics Processor", "<b>x</b>"),
        ("Bus Interface", "AGP"),
    ],
)
def test_what_cannot_be_read_is_left_out(label: str, text: str) -> None:
    assert facts_of_rows([(label, text)]) == {}


def test_a_converted_value_says_how_the_page_has_it() -> None:
    found = facts_of_rows([("Memory Size", "12 GB"), ("Memory Speed", "28 Gbps")])
    assert found["memory"].note == "the page says 12 GB; memory chips hold powers of two"
    assert found["memory_speed"].note == "the page says 28 Gbps"


def test_of_two_rows_that_say_the_same_thing_the_first_stands() -> None:
    assert facts_of_rows([("TDP", "170 W"), ("Board Power", "200 W")])["board_power"].value == "170 W"


@pytest.mark.parametrize("text", ["Memory Clock Speed Range", "Display bandwidth", "Maximum Digital Resolution", "16 GB", "", "Cores"])
def test_other_texts_are_no_labels(text: str) -> None:
    assert not is_label(text)
