"""Modules: listing and finding them, and widening what they read, export, open, use and provide."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import LIVE, function
from jvmti.interface.types import Boolean, Text
from jvmti.refs import Class, ClassLoader, Module


class ModuleFunctions(Calling):
    """The functions of the chapter "Module"."""

    __slots__ = ()

    @function(3, phase=LIVE, since="9")
    def get_all_modules(self) -> list[Module]:
        """Return all modules, the unnamed one of each class loader included.

        Returns:
            One handle for each module.

        Example:
            >>> jni.get_module(shop) in env.get_all_modules()
            True

        JVM TI: GetAllModules.
        """

    @function(40, phase=LIVE, since="9", errors=("ILLEGAL_ARGUMENT",))
    def get_named_module(
        self, class_loader: ClassLoader | None, package_name: Text
    ) -> Module | None:
        """Return the named module of a class loader that contains a package.

        Args:
            class_loader: the loader; ``None`` is the bootstrap loader.
            package_name: the package in internal form, as ``java/lang``.

        Returns:
            The module, or ``None`` if no named module of the loader contains the package.

        Raises:
            NullPointer: `package_name` is ``None``.
            IllegalArgument: `class_loader` is not a class loader.

        Example:
            >>> base = env.get_named_module(None, "java/lang")
            >>> base == jni.get_module(jni.find_class("java/lang/String"))
            True

        JVM TI: GetNamedModule.
        """

    @function(
        94, phase=LIVE, since="9", errors=("INVALID_MODULE", "UNMODIFIABLE_MODULE"), runs_java=True
    )
    def add_module_reads(self, module: Module, to_module: Module) -> None:
        """Make a module read another; nothing happens to an unnamed module.

        Args:
            module: the module that reads.
            to_module: the module that is read.

        Raises:
            InvalidModule: one of the two is not a module.
            UnmodifiableModule: `module` cannot be changed.

        Example:
            >>> base = env.get_named_module(None, "java/lang")
            >>> logging = env.get_named_module(None, "java/util/logging")
            >>> env.add_module_reads(logging, base)

        JVM TI: AddModuleReads.
        """

    @function(
        95,
        phase=LIVE,
        since="9",
        errors=("INVALID_MODULE", "ILLEGAL_ARGUMENT", "UNMODIFIABLE_MODULE"),
        runs_java=True,
    )
    def add_module_exports(self, module: Module, pkg_name: Text, to_module: Module) -> None:
        """Make a module export a package to another; nothing happens to an unnamed or open module.

        Args:
            module: the module that exports.
            pkg_name: the package, as ``com.acme.orders``.
            to_module: the module that gains access.

        Raises:
            NullPointer: `pkg_name` is ``None``.
            InvalidModule: one of the two is not a module.
            IllegalArgument: the package is not one of `module`.
            UnmodifiableModule: `module` cannot be changed.

        Example:
            >>> base = env.get_named_module(None, "java/lang")
            >>> env.add_module_exports(base, "sun.nio.ch", jni.get_module(shop))

        JVM TI: AddModuleExports.
        """

    @function(
        96,
        phase=LIVE,
        since="9",
        errors=("INVALID_MODULE", "ILLEGAL_ARGUMENT", "UNMODIFIABLE_MODULE"),
        runs_java=True,
    )
    def add_module_opens(self, module: Module, pkg_name: Text, to_module: Module) -> None:
        """Make a module open a package to another; nothing happens to an unnamed or open module.

        Args:
            module: the module that opens the package.
            pkg_name: the package, as ``com.acme.orders``.
            to_module: the module that gains deep reflective access.

        Raises:
            NullPointer: `pkg_name` is ``None``.
            InvalidModule: one of the two is not a module.
            IllegalArgument: the package is not one of `module`.
            UnmodifiableModule: `module` cannot be changed.

        Example:
            >>> base = env.get_named_module(None, "java/lang")
            >>> env.add_module_opens(base, "java.lang", jni.get_module(shop))

        JVM TI: AddModuleOpens.
        """

    @function(
        97,
        phase=LIVE,
        since="9",
        errors=("INVALID_MODULE", "INVALID_CLASS", "UNMODIFIABLE_MODULE"),
        runs_java=True,
    )
    def add_module_uses(self, module: Module, service: Class) -> None:
        """Add a service to those that a module uses; nothing happens to an unnamed module.

        Args:
            module: the module.
            service: the service's class.

        Raises:
            InvalidModule: `module` is not a module.
            InvalidClass: `service` is not a class.
            UnmodifiableModule: `module` cannot be changed.

        Example:
            >>> base = env.get_named_module(None, "java/lang")
            >>> env.add_module_uses(base, jni.find_class("java/lang/Runnable"))

        JVM TI: AddModuleUses.
        """

    @function(
        98,
        phase=LIVE,
        since="9",
        errors=("INVALID_MODULE", "INVALID_CLASS", "UNMODIFIABLE_MODULE"),
        runs_java=True,
    )
    def add_module_provides(self, module: Module, service: Class, impl_class: Class) -> None:
        """Add a service to those that a module provides; nothing happens to an unnamed module.

        Args:
            module: the module.
            service: the service's class.
            impl_class: the class that implements it.

        Raises:
            InvalidModule: `module` is not a module.
            InvalidClass: `service` or `impl_class` is not a class.
            UnmodifiableModule: `module` cannot be changed.

        Example:
            >>> base = env.get_named_module(None, "java/lang")
            >>> service = jni.find_class("java/lang/Runnable")
            >>> env.add_module_provides(base, service, jni.find_class("java/lang/Thread"))

        JVM TI: AddModuleProvides.
        """

    @function(99, phase=LIVE, since="9", errors=("INVALID_MODULE",))
    def is_modifiable_module(self, module: Module) -> Boolean:
        """Return whether the ``add_module_…`` functions may change a module.

        Args:
            module: the module.

        Returns:
            Always true for an unnamed module.

        Raises:
            InvalidModule: it is not a module.

        Example:
            >>> env.is_modifiable_module(env.get_named_module(None, "java/lang"))
            True

        JVM TI: IsModifiableModule.
        """
