"""Arrays: make them, and read and write their elements.

Elements of primitives are NumPy arrays of one dimension.  They are always copies: changes reach the
target through the ``set`` and ``release`` functions.
"""

from __future__ import annotations

from typing import Annotated

from jvmti.interface.calling import Calling
from jvmti.interface.constants import ReleaseMode
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Bytes, Elements, Int, NumPyArray
from jvmti.refs import (
    Array,
    BooleanArray,
    ByteArray,
    CharArray,
    Class,
    DoubleArray,
    FloatArray,
    IntArray,
    LongArray,
    Object,
    ObjectArray,
    ShortArray,
)

BooleanElements = Annotated[NumPyArray, Elements("jboolean")]
BooleanRegion = Annotated[NumPyArray, Elements("jboolean", length="len")]
ByteElements = Annotated[NumPyArray, Elements("jbyte")]
ByteRegion = Annotated[NumPyArray, Elements("jbyte", length="len")]
CharElements = Annotated[NumPyArray, Elements("jchar")]
CharRegion = Annotated[NumPyArray, Elements("jchar", length="len")]
ShortElements = Annotated[NumPyArray, Elements("jshort")]
ShortRegion = Annotated[NumPyArray, Elements("jshort", length="len")]
IntElements = Annotated[NumPyArray, Elements("jint")]
IntRegion = Annotated[NumPyArray, Elements("jint", length="len")]
LongElements = Annotated[NumPyArray, Elements("jlong")]
LongRegion = Annotated[NumPyArray, Elements("jlong", length="len")]
FloatElements = Annotated[NumPyArray, Elements("jfloat")]
FloatRegion = Annotated[NumPyArray, Elements("jfloat", length="len")]
DoubleElements = Annotated[NumPyArray, Elements("jdouble")]
DoubleRegion = Annotated[NumPyArray, Elements("jdouble", length="len")]


class ArrayFunctions(Calling):
    """The functions of the chapter "Array operations"."""

    @jni_function(171, runs_java=False, early=True)
    def get_array_length(self, array: Array) -> Int:
        """Return the number of elements of an array.

        Args:
            array: an array of any kind.

        Returns:
            Its length.

        Raises:
            InvalidObject: ``array`` is stale or not an array.

        Example:
            >>> jni.get_array_length(prices)
            3

        JNI: GetArrayLength.
        """

    @jni_function(172, guard="new_object_array")
    def new_object_array(self, len: Int, clazz: Class, init: Object | None = None) -> ObjectArray:
        """Make an array of references.

        Args:
            len: how many elements.
            clazz: the class of the elements.
            init: the initial value of all of them; ``None`` is null.

        Returns:
            The array.

        Raises:
            InvalidClass: ``clazz`` is stale, not a class, or the class of a primitive type.
            InvalidObject: ``init`` is stale.
            TypeMismatch: ``init`` is not of class ``clazz``.
            JavaException: ``NegativeArraySizeException``, ``OutOfMemoryError``.

        Example:
            >>> text = jni.find_class("java/lang/String")
            >>> array = jni.new_object_array(2, text, jni.new_string("tea"))
            >>> jni.get_string_chars(jni.get_object_array_element(array, 1))
            'tea'

        JNI: NewObjectArray.
        """

    @jni_function(173)
    def get_object_array_element(self, array: ObjectArray, index: Int) -> Object | None:
        """Return one element of an array of references.

        Args:
            array: the array.
            index: which element, from 0.

        Returns:
            The object; ``None`` is null.

        Raises:
            InvalidObject: ``array`` is stale or not an array of references.
            JavaException: ``ArrayIndexOutOfBoundsException`` for an index outside of the array.

        Example:
            >>> jni.get_string_chars(jni.get_object_array_element(wares, 0))
            'tea'

        JNI: GetObjectArrayElement.
        """

    @jni_function(174)
    def set_object_array_element(
        self, array: ObjectArray, index: Int, value: Object | None
    ) -> None:
        """Change one element of an array of references.

        Args:
            array: the array.
            index: which element, from 0.
            value: the object; ``None`` is null.

        Raises:
            InvalidObject: ``array`` is stale or not an array of references, or ``value`` is stale.
            JavaException: ``ArrayIndexOutOfBoundsException`` for an index outside of the array,
                ``ArrayStoreException`` for an object that the array cannot hold.

        Example:
            >>> before = jni.get_object_array_element(wares, 1)
            >>> jni.set_object_array_element(wares, 1, None)
            >>> jni.get_object_array_element(wares, 1)
            >>> jni.set_object_array_element(wares, 1, before)

        JNI: SetObjectArrayElement.
        """

    @jni_function(175)
    def new_boolean_array(self, len: Int) -> BooleanArray:
        """Make a ``boolean[]`` of false elements.

        Args:
            len: how many elements.

        Returns:
            The array.

        Raises:
            JavaException: ``NegativeArraySizeException``, ``OutOfMemoryError``.

        Example:
            >>> array = jni.new_boolean_array(3)
            >>> jni.get_array_length(array)
            3

        JNI: NewBooleanArray.
        """

    @jni_function(176)
    def new_byte_array(self, len: Int) -> ByteArray:
        """Make a ``byte[]`` of zero elements.

        Args:
            len: how many elements.

        Returns:
            The array.

        Raises:
            JavaException: ``NegativeArraySizeException``, ``OutOfMemoryError``.

        Example:
            >>> array = jni.new_byte_array(3)
            >>> jni.get_array_length(array)
            3

        JNI: NewByteArray.
        """

    @jni_function(177)
    def new_char_array(self, len: Int) -> CharArray:
        """Make a ``char[]`` of zero elements.

        Args:
            len: how many elements.

        Returns:
            The array.

        Raises:
            JavaException: ``NegativeArraySizeException``, ``OutOfMemoryError``.

        Example:
            >>> array = jni.new_char_array(3)
            >>> jni.get_array_length(array)
            3

        JNI: NewCharArray.
        """

    @jni_function(178)
    def new_short_array(self, len: Int) -> ShortArray:
        """Make a ``short[]`` of zero elements.

        Args:
            len: how many elements.

        Returns:
            The array.

        Raises:
            JavaException: ``NegativeArraySizeException``, ``OutOfMemoryError``.

        Example:
            >>> array = jni.new_short_array(3)
            >>> jni.get_array_length(array)
            3

        JNI: NewShortArray.
        """

    @jni_function(179)
    def new_int_array(self, len: Int) -> IntArray:
        """Make a ``int[]`` of zero elements.

        Args:
            len: how many elements.

        Returns:
            The array.

        Raises:
            JavaException: ``NegativeArraySizeException``, ``OutOfMemoryError``.

        Example:
            >>> array = jni.new_int_array(3)
            >>> jni.get_array_length(array)
            3

        JNI: NewIntArray.
        """

    @jni_function(180)
    def new_long_array(self, len: Int) -> LongArray:
        """Make a ``long[]`` of zero elements.

        Args:
            len: how many elements.

        Returns:
            The array.

        Raises:
            JavaException: ``NegativeArraySizeException``, ``OutOfMemoryError``.

        Example:
            >>> array = jni.new_long_array(3)
            >>> jni.get_array_length(array)
            3

        JNI: NewLongArray.
        """

    @jni_function(181)
    def new_float_array(self, len: Int) -> FloatArray:
        """Make a ``float[]`` of zero elements.

        Args:
            len: how many elements.

        Returns:
            The array.

        Raises:
            JavaException: ``NegativeArraySizeException``, ``OutOfMemoryError``.

        Example:
            >>> array = jni.new_float_array(3)
            >>> jni.get_array_length(array)
            3

        JNI: NewFloatArray.
        """

    @jni_function(182)
    def new_double_array(self, len: Int) -> DoubleArray:
        """Make a ``double[]`` of zero elements.

        Args:
            len: how many elements.

        Returns:
            The array.

        Raises:
            JavaException: ``NegativeArraySizeException``, ``OutOfMemoryError``.

        Example:
            >>> array = jni.new_double_array(3)
            >>> jni.get_array_length(array)
            3

        JNI: NewDoubleArray.
        """

    @jni_function(183, overridden=True, runs_java=False)
    def get_boolean_array_elements(self, array: BooleanArray) -> BooleanElements:
        """Return all elements of a ``boolean[]``.

        Args:
            array: the array.

        Returns:
            A copy of one dimension and dtype ``bool``; `release_boolean_array_elements` writes
            changes back.

        Raises:
            InvalidObject: ``array`` is stale or not a ``boolean[]``.

        Example:
            >>> array = jni.new_boolean_array(3)
            >>> jni.set_boolean_array_region(array, 0, [True, False, True])
            >>> jni.get_boolean_array_elements(array).tolist()
            [True, False, True]

        JNI: GetBooleanArrayElements.
        """

    @jni_function(184, overridden=True, runs_java=False)
    def get_byte_array_elements(self, array: ByteArray) -> ByteElements:
        """Return all elements of a ``byte[]``.

        Args:
            array: the array.

        Returns:
            A copy of one dimension and dtype ``int8``; `release_byte_array_elements` writes changes
            back.

        Raises:
            InvalidObject: ``array`` is stale or not a ``byte[]``.

        Example:
            >>> array = jni.new_byte_array(3)
            >>> jni.set_byte_array_region(array, 0, [1, 2, 3])
            >>> jni.get_byte_array_elements(array).tolist()
            [1, 2, 3]

        JNI: GetByteArrayElements.
        """

    @jni_function(185, overridden=True, runs_java=False)
    def get_char_array_elements(self, array: CharArray) -> CharElements:
        """Return all elements of a ``char[]``.

        Args:
            array: the array.

        Returns:
            A copy of one dimension and dtype ``uint16``; `release_char_array_elements` writes
            changes back.

        Raises:
            InvalidObject: ``array`` is stale or not a ``char[]``.

        Example:
            >>> array = jni.new_char_array(3)
            >>> jni.set_char_array_region(array, 0, [ord(unit) for unit in "tea"])
            >>> jni.get_char_array_elements(array).tobytes().decode("utf-16-le")
            'tea'

        JNI: GetCharArrayElements.
        """

    @jni_function(186, overridden=True, runs_java=False)
    def get_short_array_elements(self, array: ShortArray) -> ShortElements:
        """Return all elements of a ``short[]``.

        Args:
            array: the array.

        Returns:
            A copy of one dimension and dtype ``int16``; `release_short_array_elements` writes
            changes back.

        Raises:
            InvalidObject: ``array`` is stale or not a ``short[]``.

        Example:
            >>> array = jni.new_short_array(3)
            >>> jni.set_short_array_region(array, 0, [1, 2, 3])
            >>> jni.get_short_array_elements(array).tolist()
            [1, 2, 3]

        JNI: GetShortArrayElements.
        """

    @jni_function(187, overridden=True, runs_java=False)
    def get_int_array_elements(self, array: IntArray) -> IntElements:
        """Return all elements of a ``int[]``.

        Args:
            array: the array.

        Returns:
            A copy of one dimension and dtype ``int32``; `release_int_array_elements` writes changes
            back.

        Raises:
            InvalidObject: ``array`` is stale or not a ``int[]``.

        Example:
            >>> array = jni.new_int_array(3)
            >>> jni.set_int_array_region(array, 0, [1, 2, 3])
            >>> jni.get_int_array_elements(array).tolist()
            [1, 2, 3]

        JNI: GetIntArrayElements.
        """

    @jni_function(188, overridden=True, runs_java=False)
    def get_long_array_elements(self, array: LongArray) -> LongElements:
        """Return all elements of a ``long[]``.

        Args:
            array: the array.

        Returns:
            A copy of one dimension and dtype ``int64``; `release_long_array_elements` writes
            changes back.

        Raises:
            InvalidObject: ``array`` is stale or not a ``long[]``.

        Example:
            >>> array = jni.new_long_array(3)
            >>> jni.set_long_array_region(array, 0, [1, 2, 3])
            >>> jni.get_long_array_elements(array).tolist()
            [1, 2, 3]

        JNI: GetLongArrayElements.
        """

    @jni_function(189, overridden=True, runs_java=False)
    def get_float_array_elements(self, array: FloatArray) -> FloatElements:
        """Return all elements of a ``float[]``.

        Args:
            array: the array.

        Returns:
            A copy of one dimension and dtype ``float32``; `release_float_array_elements` writes
            changes back.

        Raises:
            InvalidObject: ``array`` is stale or not a ``float[]``.

        Example:
            >>> array = jni.new_float_array(3)
            >>> jni.set_float_array_region(array, 0, [0.5, 1.5, 2.5])
            >>> jni.get_float_array_elements(array).tolist()
            [0.5, 1.5, 2.5]

        JNI: GetFloatArrayElements.
        """

    @jni_function(190, overridden=True, runs_java=False)
    def get_double_array_elements(self, array: DoubleArray) -> DoubleElements:
        """Return all elements of a ``double[]``.

        Args:
            array: the array.

        Returns:
            A copy of one dimension and dtype ``float64``; `release_double_array_elements` writes
            changes back.

        Raises:
            InvalidObject: ``array`` is stale or not a ``double[]``.

        Example:
            >>> array = jni.new_double_array(3)
            >>> jni.set_double_array_region(array, 0, [0.5, 1.5, 2.5])
            >>> jni.get_double_array_elements(array).tolist()
            [0.5, 1.5, 2.5]

        JNI: GetDoubleArrayElements.
        """

    @jni_function(191, overridden=True, while_pending=True)
    def release_boolean_array_elements(
        self,
        array: BooleanArray,
        elems: BooleanElements,
        mode: ReleaseMode | str = ReleaseMode.COPY_BACK,
    ) -> None:
        """Write elements back into the ``boolean[]`` that they were copied from.

        Args:
            array: the array.
            elems: as many elements as it has, of dtype ``bool``.
            mode: ``ABORT`` writes nothing; the others write, and as copies need no freeing, do the
                same.

        Raises:
            InvalidObject: ``array`` is stale or not a ``boolean[]``.
            IllegalArgument: the number of elements is not the array's length.

        Example:
            >>> array = jni.new_boolean_array(3)
            >>> elements = jni.get_boolean_array_elements(array).copy()
            >>> elements[1] = True
            >>> jni.release_boolean_array_elements(array, elements)
            >>> jni.get_boolean_array_elements(array).tolist()
            [False, True, False]

        JNI: ReleaseBooleanArrayElements.
        """

    @jni_function(192, overridden=True, while_pending=True)
    def release_byte_array_elements(
        self, array: ByteArray, elems: ByteElements, mode: ReleaseMode | str = ReleaseMode.COPY_BACK
    ) -> None:
        """Write elements back into the ``byte[]`` that they were copied from.

        Args:
            array: the array.
            elems: as many elements as it has, of dtype ``int8``.
            mode: ``ABORT`` writes nothing; the others write, and as copies need no freeing, do the
                same.

        Raises:
            InvalidObject: ``array`` is stale or not a ``byte[]``.
            IllegalArgument: the number of elements is not the array's length.

        Example:
            >>> array = jni.new_byte_array(3)
            >>> elements = jni.get_byte_array_elements(array).copy()
            >>> elements[1] = 2
            >>> jni.release_byte_array_elements(array, elements)
            >>> jni.get_byte_array_elements(array).tolist()
            [0, 2, 0]

        JNI: ReleaseByteArrayElements.
        """

    @jni_function(193, overridden=True, while_pending=True)
    def release_char_array_elements(
        self, array: CharArray, elems: CharElements, mode: ReleaseMode | str = ReleaseMode.COPY_BACK
    ) -> None:
        """Write elements back into the ``char[]`` that they were copied from.

        Args:
            array: the array.
            elems: as many elements as it has, of dtype ``uint16``.
            mode: ``ABORT`` writes nothing; the others write, and as copies need no freeing, do the
                same.

        Raises:
            InvalidObject: ``array`` is stale or not a ``char[]``.
            IllegalArgument: the number of elements is not the array's length.

        Example:
            >>> array = jni.new_char_array(3)
            >>> elements = jni.get_char_array_elements(array).copy()
            >>> elements[1] = ord("e")
            >>> jni.release_char_array_elements(array, elements)
            >>> jni.get_char_array_elements(array).tolist()
            [0, 101, 0]

        JNI: ReleaseCharArrayElements.
        """

    @jni_function(194, overridden=True, while_pending=True)
    def release_short_array_elements(
        self,
        array: ShortArray,
        elems: ShortElements,
        mode: ReleaseMode | str = ReleaseMode.COPY_BACK,
    ) -> None:
        """Write elements back into the ``short[]`` that they were copied from.

        Args:
            array: the array.
            elems: as many elements as it has, of dtype ``int16``.
            mode: ``ABORT`` writes nothing; the others write, and as copies need no freeing, do the
                same.

        Raises:
            InvalidObject: ``array`` is stale or not a ``short[]``.
            IllegalArgument: the number of elements is not the array's length.

        Example:
            >>> array = jni.new_short_array(3)
            >>> elements = jni.get_short_array_elements(array).copy()
            >>> elements[1] = 2
            >>> jni.release_short_array_elements(array, elements)
            >>> jni.get_short_array_elements(array).tolist()
            [0, 2, 0]

        JNI: ReleaseShortArrayElements.
        """

    @jni_function(195, overridden=True, while_pending=True)
    def release_int_array_elements(
        self, array: IntArray, elems: IntElements, mode: ReleaseMode | str = ReleaseMode.COPY_BACK
    ) -> None:
        """Write elements back into the ``int[]`` that they were copied from.

        Args:
            array: the array.
            elems: as many elements as it has, of dtype ``int32``.
            mode: ``ABORT`` writes nothing; the others write, and as copies need no freeing, do the
                same.

        Raises:
            InvalidObject: ``array`` is stale or not a ``int[]``.
            IllegalArgument: the number of elements is not the array's length.

        Example:
            >>> array = jni.new_int_array(3)
            >>> elements = jni.get_int_array_elements(array).copy()
            >>> elements[1] = 2
            >>> jni.release_int_array_elements(array, elements)
            >>> jni.get_int_array_elements(array).tolist()
            [0, 2, 0]

        JNI: ReleaseIntArrayElements.
        """

    @jni_function(196, overridden=True, while_pending=True)
    def release_long_array_elements(
        self, array: LongArray, elems: LongElements, mode: ReleaseMode | str = ReleaseMode.COPY_BACK
    ) -> None:
        """Write elements back into the ``long[]`` that they were copied from.

        Args:
            array: the array.
            elems: as many elements as it has, of dtype ``int64``.
            mode: ``ABORT`` writes nothing; the others write, and as copies need no freeing, do the
                same.

        Raises:
            InvalidObject: ``array`` is stale or not a ``long[]``.
            IllegalArgument: the number of elements is not the array's length.

        Example:
            >>> array = jni.new_long_array(3)
            >>> elements = jni.get_long_array_elements(array).copy()
            >>> elements[1] = 2
            >>> jni.release_long_array_elements(array, elements)
            >>> jni.get_long_array_elements(array).tolist()
            [0, 2, 0]

        JNI: ReleaseLongArrayElements.
        """

    @jni_function(197, overridden=True, while_pending=True)
    def release_float_array_elements(
        self,
        array: FloatArray,
        elems: FloatElements,
        mode: ReleaseMode | str = ReleaseMode.COPY_BACK,
    ) -> None:
        """Write elements back into the ``float[]`` that they were copied from.

        Args:
            array: the array.
            elems: as many elements as it has, of dtype ``float32``.
            mode: ``ABORT`` writes nothing; the others write, and as copies need no freeing, do the
                same.

        Raises:
            InvalidObject: ``array`` is stale or not a ``float[]``.
            IllegalArgument: the number of elements is not the array's length.

        Example:
            >>> array = jni.new_float_array(3)
            >>> elements = jni.get_float_array_elements(array).copy()
            >>> elements[1] = 2
            >>> jni.release_float_array_elements(array, elements)
            >>> jni.get_float_array_elements(array).tolist()
            [0.0, 2.0, 0.0]

        JNI: ReleaseFloatArrayElements.
        """

    @jni_function(198, overridden=True, while_pending=True)
    def release_double_array_elements(
        self,
        array: DoubleArray,
        elems: DoubleElements,
        mode: ReleaseMode | str = ReleaseMode.COPY_BACK,
    ) -> None:
        """Write elements back into the ``double[]`` that they were copied from.

        Args:
            array: the array.
            elems: as many elements as it has, of dtype ``float64``.
            mode: ``ABORT`` writes nothing; the others write, and as copies need no freeing, do the
                same.

        Raises:
            InvalidObject: ``array`` is stale or not a ``double[]``.
            IllegalArgument: the number of elements is not the array's length.

        Example:
            >>> array = jni.new_double_array(3)
            >>> elements = jni.get_double_array_elements(array).copy()
            >>> elements[1] = 2
            >>> jni.release_double_array_elements(array, elements)
            >>> jni.get_double_array_elements(array).tolist()
            [0.0, 2.0, 0.0]

        JNI: ReleaseDoubleArrayElements.
        """

    @jni_function(199, overridden=True)
    def get_boolean_array_region(self, array: BooleanArray, start: Int, len: Int) -> BooleanRegion:
        """Return consecutive elements of a ``boolean[]``.

        Args:
            array: the array.
            start: the index of the first element.
            len: how many elements.

        Returns:
            A copy of one dimension and dtype ``bool``.

        Raises:
            InvalidObject: ``array`` is stale or not a ``boolean[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_boolean_array(3)
            >>> jni.set_boolean_array_region(array, 0, [True, False, True])
            >>> jni.get_boolean_array_region(array, 1, 2).tolist()
            [False, True]

        JNI: GetBooleanArrayRegion.
        """

    @jni_function(200, overridden=True)
    def get_byte_array_region(self, array: ByteArray, start: Int, len: Int) -> ByteRegion:
        """Return consecutive elements of a ``byte[]``.

        Args:
            array: the array.
            start: the index of the first element.
            len: how many elements.

        Returns:
            A copy of one dimension and dtype ``int8``.

        Raises:
            InvalidObject: ``array`` is stale or not a ``byte[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_byte_array(3)
            >>> jni.set_byte_array_region(array, 0, [1, 2, 3])
            >>> jni.get_byte_array_region(array, 1, 2).tolist()
            [2, 3]

        JNI: GetByteArrayRegion.
        """

    @jni_function(201, overridden=True)
    def get_char_array_region(self, array: CharArray, start: Int, len: Int) -> CharRegion:
        """Return consecutive elements of a ``char[]``.

        Args:
            array: the array.
            start: the index of the first element.
            len: how many elements.

        Returns:
            A copy of one dimension and dtype ``uint16``.

        Raises:
            InvalidObject: ``array`` is stale or not a ``char[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_char_array(3)
            >>> jni.set_char_array_region(array, 0, [ord(unit) for unit in "tea"])
            >>> jni.get_char_array_region(array, 1, 2).tolist()
            [101, 97]

        JNI: GetCharArrayRegion.
        """

    @jni_function(202, overridden=True)
    def get_short_array_region(self, array: ShortArray, start: Int, len: Int) -> ShortRegion:
        """Return consecutive elements of a ``short[]``.

        Args:
            array: the array.
            start: the index of the first element.
            len: how many elements.

        Returns:
            A copy of one dimension and dtype ``int16``.

        Raises:
            InvalidObject: ``array`` is stale or not a ``short[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_short_array(3)
            >>> jni.set_short_array_region(array, 0, [1, 2, 3])
            >>> jni.get_short_array_region(array, 1, 2).tolist()
            [2, 3]

        JNI: GetShortArrayRegion.
        """

    @jni_function(203, overridden=True)
    def get_int_array_region(self, array: IntArray, start: Int, len: Int) -> IntRegion:
        """Return consecutive elements of a ``int[]``.

        Args:
            array: the array.
            start: the index of the first element.
            len: how many elements.

        Returns:
            A copy of one dimension and dtype ``int32``.

        Raises:
            InvalidObject: ``array`` is stale or not a ``int[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_int_array(3)
            >>> jni.set_int_array_region(array, 0, [1, 2, 3])
            >>> jni.get_int_array_region(array, 1, 2).tolist()
            [2, 3]

        JNI: GetIntArrayRegion.
        """

    @jni_function(204, overridden=True)
    def get_long_array_region(self, array: LongArray, start: Int, len: Int) -> LongRegion:
        """Return consecutive elements of a ``long[]``.

        Args:
            array: the array.
            start: the index of the first element.
            len: how many elements.

        Returns:
            A copy of one dimension and dtype ``int64``.

        Raises:
            InvalidObject: ``array`` is stale or not a ``long[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_long_array(3)
            >>> jni.set_long_array_region(array, 0, [1, 2, 3])
            >>> jni.get_long_array_region(array, 1, 2).tolist()
            [2, 3]

        JNI: GetLongArrayRegion.
        """

    @jni_function(205, overridden=True)
    def get_float_array_region(self, array: FloatArray, start: Int, len: Int) -> FloatRegion:
        """Return consecutive elements of a ``float[]``.

        Args:
            array: the array.
            start: the index of the first element.
            len: how many elements.

        Returns:
            A copy of one dimension and dtype ``float32``.

        Raises:
            InvalidObject: ``array`` is stale or not a ``float[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_float_array(3)
            >>> jni.set_float_array_region(array, 0, [0.5, 1.5, 2.5])
            >>> jni.get_float_array_region(array, 1, 2).tolist()
            [1.5, 2.5]

        JNI: GetFloatArrayRegion.
        """

    @jni_function(206, overridden=True)
    def get_double_array_region(self, array: DoubleArray, start: Int, len: Int) -> DoubleRegion:
        """Return consecutive elements of a ``double[]``.

        Args:
            array: the array.
            start: the index of the first element.
            len: how many elements.

        Returns:
            A copy of one dimension and dtype ``float64``.

        Raises:
            InvalidObject: ``array`` is stale or not a ``double[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_double_array(3)
            >>> jni.set_double_array_region(array, 0, [0.5, 1.5, 2.5])
            >>> jni.get_double_array_region(array, 1, 2).tolist()
            [1.5, 2.5]

        JNI: GetDoubleArrayRegion.
        """

    @jni_function(207, overridden=True)
    def set_boolean_array_region(
        self, array: BooleanArray, start: Int, buf: BooleanElements
    ) -> None:
        """Change consecutive elements of a ``boolean[]``.

        Args:
            array: the array.
            start: the index of the first element.
            buf: the new elements, of dtype ``bool``; their number is the length of the range.

        Raises:
            InvalidObject: ``array`` is stale or not a ``boolean[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_boolean_array(3)
            >>> jni.set_boolean_array_region(array, 0, [True, False, True])
            >>> jni.get_boolean_array_region(array, 0, 3).tolist()
            [True, False, True]

        JNI: SetBooleanArrayRegion.
        """

    @jni_function(208, overridden=True)
    def set_byte_array_region(self, array: ByteArray, start: Int, buf: ByteElements) -> None:
        """Change consecutive elements of a ``byte[]``.

        Args:
            array: the array.
            start: the index of the first element.
            buf: the new elements, of dtype ``int8``; their number is the length of the range.

        Raises:
            InvalidObject: ``array`` is stale or not a ``byte[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_byte_array(3)
            >>> jni.set_byte_array_region(array, 0, [1, 2, 3])
            >>> jni.get_byte_array_region(array, 0, 3).tolist()
            [1, 2, 3]

        JNI: SetByteArrayRegion.
        """

    @jni_function(209, overridden=True)
    def set_char_array_region(self, array: CharArray, start: Int, buf: CharElements) -> None:
        """Change consecutive elements of a ``char[]``.

        Args:
            array: the array.
            start: the index of the first element.
            buf: the new elements, of dtype ``uint16``; their number is the length of the range.

        Raises:
            InvalidObject: ``array`` is stale or not a ``char[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_char_array(3)
            >>> jni.set_char_array_region(array, 0, [ord(unit) for unit in "tea"])
            >>> jni.get_char_array_region(array, 0, 3).tolist()
            [116, 101, 97]

        JNI: SetCharArrayRegion.
        """

    @jni_function(210, overridden=True)
    def set_short_array_region(self, array: ShortArray, start: Int, buf: ShortElements) -> None:
        """Change consecutive elements of a ``short[]``.

        Args:
            array: the array.
            start: the index of the first element.
            buf: the new elements, of dtype ``int16``; their number is the length of the range.

        Raises:
            InvalidObject: ``array`` is stale or not a ``short[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_short_array(3)
            >>> jni.set_short_array_region(array, 0, [1, 2, 3])
            >>> jni.get_short_array_region(array, 0, 3).tolist()
            [1, 2, 3]

        JNI: SetShortArrayRegion.
        """

    @jni_function(211, overridden=True)
    def set_int_array_region(self, array: IntArray, start: Int, buf: IntElements) -> None:
        """Change consecutive elements of a ``int[]``.

        Args:
            array: the array.
            start: the index of the first element.
            buf: the new elements, of dtype ``int32``; their number is the length of the range.

        Raises:
            InvalidObject: ``array`` is stale or not a ``int[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_int_array(3)
            >>> jni.set_int_array_region(array, 0, [1, 2, 3])
            >>> jni.get_int_array_region(array, 0, 3).tolist()
            [1, 2, 3]

        JNI: SetIntArrayRegion.
        """

    @jni_function(212, overridden=True)
    def set_long_array_region(self, array: LongArray, start: Int, buf: LongElements) -> None:
        """Change consecutive elements of a ``long[]``.

        Args:
            array: the array.
            start: the index of the first element.
            buf: the new elements, of dtype ``int64``; their number is the length of the range.

        Raises:
            InvalidObject: ``array`` is stale or not a ``long[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_long_array(3)
            >>> jni.set_long_array_region(array, 0, [1, 2, 3])
            >>> jni.get_long_array_region(array, 0, 3).tolist()
            [1, 2, 3]

        JNI: SetLongArrayRegion.
        """

    @jni_function(213, overridden=True)
    def set_float_array_region(self, array: FloatArray, start: Int, buf: FloatElements) -> None:
        """Change consecutive elements of a ``float[]``.

        Args:
            array: the array.
            start: the index of the first element.
            buf: the new elements, of dtype ``float32``; their number is the length of the range.

        Raises:
            InvalidObject: ``array`` is stale or not a ``float[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_float_array(3)
            >>> jni.set_float_array_region(array, 0, [0.5, 1.5, 2.5])
            >>> jni.get_float_array_region(array, 0, 3).tolist()
            [0.5, 1.5, 2.5]

        JNI: SetFloatArrayRegion.
        """

    @jni_function(214, overridden=True)
    def set_double_array_region(self, array: DoubleArray, start: Int, buf: DoubleElements) -> None:
        """Change consecutive elements of a ``double[]``.

        Args:
            array: the array.
            start: the index of the first element.
            buf: the new elements, of dtype ``float64``; their number is the length of the range.

        Raises:
            InvalidObject: ``array`` is stale or not a ``double[]``.
            JavaException: ``ArrayIndexOutOfBoundsException`` for a range outside of the array.

        Example:
            >>> array = jni.new_double_array(3)
            >>> jni.set_double_array_region(array, 0, [0.5, 1.5, 2.5])
            >>> jni.get_double_array_region(array, 0, 3).tolist()
            [0.5, 1.5, 2.5]

        JNI: SetDoubleArrayRegion.
        """

    @jni_function(222, since="1.2", overridden=True, runs_java=False)
    def get_primitive_array_critical(self, array: Array) -> Bytes:
        """Return the content of an array of primitives, read in a critical region.

        Args:
            array: an array of any primitive type.

        Returns:
            A copy of its memory, elements in the target's byte order; the region ends before it
            arrives.

        Raises:
            InvalidObject: ``array`` is stale or not an array of primitives.
            JavaException: ``OutOfMemoryError``.

        Example:
            >>> content = jni.get_primitive_array_critical(prices)
            >>> memoryview(content).cast("i").tolist()
            [5, 10, 15]

        JNI: GetPrimitiveArrayCritical.
        """

    @jni_function(223, since="1.2", overridden=True, while_pending=True)
    def release_primitive_array_critical(
        self, array: Array, carray: Bytes, mode: ReleaseMode | str = ReleaseMode.COPY_BACK
    ) -> None:
        """Write content back into an array of primitives, in a critical region of the agent.

        Args:
            array: an array of any primitive type.
            carray: as many bytes as its elements take, in the target's byte order.
            mode: ``ABORT`` writes nothing; the others write, and as copies need no freeing, do the
                same.

        Raises:
            InvalidObject: ``array`` is stale or not an array of primitives.
            IllegalArgument: the number of bytes is not the size of the array's elements.
            JavaException: ``OutOfMemoryError``.

        Example:
            >>> content = jni.get_primitive_array_critical(prices)
            >>> jni.release_primitive_array_critical(prices, content)

        JNI: ReleasePrimitiveArrayCritical.
        """
