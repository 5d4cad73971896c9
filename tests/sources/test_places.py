"""Files are found in directories and archives, and never outside of them."""

from __future__ import annotations

import os
import zipfile
from typing import TYPE_CHECKING

import pytest

from jvmti.sources.finder import SourceFinder
from jvmti.sources.places import MOST_BYTES, Places
from jvmti.sources.repositories import Repositories
from jvmti.sources.source import SourceNotFound, package_of

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "package"),
    [
        ("package com.acme;\nclass A {}", "com.acme"),
        ("/* © */ // here\n@Deprecated package com.acme ;", "com.acme"),
        ('@file:JvmName("Orders")\n\npackage com.`in`.acme\n', "com.in.acme"),
        ("package com.acme\npackage orders\n\nimport x.y", "com.acme.orders"),
        ("package object orders {", ""),
        ("import java.util.List;\n// package com.acme;\nclass A {}", ""),
        ("", ""),
        ("/* without an end", None),
    ],
)
def test_a_package_clause_is_read_where_comments_and_annotations_stand_before_it(
    text: str, package: str | None
) -> None:
    assert package_of(text) == package


def test_a_file_is_found_at_any_depth_of_a_directory(tmp_path: Path) -> None:
    places = Places()
    deep = write(
        tmp_path / "server" / "src" / "main" / "java" / "com" / "acme" / "A.java",
        "package com.acme;",
    )
    found = places.find(tmp_path, "com.acme", "A.java")
    assert found is not None
    assert (found.path, found.file, found.lines) == (str(deep), deep, ["package com.acme;"])
    assert places.find(tmp_path, "acme", "A.java") is None
    assert places.find(tmp_path, "com", "A.java") is None
    # The place itself comes before what is below.
    direct = write(tmp_path / "com" / "acme" / "A.java", "0")
    found = places.find(tmp_path, "com.acme", "A.java")
    assert found is not None
    assert found.file == direct


def test_a_file_counts_by_its_package_clause_where_folders_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / "src" / "Prices.kt", "package com.acme.other\n")
    wanted = write(tmp_path / "src" / "orders" / "Prices.kt", "package com.acme.orders\n")
    places = Places()
    found = places.find(tmp_path, "com.acme.orders", "Prices.kt")
    assert found is not None
    assert found.file == wanted
    assert places.find(tmp_path, "com.acme.none", "Prices.kt") is None


def test_a_file_that_is_written_later_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jvmti.sources.places._FRESH", 0)
    places = Places()
    assert places.find(tmp_path, "com", "B.java") is None
    write(tmp_path / "src" / "com" / "B.java", "")
    assert places.find(tmp_path, "com", "B.java") is not None


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("", "../secret.java"),
        ("", ".."),
        ("", "/etc/passwd"),
        ("..", "secret.java"),
        ("com..acme", "secret.java"),
        ("com/../../x", "secret.java"),
        ("", "secret.java\0"),
        ("com", ""),
    ],
)
def test_no_name_of_a_class_file_leads_out_of_a_place(
    tmp_path: Path, package: str, name: str
) -> None:
    write(tmp_path / "secret.java", "secret")
    inside = tmp_path / "inside"
    write(inside / "com" / "acme" / "A.java", "")
    with zipfile.ZipFile(tmp_path / "some.jar", "w") as archive:
        archive.writestr("../secret.java", "secret")
    for place in (inside, tmp_path / "some.jar"):
        assert Places().find(place, package, name) is None


def test_no_link_leads_out_of_a_place_and_nothing_else_than_files_is_opened(
    tmp_path: Path,
) -> None:
    secret = write(tmp_path / "secret.java", "secret")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "A.java").symlink_to(secret)
    (inside / "com").symlink_to(tmp_path)
    os.mkfifo(inside / "Pipe.java")
    (inside / "Folder.java").mkdir()
    (inside / "Loop.java").symlink_to(inside / "Loop.java")
    with open(inside / "Large.java", "wb") as large:
        large.truncate(MOST_BYTES + 1)
    places = Places()
    for name in ("A.java", "Pipe.java", "Folder.java", "Loop.java", "Large.java"):
        assert places.find(inside, "", name) is None
    assert places.find(inside, "com", "secret.java") is None
    # A place that is a link is one all the same.
    (tmp_path / "link").symlink_to(inside)
    write(inside / "B.java", "b")
    found = places.find(tmp_path / "link", "", "B.java")
    assert found is not None
    assert found.text == "b"


def test_an_archive_has_its_files_at_any_depth(tmp_path: Path) -> None:
    jar = tmp_path / "order-1.2-sources.jar"
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("order-1.2/src/com/acme/A.java", "package com.acme;\r\nclass A {}\r")
        archive.writestr("commonMain/Prices.kt", "package com.acme\n")
        archive.writestr("com/acme/Large.java", b"\0" * (MOST_BYTES + 1))
    places = Places()
    found = places.find(jar, "com.acme", "A.java")
    assert found is not None
    assert (found.path, found.file) == (f"{jar}!order-1.2/src/com/acme/A.java", None)
    assert found.lines == ["package com.acme;", "class A {}", ""]
    assert places.find(jar, "com.acme", "Prices.kt") is not None
    assert places.find(jar, "com.acme.other", "Prices.kt") is None
    assert places.find(jar, "com.acme", "Large.java") is None
    broken = write(tmp_path / "broken.jar", "no archive")
    with pytest.raises(OSError, match=r"broken.jar is not a jar or zip file"):
        places.find(broken, "com.acme", "A.java")


def sources(path: Path, **files: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"com/acme/{name}.java", text)
    return path


def test_the_sources_of_a_jar_are_where_maven_and_gradle_put_them(tmp_path: Path) -> None:
    maven, gradle = tmp_path / "repository", tmp_path / "files-2.1"
    version = maven / "com" / "acme" / "order" / "1.2"
    beside = sources(version / "order-1.2-sources.jar", A="of order")
    group = gradle / "com.acme" / "price" / "3.0"
    hashed = sources(group / "0a1b" / "price-3.0-sources.jar", B="of price")
    found = Repositories([maven, gradle])
    assert found.beside(version / "order-1.2.jar") == beside
    assert found.beside(group / "ffff" / "price-3.0.jar") == hashed
    # A copy of a jar, or one within another, has the name that it has there.
    assert found.beside(tmp_path / "lib" / "order-1.2.jar") is None
    assert found.named("order-1.2.jar") == beside
    assert found.named("order-1.3.jar") is None
    # A name cannot be a pattern.
    assert found.beside(group / "ffff" / "*.jar") is None

    finder = SourceFinder(
        class_path=[version / "order-1.2.jar", tmp_path / "lib" / "price-3.0.jar"],
        repositories=found,
    )
    assert finder.find("com.acme.A$B").text == "of order"
    assert finder.find("com.acme.B").text == "of price"
    with pytest.raises(SourceNotFound, match=r"no source of com.acme.C \(C.java\)") as missing:
        finder.find("com.acme.C")
    assert str(beside) in missing.value.searched
    # The places that are given come first.
    finder.append(write(tmp_path / "mine" / "com" / "acme" / "A.java", "mine").parents[2])
    assert finder.find("com.acme.A").text == "mine"


def test_the_jdks_own_classes_have_their_sources_in_its_archive(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    with zipfile.ZipFile(tmp_path / "lib" / "src.zip", "w") as archive:
        archive.writestr("java.base/java/util/HashMap.java", "package java.util;")
        archive.writestr("jdk.jfr/jdk/jfr/Event.java", "package jdk.jfr;")
    finder = SourceFinder(java_home=tmp_path, repositories=Repositories([]))
    for name in ("java.util.HashMap$Node", "jdk.jfr.Event"):
        found = finder.find(name)
        assert found.text.startswith(f"package {name.rpartition('.')[0]}")
        assert str(found.path).startswith(f"{tmp_path}/lib/src.zip!")
    with pytest.raises(SourceNotFound, match="src.zip"):
        finder.find("java.util.HashMop")


def test_mavens_settings_say_where_its_repository_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from jvmti.sources.repositories import default_repositories

    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("GRADLE_USER_HOME", "XDG_CACHE_HOME", "COURSIER_CACHE"):
        monkeypatch.delenv(name, raising=False)
    assert default_repositories() == []
    (tmp_path / ".gradle" / "caches" / "modules-2" / "files-2.1").mkdir(parents=True)
    (tmp_path / "jars").mkdir()
    write(
        tmp_path / ".m2" / "settings.xml",
        '<settings xmlns="urn:maven"><localRepository>${user.home}/jars</localRepository>'
        "</settings>",
    )
    assert [path.name for path in default_repositories()] == ["jars", "files-2.1"]
    write(tmp_path / ".m2" / "settings.xml", "<settings")
    assert [path.name for path in default_repositories()] == ["files-2.1"]
    assert "Maven's settings cannot be read" in caplog.text


@pytest.mark.parametrize(
    ("classes", "sources"),
    [
        ("target/classes", "src/main/java"),
        ("target/test-classes", "src/test/java"),
        ("build/classes/java/main", "src/main/java"),
        ("build/classes/kotlin/test", "src/test/kotlin"),
        ("target/scala-3.3.1/classes", "src/main/scala"),
        ("out/production/app", "src"),
        ("bin", "src"),
        ("beside", "beside"),
    ],
)
def test_the_sources_of_a_project_are_found_from_its_class_files(
    tmp_path: Path, classes: str, sources: str
) -> None:
    (tmp_path / classes).mkdir(parents=True)
    wanted = write(tmp_path / sources / "com" / "acme" / "A.java", "class A {}")
    # What a program names as its class path shows source files only.
    write(tmp_path / sources / "com" / "acme" / "passwords", "secret")
    finder = SourceFinder(class_path=[tmp_path / classes], repositories=Repositories([]))
    assert finder.find("com.acme.A").file == wanted
    with pytest.raises(SourceNotFound):
        finder.find("com.acme.A", "passwords")
