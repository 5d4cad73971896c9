"""The effects of an evaluation in the target: calls, new objects, exceptions, texts.

Everything runs on the thread that the calling Python thread's requests go to: inside a stop the
stopped thread itself.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NoReturn

from jvmti import refs
from jvmti.expressions.values.typed import OBJECT, STRING, UNKNOWN, Text, Value
from jvmti.interface.errors import CallTimeout, JavaException
from jvmti.interface.signatures import BOXED
from jvmti.model.values.calls import explained
from jvmti.model.values.conversion import BOXES, PRIMITIVE_NAMES

if TYPE_CHECKING:
    from jvmti.jni.calls import JNI
    from jvmti.model.classes.java_class import Class
    from jvmti.model.threads.frames import Frame
    from jvmti.model.threads.locals import Locals
    from jvmti.model.vm import VM


_GRACE = 0.1
"""Seconds that an evaluation waits for the end of one that overran its limit."""


class Forbidden(Exception):
    """The evaluation may not run code of the program, nor change anything."""


class Running:
    """One evaluation in the target.

    Args:
        frame: the frame that the expression is evaluated in.
        timeout: seconds for all of it; ``None`` is no limit.
        pure: refuse calls and assignments.

    Attributes:
        vm: the VM.
        frame: the frame.
        is_dry: only types are asked for: nothing is read, called or changed.
        pure: calls and assignments are refused.
    """

    def __init__(self, frame: Frame, timeout: float | None, *, pure: bool = False) -> None:
        self.vm: VM = frame._vm
        self.frame = frame
        self.pure = pure
        self.is_dry = False
        self._timeout = timeout
        self._until = None if timeout is None else time.monotonic() + timeout
        self._may_call = False
        self._locals: Locals | None = None

    @property
    def locals(self) -> Locals:
        """The variables of the frame."""
        if self._locals is None:
            self._locals = self.frame.locals
        return self._locals

    # ---- time and permission ---------------------------------------------------------------

    def restart(self) -> None:
        """Another evaluation begins, which has the whole time again."""
        if self._timeout is not None:
            self._until = time.monotonic() + self._timeout

    @property
    def jni(self) -> JNI:
        """JNI with the time that is left.

        Raises:
            CallTimeout: none is left.
        """
        if self._until is None:
            return self.vm.jni
        left = self._until - time.monotonic()
        if left <= 0:
            raise CallTimeout("the expression", self._timeout, outcome="was abandoned")
        return self.vm.jni.with_timeout(left)

    def prepare_to_call(self) -> None:
        """Make sure that the thread can run Java code, before anything is changed.

        Raises:
            Forbidden: the evaluation is to have no effects.
            LeavingFrame: the thread still has to leave a frame.
            CallTimeout: the thread does not answer.
        """
        if self.pure:
            raise Forbidden
        if not self._may_call:
            conversation = self.vm._session.conversation
            if conversation is not None and conversation.channel.late:
                self.vm._session.check_answers(conversation, "the expression", _GRACE)
            cls = self.vm.bootstrap_class("java/lang/Integer")
            method = self.jni.get_static_method_id(cls, "signum", "(I)I")
            self.jni.call_static_int_method(cls, method, [0])
            self._may_call = True

    # ---- calls -----------------------------------------------------------------------------

    def call(
        self,
        receiver: Any,
        method: Any,
        result: str,
        arguments: list[Any],
        *,
        static: bool = False,
        of: Class | None = None,
        called: str = "",
    ) -> Any:
        """Call a method; the result is as JNI has it.

        Args:
            receiver: the object; the class, for a static method.
            method: the method.
            result: the signature of its result.
            arguments: as JNI takes them.
            static: whether the method is static.
            of: the class whose version is called, whatever overrides it.
            called: the name of the method for errors.

        Raises:
            JavaException: the method threw.
            CallTimeout: it did not return in time, and still runs.
        """
        self.prepare_to_call()
        kind = "void" if result == "V" else PRIMITIVE_NAMES.get(result, "object")
        try:
            if static:
                function = getattr(self.jni, f"call_static_{kind}_method")
                return function(receiver, method, arguments)
            if of is not None:
                function = getattr(self.jni, f"call_nonvirtual_{kind}_method")
                return function(receiver, of, method, arguments)
            return getattr(self.jni, f"call_{kind}_method")(receiver, method, arguments)
        except CallTimeout as error:
            raise self._overran(error, called) from None

    def new(self, cls: Class, constructor: Any, arguments: list[Any]) -> Any:
        """Make an object.

        Raises:
            JavaException: the constructor threw.
            CallTimeout: it did not return in time, and still runs.
        """
        self.prepare_to_call()
        try:
            return self.jni.new_object(cls, constructor, arguments)
        except CallTimeout as error:
            raise self._overran(error, f"new {cls.name}()") from None

    def _overran(self, error: CallTimeout, called: str) -> CallTimeout:
        if self.vm._session.conversation is not None:
            # The thread itself is busy, so nothing can be asked of it.
            why = "the thread goes on with it, and answers again when it has returned"
            return CallTimeout(called or error.function, self._timeout, why)
        return explained(self.vm, error, None, self._timeout, called or None)

    def static_call(self, owner: str, name: str, signature: str, arguments: list[Any]) -> Any:
        """Call a static method of a class of the JDK: ``java/lang/String``."""
        cls = self.vm.bootstrap_class(owner)
        method = self.jni.get_static_method_id(cls, name, signature)
        result = signature[signature.rindex(")") + 1 :]
        called = f"{owner.replace('/', '.')}.{name}()"
        return self.call(cls, method, result, arguments, static=True, called=called)

    def throw(self, name: str, message: str | None = None) -> NoReturn:
        """Raise an exception as Java would throw it here.

        Args:
            name: of its class in ``java.lang``: ``ArithmeticException``.
            message: its message.

        Raises:
            JavaException: always.
        """
        cls: Any = self.vm.bootstrap_class(f"java/lang/{name}")
        jni = self.jni
        if message is None:
            throwable = jni.new_object(cls, jni.get_method_id(cls, "<init>", "()V"))
        else:
            constructor = jni.get_method_id(cls, "<init>", f"({STRING})V")
            throwable = jni.new_object(cls, constructor, [jni.new_string(message)])
        raise JavaException(throwable, cls.name, message)

    # ---- boxes and texts -------------------------------------------------------------------

    def boxed(self, data: Any, letter: str) -> Any:
        """The box of a primitive value, as ``valueOf`` of its class gives it."""
        box = BOXES[letter].signature[1:-1]
        return self.static_call(box, "valueOf", f"({letter})L{box};", [data])

    def unboxed(self, value: Value) -> Value:
        """A primitive value as it is, or out of its box.

        Raises:
            JavaException: it is null.
        """
        if value.is_primitive or not value.is_known:
            return value if value.is_primitive else Value(BOXED[value.type], UNKNOWN)
        if value.data is None:
            self.throw("NullPointerException")
        letter = BOXED[value.type]
        jni = self.jni
        cls = self.vm.bootstrap_class(value.type[1:-1])
        field = jni.get_field_id(cls, "value", letter)
        found = getattr(jni, f"get_{PRIMITIVE_NAMES[letter]}_field")(value.data, field)
        return found_value(letter, found)

    def handle(self, value: Value) -> Any:
        """A reference as JNI takes it."""
        data = value.data
        if not isinstance(data, Text):
            return data
        if data.handle is None:
            made: Any = self.jni.new_string(data.text)
            if data.is_constant:
                cls = self.vm.bootstrap_class("java/lang/String")
                method = self.jni.get_method_id(cls, "intern", f"(){STRING}")
                made = self.jni.call_object_method(made, method)
            data.handle = made
        return data.handle

    def text_of(self, value: Value) -> str:
        """A value as string concatenation shows it; calls ``toString``.

        Raises:
            JavaException: ``toString`` threw.
        """
        data, kind = value.data, value.type
        if isinstance(data, Text):
            return data.text
        if data is None:
            return "null"
        if kind == "Z":
            return "true" if data else "false"
        if kind == "C":
            return chr(data)
        if kind in "BSIJ":
            return str(data)
        if kind in "FD":
            found = self.static_call("java/lang/String", "valueOf", f"({kind}){STRING}", [data])
        elif isinstance(data, refs.String):
            found = data
        else:
            found = self.static_call(
                "java/lang/String", "valueOf", f"({OBJECT}){STRING}", [self.handle(value)]
            )
        return "null" if found is None else self.jni.get_string_chars(found)

    def class_of(self, value: Value) -> Class | None:
        """The class of an object; ``None`` for null."""
        data = value.data
        if data is None:
            return None
        if isinstance(data, Text):
            return self.vm.bootstrap_class("java/lang/String")
        found: Class = data.cls
        return found

    def result(self, value: Value) -> Any:
        """A value as the model has it."""
        data = value.data
        if isinstance(data, Text):
            return data.text
        if isinstance(data, refs.String):
            return self.jni.get_string_chars(data)
        if value.type == "C":
            return chr(data)
        if value.type == "Z":
            return bool(data)
        return data


def found_value(signature: str, data: Any) -> Value:
    """A result of JNI or JVM TI as a value of its type."""
    if signature == "Z":
        return Value(signature, bool(data))
    if signature == "C" and isinstance(data, str):
        return Value(signature, ord(data))
    return Value(signature, data)


def model_value(signature: str, data: Any) -> Value:
    """A value that the model has, as one of its type."""
    return found_value(
        signature, Text(data) if isinstance(data, str) and signature != "C" else data
    )


__all__ = ["Forbidden", "Running", "found_value", "model_value"]
