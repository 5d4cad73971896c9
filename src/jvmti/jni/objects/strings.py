"""Strings: make them from text, and read them as text.

JNI's pointers into a string, or to a copy of it, are ``str`` here: always a copy, so there is
nothing to release.  Lone surrogates survive in both directions.
"""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Int, Long, Text, UnicodeText
from jvmti.refs import String


class StringFunctions(Calling):
    """The functions of the chapter "String operations"."""

    @jni_function(163, early=True)
    def new_string(self, unicode_chars: UnicodeText) -> String:
        """Make a Java string from text, which travels as UTF-16.

        Args:
            unicode_chars: its characters.

        Returns:
            The string.

        Raises:
            JavaException: ``OutOfMemoryError``.

        Example:
            >>> jni.get_string_chars(jni.new_string("naïve"))
            'naïve'

        JNI: NewString.
        """

    @jni_function(164, runs_java=False, early=True)
    def get_string_length(self, string: String) -> Int:
        """Return the length of a string in UTF-16 code units.

        Args:
            string: the string.

        Returns:
            How many ``char`` values it has, as ``String.length`` says.

        Raises:
            InvalidObject: ``string`` is stale or not a ``java.lang.String``.

        Example:
            >>> jni.get_string_length(jni.new_string("naïve"))
            5

        JNI: GetStringLength.
        """

    @jni_function(165, overridden=True, runs_java=False, early=True)
    def get_string_chars(self, string: String) -> UnicodeText:
        """Return the text of a string, which travels as UTF-16.

        Args:
            string: the string.

        Returns:
            A copy of its characters.

        Raises:
            InvalidObject: ``string`` is stale or not a ``java.lang.String``.

        Example:
            >>> jni.get_string_chars(jni.new_string("tea"))
            'tea'

        JNI: GetStringChars.
        """

    @jni_function(167, c_name="NewStringUTF", early=True)
    def new_string_utf(self, bytes: Text) -> String:
        """Make a Java string from text, which travels as modified UTF-8.

        Args:
            bytes: its characters.

        Returns:
            The string.

        Raises:
            JavaException: ``OutOfMemoryError``.

        Example:
            >>> jni.get_string_utf_chars(jni.new_string_utf("tea"))
            'tea'

        JNI: NewStringUTF.
        """

    @jni_function(168, c_name="GetStringUTFLength", runs_java=False, early=True)
    def get_string_utf_length(self, string: String) -> Int:
        """Return the length of a string in bytes of modified UTF-8.

        Args:
            string: the string.

        Returns:
            The number of bytes, without a terminating zero, at most the largest ``int``:
            `get_string_utf_length_as_long` has no such limit.

        Raises:
            InvalidObject: ``string`` is stale or not a ``java.lang.String``.

        Example:
            >>> jni.get_string_utf_length(jni.new_string("naïve"))  # bytes
            6

        JNI: GetStringUTFLength.
        """

    @jni_function(169, overridden=True, c_name="GetStringUTFChars", runs_java=False)
    def get_string_utf_chars(self, string: String) -> Text:
        """Return the text of a string, which travels as modified UTF-8.

        Args:
            string: the string.

        Returns:
            A copy of its characters.

        Raises:
            InvalidObject: ``string`` is stale or not a ``java.lang.String``.

        Example:
            >>> jni.get_string_utf_chars(jni.new_string("tea"))
            'tea'

        JNI: GetStringUTFChars.
        """

    @jni_function(220, since="1.2", overridden=True)
    def get_string_region(self, string: String, start: Int, len: Int) -> UnicodeText:
        """Return a part of a string, which travels as UTF-16.

        Args:
            string: the string.
            start: the index of the first UTF-16 code unit.
            len: how many UTF-16 code units.

        Returns:
            A copy of the part; a surrogate pair that the range cuts leaves a lone surrogate.

        Raises:
            InvalidObject: ``string`` is stale or not a ``java.lang.String``.
            JavaException: ``StringIndexOutOfBoundsException`` for a range outside of the string.

        Example:
            >>> jni.get_string_region(jni.new_string("Corner shop"), 7, 4)
            'shop'

        JNI: GetStringRegion.
        """

    @jni_function(221, since="1.2", overridden=True, c_name="GetStringUTFRegion")
    def get_string_utf_region(self, string: String, start: Int, len: Int) -> Text:
        """Return a part of a string, which travels as modified UTF-8.

        Args:
            string: the string.
            start: the index of the first UTF-16 code unit, not of a byte.
            len: how many UTF-16 code units, not bytes.

        Returns:
            A copy of the part; a surrogate pair that the range cuts leaves a lone surrogate.

        Raises:
            InvalidObject: ``string`` is stale or not a ``java.lang.String``.
            JavaException: ``StringIndexOutOfBoundsException`` for a range outside of the string.

        Example:
            >>> jni.get_string_utf_region(jni.new_string("Corner shop"), 7, 4)
            'shop'

        JNI: GetStringUTFRegion.
        """

    @jni_function(224, since="1.2", overridden=True, runs_java=False)
    def get_string_critical(self, string: String) -> UnicodeText:
        """Return the text of a string, read in a critical region.

        Args:
            string: the string.

        Returns:
            A copy of its characters; the region ends before it arrives.

        Raises:
            InvalidObject: ``string`` is stale or not a ``java.lang.String``.

        Example:
            >>> jni.get_string_critical(jni.new_string("tea"))
            'tea'

        JNI: GetStringCritical.
        """

    @jni_function(235, since="24", c_name="GetStringUTFLengthAsLong", runs_java=False, early=True)
    def get_string_utf_length_as_long(self, string: String) -> Long:
        """Return the length of a string in bytes of modified UTF-8, however long it is.

        Args:
            string: the string.

        Returns:
            The number of bytes, without a terminating zero.

        Raises:
            InvalidObject: ``string`` is stale or not a ``java.lang.String``.
            NotInThisVersion: the target is older than Java 24; use `get_string_utf_length` there.

        Example:
            >>> jni.get_string_utf_length_as_long(jni.new_string("naïve"))
            6

        JNI: GetStringUTFLengthAsLong.
        """
