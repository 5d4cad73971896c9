"""Counts the calls of all methods of chosen classes, by code that is put into the classes.

    jvmti run minst.py=com.acme.* -- java -jar app.jar

When a class is loaded, each of its methods gets a static field and eight bytes of bytecode that add
one to it.  After that the program runs at full speed, and does the counting itself.
"""

from fnmatch import fnmatchcase
from struct import pack, unpack_from

from jvmti.interface.constants import ClassStatus

wanted = "*"
methods_of = {}  # the name of a class: those of its methods, in the order of the fields


def agent_onload(vm, options):
    global wanted
    wanted = options or "*"
    vm.env.on("ClassFileLoadHook", loading)


def loading(event):
    name = (event.name or "").replace("/", ".")
    if event.class_being_redefined or not name or not fnmatchcase(name, wanted):
        return None
    methods_of[name] = []
    return ClassFile(event.class_data).counting(methods_of[name])


def agent_onunload(vm):
    for cls in vm.classes(wanted):
        if not cls.status & ClassStatus.PREPARED:
            continue  # loaded, and never used
        fields = {field.name: field for field in cls.fields}
        for number, method in enumerate(methods_of.get(cls.name, ())):
            calls = vm.jni.get_static_long_field(cls, fields[f"calls${number}"])
            print(f"{cls.name}.{method}: {calls} calls")


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, size):
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, size=2):
        return int.from_bytes(self.take(size), "big")


class ClassFile(Reader):
    """A class file, as far as it must be understood."""

    def __init__(self, data):
        super().__init__(data, 8)
        self.texts, self.added = {}, b""
        self.constants = self.number()
        index = 1
        while index < self.constants:
            tag = self.number(1)
            if tag == 1:
                self.texts[index] = self.take(self.number())
            else:  # classes and the like have two bytes, long and double eight, most have four
                self.take({5: 8, 6: 8, 15: 3}.get(tag, 2 if tag in (7, 8, 16, 19, 20) else 4))
            index += 2 if tag in (5, 6) else 1  # long and double count for two
        self.pool_end = self.at

    def constant(self, *parts):
        """Add a constant; its index."""
        self.added += b"".join(parts)
        self.constants += 1
        return self.constants - 1

    def member(self):
        """A field or method: its head, and its attributes by name."""
        head = self.take(6)
        return head, [(self.number(), self.take(self.number(4))) for _ in range(self.number())]

    def counting(self, names):
        """The class file with a counter in each method, whose names are added to the list."""
        access, this, _ = unpack_from(">HHH", self.take(6))
        if access & 0x0200:
            return None  # an interface cannot have such fields
        self.take(2 * self.number())
        fields_at, kind, fields, methods = self.at, self.constant(b"\1\0\1J"), b"", b""
        old = len([self.member() for _ in range(self.number())])
        fields_end, count = self.at, self.number()
        for _ in range(count):
            head, attributes = self.member()
            methods += head + pack(">H", len(attributes))
            for name, content in attributes:
                if self.texts[name] == b"Code":
                    text = f"calls${len(names)}".encode()
                    field = self.constant(b"\1", pack(">H", len(text)), text)
                    fields += pack(">HHHH", 0x1009, field, kind, 0)  # public static synthetic
                    pair = self.constant(b"\x0c", pack(">HH", field, kind))
                    content = self.longer(content, self.constant(b"\x09", pack(">HH", this, pair)))
                    _, at, signature = unpack_from(">HHH", head)
                    names.append((self.texts[at] + self.texts[signature]).decode())
                methods += pack(">HI", name, len(content)) + content
        head = self.data[:8] + pack(">H", self.constants) + self.data[10 : self.pool_end]
        middle = self.data[self.pool_end : fields_at] + pack(">H", old + len(names))
        fields = self.data[fields_at + 2 : fields_end] + fields + pack(">H", count)
        return head + self.added + middle + fields + methods + self.data[self.at :]

    def longer(self, code, field):
        """A Code attribute with eight bytes more in front: every place that is named moves."""
        stack, local, size = unpack_from(">HHI", code)
        rest = Reader(code, 8 + size)
        # getstatic, lconst_1, ladd, putstatic; switches stay aligned because it is twice four.
        begin = pack(">BHBBBH", 0xB2, field, 0x0A, 0x61, 0xB3, field)
        made = pack(">HHI", stack + 4, local, size + 8) + begin + code[8 : 8 + size]
        handlers = [unpack_from(">HHHH", rest.take(8)) for _ in range(rest.number())]
        made += pack(">H", len(handlers))
        made += b"".join(pack(">HHHH", a + 8, b + 8, c + 8, kind) for a, b, c, kind in handlers)
        attributes = [(rest.number(), rest.take(rest.number(4))) for _ in range(rest.number())]
        # Lines, names of variables and the like are left out; the verifier needs the frames.
        kept = [(name, frames(Reader(table))) for name, table in attributes
                if self.texts[name] == b"StackMapTable"]  # fmt: skip
        attributes = [pack(">HI", name, len(table)) + table for name, table in kept]
        return made + pack(">H", len(kept)) + b"".join(attributes)


def frames(table):
    """A StackMapTable for code that has grown in front."""
    made = table.take(2)
    for index in range(int.from_bytes(made, "big")):
        kind = table.number(1)
        if kind < 128:  # a short form that holds the distance too
            kind, distance = 251 if kind < 64 else 247, kind % 64
        else:
            distance = table.number()
        # The distance is from the frame before, so only the first one has moved.
        made += pack(">BH", kind, distance + (0 if index else 8))
        counts = {247: (1,), 252: (1,), 253: (2,), 254: (3,), 255: (None, None)}.get(kind, ())
        for count in counts:
            if count is None:
                made += table.take(2)
                [count] = unpack_from(">H", made, len(made) - 2)
            for _ in range(count):
                tag = table.take(1)
                made += tag
                if tag == b"\7":
                    made += table.take(2)
                elif tag == b"\x08":  # not initialised yet: where it was made
                    made += pack(">H", table.number() + 8)
    return made
