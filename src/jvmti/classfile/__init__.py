"""Class files: their contents, also in the format of ``javap``.

Nothing here needs a JVM: ``ClassFile(path.read_bytes()).methods``.  Class files of a running VM
come from `jvmti.model.classes.class_files`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.reexports import reexports

if TYPE_CHECKING:
    from jvmti.classfile.annotations import Annotation, ClassLiteral, EnumConstant, TypeAnnotation
    from jvmti.classfile.constant_pool import Constant, ConstantPool
    from jvmti.classfile.disassembly import disassemble, disassemble_method
    from jvmti.classfile.opcodes import Instruction, instructions
    from jvmti.classfile.reading import MalformedClassFile
    from jvmti.classfile.structure import ClassFile, Code, FieldInfo, MethodInfo
else:
    __getattr__, __dir__ = reexports(
        __name__,
        {
            "Annotation": "jvmti.classfile.annotations",
            "ClassFile": "jvmti.classfile.structure",
            "ClassLiteral": "jvmti.classfile.annotations",
            "Code": "jvmti.classfile.structure",
            "Constant": "jvmti.classfile.constant_pool",
            "ConstantPool": "jvmti.classfile.constant_pool",
            "EnumConstant": "jvmti.classfile.annotations",
            "FieldInfo": "jvmti.classfile.structure",
            "Instruction": "jvmti.classfile.opcodes",
            "MalformedClassFile": "jvmti.classfile.reading",
            "MethodInfo": "jvmti.classfile.structure",
            "TypeAnnotation": "jvmti.classfile.annotations",
            "disassemble": "jvmti.classfile.disassembly",
            "disassemble_method": "jvmti.classfile.disassembly",
            "instructions": "jvmti.classfile.opcodes",
        },
    )


__all__ = [
    "Annotation",
    "ClassFile",
    "ClassLiteral",
    "Code",
    "Constant",
    "ConstantPool",
    "EnumConstant",
    "FieldInfo",
    "Instruction",
    "MalformedClassFile",
    "MethodInfo",
    "TypeAnnotation",
    "disassemble",
    "disassemble_method",
    "instructions",
]
