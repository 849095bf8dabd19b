"""Kernels that earlier programs have: found by other sessions and by other processes, whatever is on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfnb.codegen.modules import KernelKey, KernelTable, Modules, text_of
from tfnb.codegen.opencl_c.emission import Generated, Geometry
from tfnb.codegen.program import DeviceFacts

FACTS = DeviceFacts()


def kernel(body: str) -> Generated:
    text = f"__kernel void KERNEL_NAME(\n    __global float *out_1)\n{{\n    out_1[0] = {body};\n}}"
    return Generated(text, (), (True,), (), (), (), Geometry(1, 1), parameters=("__global float *out_1",))


def places(table: KernelTable, *bodies: str, facts: DeviceFacts = FACTS) -> list[tuple[str, str]]:
    """The texts and names of the kernels of a new program."""
    modules = Modules(facts, table, apart=False)
    keys = [modules.kernel(kernel(body), f"node_{body}") for body in bodies]
    found = modules.places(set(keys))
    return [(found[key][0].source, found[key][1]) for key in keys]


def test_new_kernels_form_one_module_and_old_ones_stay_in_theirs() -> None:
    table = KernelTable()
    one, two = places(table, "1.0f", "2.0f")
    assert one[0] == two[0]
    again, three = places(table, "2.0f", "3.0f")
    assert again == two
    assert "2.0f" not in three[0]


def test_who_reads_a_text_sees_the_kernels_that_are_meant() -> None:
    one, two = places(KernelTable(), "1.0f", "2.0f")
    text = text_of(one[0], {two[1]})
    assert "2.0f" in text and "1.0f" not in text
    assert text.startswith('#include "lib/types.clh"')
    assert text_of(one[0], {one[1], two[1]}) == one[0]


def test_a_later_process_finds_them(tmp_path: Path) -> None:
    first = places(KernelTable(tmp_path), "1.0f", "2.0f")
    assert places(KernelTable(tmp_path), "2.0f") == first[1:]


def test_kernels_for_a_gpu_are_others(tmp_path: Path) -> None:
    for table in (KernelTable(), KernelTable(tmp_path)):
        (cpu,) = places(table, "1.0f")
        (gpu,) = places(table, "1.0f", facts=DeviceFacts("gpu"))
        assert "TFNB_GPU" in gpu[0]
        assert "TFNB_GPU" not in cpu[0]


@pytest.mark.parametrize("content", [b"", b"tfnb-binary-1\n" + b"x" * 80, b"[]"])
def test_a_damaged_file_is_no_kernel(tmp_path: Path, content: bytes) -> None:
    first = places(KernelTable(tmp_path), "1.0f")
    for file in tmp_path.iterdir():
        file.write_bytes(content)
    assert places(KernelTable(tmp_path), "1.0f") == first


@pytest.mark.parametrize("text", [b"\xff\n\xff", b"7", b"name", b"\n", b"name\n__kernel void other("])
def test_a_file_of_another_version_is_no_kernel(tmp_path: Path, text: bytes) -> None:
    from tfnb.disk_cache import DiskCache

    first = places(KernelTable(tmp_path), "1.0f")
    for file in list(tmp_path.iterdir()):
        DiskCache(tmp_path).put(file.stem, text)
    assert places(KernelTable(tmp_path), "1.0f") == first


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    table = KernelTable(tmp_path / "file" / "folder")
    assert places(table, "1.0f") == places(table, "1.0f")


def test_a_chain_names_the_kernels_of_its_parts() -> None:
    table = KernelTable()
    modules = Modules(FACTS, table, apart=False)
    keys = [modules.kernel(kernel(body), body) for body in ("1.0f", "2.0f", "1.0f")]
    chain = modules.chain(keys, [("__global float *out_1",)] * 3)
    found = modules.places({chain})
    assert list(found) == [chain]
    module, entry = found[chain]
    assert entry == "chain"
    assert [part.n_args for part in module.parts] == [1, 1, 1]
    assert module.parts[0] == module.parts[2] != module.parts[1]
    assert [(p.module.source, p.entry) for p in module.parts[:2]] == places(table, "1.0f", "2.0f")
    assert isinstance(chain, KernelKey)
