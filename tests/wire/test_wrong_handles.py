"""A handle of the wrong kind gives the error that the page of its function promises.

Which error that is says the class of the handle that is wanted; here each parameter of each
function is given every other kind.  What is no handle at all is a ``TypeError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jvmti import refs
from jvmti.env.interface import FUNCTIONS as ENV
from jvmti.interface import shapes
from jvmti.interface.errors import ErrorCode, error_for
from jvmti.jni.interface import FUNCTIONS as JNI
from jvmti.refs.handles import CLASSES
from jvmti.wire.codecs import encoder_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvmti.interface.declaration import Declaration

SESSION = object()
DECLARATIONS = [*ENV.values(), *JNI.values()]


def references(declaration: Declaration) -> Iterator[tuple[str, shapes.Shape, type[refs.Handle]]]:
    """The parameters of a function that take handles, or lists of them."""
    for name, shape in shapes.inputs_of(declaration):
        inner = shape.item if isinstance(shape, shapes.List) else shape
        if isinstance(inner, shapes.Reference):
            yield name, shape, inner.python


def test_each_parameter_of_each_function_refuses_all_other_kinds() -> None:
    met = 0
    for declaration in DECLARATIONS:
        for name, shape, wanted in references(declaration):
            put = encoder_of(shape, name)
            is_list = isinstance(shape, shapes.List)
            expected = type(error_for(int(ErrorCode[wanted.ERROR])))
            for kind in CLASSES.values():
                wrong = kind(SESSION, 7)
                if isinstance(wrong, wanted) or kind.STANDS_FOR_ANY:
                    continue
                with pytest.raises(expected, match=f"{name} must be an? {wanted.__name__}, not"):
                    put([wrong] if is_list else wrong, [], SESSION)
                met += 1
            for nothing in (5, "text", b"bytes", object(), 1.5):
                with pytest.raises(TypeError):
                    put([nothing] if is_list else nothing, [], SESSION)
    assert met > 3000


def test_each_page_promises_what_a_wrong_handle_gives() -> None:
    """But for the function that is there to say what is no reference any more."""
    silent = []
    for declaration in DECLARATIONS:
        page = declaration.method.__doc__ or ""
        for name, _, wanted in references(declaration):
            error = type(error_for(int(ErrorCode[wanted.ERROR]))).__name__
            if f"    {error}:" not in page and declaration.name != "get_object_ref_type":
                silent.append(f"{declaration.name}({name}): {error}")
    assert not silent, "\n".join(silent)
