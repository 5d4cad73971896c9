"""Class files: their contents, also in the format of ``javap``.

Nothing here needs a JVM: ``ClassFile(path.read_bytes()).methods``.  Class files of a running VM
come from `jvmti.model.classes.class_files`.
"""

from jvmti.classfile.annotations import Annotation, ClassLiteral, EnumConstant, TypeAnnotation
from jvmti.classfile.constant_pool import Constant, ConstantPool
from jvmti.classfile.disassembly import disassemble, disassemble_method
from jvmti.classfile.instructions import Instruction, instructions
from jvmti.classfile.reading import MalformedClassFile
from jvmti.classfile.structure import ClassFile, Code, FieldInfo, MethodInfo

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
