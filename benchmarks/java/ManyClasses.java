import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/** Loads as many classes as its argument says, in ten loaders, with names as programs have them. */
public class ManyClasses {
    static final String[] WORDS = {
        "Order", "Customer", "Invoice", "Payment", "Shipment", "Catalog", "Session", "Account"
    };

    static class Loader extends ClassLoader {
        Loader(String name) {
            super(name, ManyClasses.class.getClassLoader());
        }

        Class<?> define(String name) throws IOException {
            byte[] bytes = classFile(name);
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    static byte[] classFile(String name) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xCAFEBABE);
        out.writeInt(52);
        out.writeShort(5);
        out.writeByte(7);
        out.writeShort(2);
        out.writeByte(1);
        out.writeUTF(name.replace('.', '/'));
        out.writeByte(7);
        out.writeShort(4);
        out.writeByte(1);
        out.writeUTF("java/lang/Object");
        out.writeShort(0x21);
        out.writeShort(1);
        out.writeShort(3);
        for (int i = 0; i < 4; i++) {
            out.writeShort(0);
        }
        return bytes.toByteArray();
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]);
        Loader[] loaders = new Loader[10];
        for (int i = 0; i < loaders.length; i++) {
            loaders[i] = new Loader("plugin" + i);
        }
        Class<?>[] kept = new Class<?>[count];
        for (int i = 0; i < count; i++) {
            String name = "com.acme." + WORDS[i % 8].toLowerCase() + ".part" + i % 97 + "."
                    + WORDS[i / 8 % 8] + WORDS[i / 64 % 8] + "Handler" + i;
            kept[i] = loaders[i % loaders.length].define(name);
        }
        System.out.println("ready " + kept.length);
        System.in.read();
    }
}
