"""Line numbers of other files and languages, as JSR 45 has them."""

from __future__ import annotations

import pytest

from jvmti.sources.strata import MalformedSourceMap, OriginalLine, SourceMap

KOTLIN = """SMAP
Orders.kt
Kotlin
*S Kotlin
*F
+ 1 Orders.kt
com/acme/OrdersKt
+ 2 Prices.kt
com/acme/PricesKt
*L
1#1,50:1
7#2,3:51
*S KotlinDebug
*F
+ 1 Orders.kt
com/acme/OrdersKt
*L
12#1:51,3
*E
"""

PAGE = """SMAP
index_jsp.java
JSP
*S JSP
*F
+ 0 index.jsp
shop/index.jsp
1 head.jspf
*L
1,5:116,0
6:120
1#1,2:130,4
*E
"""


def test_lines_of_inlined_functions_are_those_of_their_file() -> None:
    found = SourceMap(KOTLIN)
    assert (found.generated, found.default) == ("Orders.kt", "Kotlin")
    assert found.strata == ["Kotlin", "KotlinDebug"]
    assert found.original(12) == OriginalLine("Orders.kt", "com/acme/OrdersKt", 12)
    assert found.original(53) == OriginalLine("Prices.kt", "com/acme/PricesKt", 9)
    assert found.original(54) is None
    # The call of the inlined function.
    called = found.original(53, "KotlinDebug")
    assert called is not None
    assert (called.file, called.line) == ("Orders.kt", 12)
    assert found.original(53, "Scala") is None
    assert found.numbers("Prices.kt", 8) == [52]
    assert found.numbers("Prices.kt", 10) == []


def test_lines_of_a_page_are_those_before_its_translation() -> None:
    found = SourceMap(PAGE.replace("\n", "\r\n"))
    assert found.files == [("index.jsp", "shop/index.jsp"), ("head.jspf", None)]
    assert found.original(116) == OriginalLine("index.jsp", "shop/index.jsp", 1)
    assert found.original(120) == OriginalLine("index.jsp", "shop/index.jsp", 6)
    # Each line of the file became four.
    assert [found.original(line) for line in (129, 133, 134, 138)] == [
        None,
        OriginalLine("head.jspf", None, 1),
        OriginalLine("head.jspf", None, 2),
        None,
    ]
    assert found.numbers("index.jsp", 6) == [120]
    assert found.numbers("head.jspf", 2) == [134]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SMAP\nA.java",
        "smap\nA.kt\nKotlin\n*E\n",
        "SMAP\nA.kt\nKotlin\n*S Kotlin\n",
        "SMAP\nA.kt\nKotlin\n*F\n+ 1 A.kt\nA\n*E",
        "SMAP\nA.kt\nKotlin\n*S Kotlin\n*F\n+ one A.kt\nA\n*E",
        "SMAP\nA.kt\nKotlin\n*S Kotlin\n*L\n1#1:x\n*E",
        "SMAP\nA.kt\nKotlin\n*S Kotlin\n*L\n1#1,99999999999:1\n*E",
        "SMAP\nA.kt\nKotlin\n*S Kotlin\n*F\n+ 1 A.kt",
    ],
)
def test_what_is_no_source_map_is_refused(text: str) -> None:
    with pytest.raises(MalformedSourceMap, match="a source map"):
        SourceMap(text)


def test_unknown_files_and_sections_are_passed_over() -> None:
    found = SourceMap(
        "SMAP\nA.kt\nKotlin\n*S Kotlin\n*V\nvendor's own\n*F\n1 A.kt\n*L\n1#9:1\n2#1:2\n*E\nrest"
    )
    assert found.original(1) is None
    assert found.original(2) == OriginalLine("A.kt", None, 2)
