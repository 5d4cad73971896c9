import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Holds on to more than it needs, in known ways. "g" lets the leak grow, end of input ends. */
public class Leaking {
    static class Entry {
        final byte[] content = new byte[1000];
    }

    static class Marker {}

    static final List<Entry> LEAK = new ArrayList<>();
    static final List<Object> KEPT = new ArrayList<>();
    static final ThreadLocal<long[]> LOCAL = new ThreadLocal<>();
    static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 2000; i++) {
            LEAK.add(new Entry());
        }
        for (int i = 0; i < 300; i++) {
            KEPT.add(new String("the same text again and again"));
            KEPT.add(new int[] {7, 8, 9, 7, 8, 9, 7, 8, 9});
            KEPT.add(new ArrayList<Object>(100));
        }
        Map<Object, Object> large = new HashMap<>(5000);
        Map<Object, Object> concurrent = new ConcurrentHashMap<>();
        Map<Object, Object> identity = new IdentityHashMap<>(1000);
        for (int i = 0; i < 10; i++) {
            large.put("key " + i, i);
            concurrent.put("key " + i, i);
            identity.put("key " + i, i);
        }
        KEPT.add(large);
        KEPT.add(concurrent);
        KEPT.add(identity);
        LOCAL.set(new long[54321]);
        KEPT.add(ByteBuffer.allocateDirect(1 << 20));
        KEPT.add(ByteBuffer.allocateDirect(1 << 16).slice());
        try (FileChannel sink = FileChannel.open(Path.of("/dev/null"), StandardOpenOption.WRITE)) {
            sink.write(ByteBuffer.allocate(12345)); // by way of a buffer of this thread's
        }
        KEPT.add(new WeakReference<>(new Object(), QUEUE));
        URL[] path = {Leaking.class.getProtectionDomain().getCodeSource().getLocation()};
        for (int i = 0; i < 3; i++) {
            KEPT.add(new URLClassLoader(path, null).loadClass("Leaking$Marker"));
        }
        System.gc();
        System.out.println("ready");
        for (int read = System.in.read(); read >= 0; read = System.in.read()) {
            if (read == 'g') {
                for (int i = 0; i < 1000; i++) {
                    LEAK.add(new Entry());
                }
                System.out.println("grown");
            }
        }
    }
}
