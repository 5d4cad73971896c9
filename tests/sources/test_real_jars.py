"""Jars that nobody here wrote, and their sources."""

from __future__ import annotations

import shutil
import zipfile
from typing import TYPE_CHECKING

import pytest

import compiler
import jars
import jvms
import jvmti
from jvmti.classfile import ClassFile
from jvmti.sources import Disassembly, SourceFinder, SourceMap, SourceNotFound
from jvmti.sources.disassembly import disassembled, line_in_first
from jvmti.sources.repositories import Repositories
from jvmti.text import modified_utf8

if TYPE_CHECKING:
    from pathlib import Path

    from programs import JavaPrograms


@pytest.mark.newest
@pytest.mark.slow
def test_each_line_of_kotlins_library_is_one_of_its_sources() -> None:
    jar, sources = jars.with_sources(jars.KOTLIN)
    finder = SourceFinder([sources], repositories=Repositories([]))
    lengths: dict[tuple[str, str], int] = {}
    maps = lines = inlined = 0
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if not name.endswith(".class") or not name.startswith("kotlin/"):
                continue
            file = ClassFile(archive.read(name))
            extension = file.attributes.get("SourceDebugExtension")
            if extension is None:
                continue
            maps += 1
            found = SourceMap(modified_utf8.decode(extension))
            numbers = {
                number
                for method in file.methods
                if method.code is not None
                for _, number in method.code.lines
            }
            for number in numbers:
                original = found.original(number)
                if original is None:
                    continue
                lines += 1
                inlined += original.line != number
                package = (original.path or "").rpartition("/")[0].replace("/", ".")
                key = package, original.file
                if key not in lengths:
                    try:
                        source = finder.find_file(package, [original.file], name)
                        lengths[key] = len(source.lines)
                    except SourceNotFound:
                        lengths[key] = 0
                if lengths[key]:
                    assert 1 <= original.line <= lengths[key], (name, number, original)
    assert maps > 100
    assert lines > 10_000
    assert inlined > 1_000
    missing = [key for key, length in lengths.items() if not length]
    # Some files are made by the library's own build.
    assert len(missing) < len(lengths) / 10, missing


@pytest.mark.newest
@pytest.mark.slow
def test_a_databases_sources_are_found_beside_its_jar(
    java_program: JavaPrograms, tmp_path: Path
) -> None:
    jar, sources = jars.with_sources(jars.DATABASE)
    place = tmp_path / "h2-2.2.224.jar"
    shutil.copy(jar, place)
    path = f"{place}:{compiler.classes('Querying')}"
    command = [
        *jvms.QUICK,
        "-Xmx1g",
        "-cp",
        path,
        "Querying",
        "jdbc:h2:mem:orders",
        "2",
        "4",
        "hold",
    ]
    program = java_program.start(command)
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        # Maven has put its sources into its repository, where they would be found.
        vm.source_path.repositories = Repositories([])
        engine = vm.find_class("org.h2.engine.Engine")
        assert vm.source_path.loaded_from(engine) == str(place)
        found = vm.source_path.of(engine)
        assert isinstance(found, Disassembly)
        assert found.lines[0].startswith("// disassembled: no source of org.h2.engine.Engine")
        with pytest.raises(SourceNotFound, match="no source of org.h2.engine.Engine"):
            engine.source  # noqa: B018
        # Now the jar with the sources is there, as Maven leaves it.
        shutil.copy(sources, tmp_path / "h2-2.2.224-sources.jar")
        vm.source_path.forget()
        found = engine.source
        assert found.path == f"{tmp_path}/h2-2.2.224-sources.jar!org/h2/engine/Engine.java"
        assert found.lines[0].startswith("/*")
        for one in engine.methods:
            for entry in one.lines:
                marked = vm.source_path.of_location(one, entry.start_location, entry.line_number)
                assert marked.marked == entry.line_number
                assert marked.file is None
                assert marked.line(entry.line_number).strip()


@pytest.mark.newest
def test_a_disassembly_has_each_instruction_and_each_line_of_the_source() -> None:
    for path in sorted(compiler.classes("Containers").glob("*.class")):
        file = ClassFile(path.read_bytes())
        found = disassembled(file)
        for method in file.methods:
            if method.code is None:
                continue
            for instruction in method.code.instructions:
                number = found.number_of(method.name, method.descriptor, instruction.location)
                assert number is not None
                assert found.line(number).split(":")[0].strip() == str(instruction.location)
                first = found.first_code(number)
                assert first is not None
                assert (first.method, first.location) == (method.name, instruction.location)
            for location, line in method.code.lines:
                number = found.number_of(method.name, method.descriptor, location)
                assert number is not None
                assert found.line(number - 1) == f"       // line {line}"
            assert found.number_of(method.name, "(none)", 0) is None


@pytest.mark.newest
def test_lines_of_a_first_method_are_known_before_its_text() -> None:
    for path in sorted(compiler.classes("Containers").glob("*.class")):
        file = ClassFile(path.read_bytes())
        whole = sorted(disassembled(file).lines)
        for method in file.methods:
            code = method.code
            if code is None:
                continue
            at = method.name, method.descriptor
            found = disassembled(file, at)
            assert sorted(filter(None, found.lines)) == list(filter(None, whole))
            for one in code.instructions:
                number = line_in_first(file.source_file, code.bytecodes, code.lines, one.location)
                assert number == found.number_of(*at, one.location)
