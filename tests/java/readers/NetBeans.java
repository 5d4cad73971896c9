package readers;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.PrintStream;
import java.util.Iterator;
import java.util.List;
import org.netbeans.lib.profiler.heap.FieldValue;
import org.netbeans.lib.profiler.heap.GCRoot;
import org.netbeans.lib.profiler.heap.Heap;
import org.netbeans.lib.profiler.heap.HeapFactory;
import org.netbeans.lib.profiler.heap.Instance;
import org.netbeans.lib.profiler.heap.JavaClass;
import org.netbeans.lib.profiler.heap.ObjectArrayInstance;
import org.netbeans.lib.profiler.heap.ObjectFieldValue;
import org.netbeans.lib.profiler.heap.PrimitiveArrayInstance;

/**
 * What the heap library of the NetBeans profiler finds in a dump, a line for each root, class and
 * object. An object's line has its address, class, size, retained size, whether a root leads to it,
 * and what it refers to; the classes that begin with the second argument get their values as well.
 */
public class NetBeans {
    private static final PrintStream OUT =
        new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false);

    public static void main(String[] arguments) throws Exception {
        Heap heap = HeapFactory.createHeap(new File(arguments[0]));
        for (Object one : heap.getGCRoots()) {
            GCRoot root = (GCRoot) one;
            if (root.getInstance() != null) {
                OUT.println("root\t" + root.getInstance().getInstanceId() + "\t" + root.getKind());
            }
        }
        for (Object one : heap.getAllClasses()) {
            JavaClass found = (JavaClass) one;
            OUT.print("class\t" + found.getJavaClassId() + "\t" + found.getName() + "\t");
            OUT.println(found.getInstancesCount() + "\t" + references(found.getStaticFieldValues()));
        }
        for (Iterator<?> all = heap.getAllInstancesIterator(); all.hasNext();) {
            Instance found = (Instance) all.next();
            String name = found.getJavaClass().getName();
            OUT.print("object\t" + found.getInstanceId() + "\t" + name + "\t" + found.getSize());
            OUT.print("\t" + found.getRetainedSize() + "\t");
            OUT.print((found.getNearestGCRootPointer() != null) + "\t");
            if (found instanceof ObjectArrayInstance) {
                OUT.print(instances(((ObjectArrayInstance) found).getValues()));
            } else if (!(found instanceof PrimitiveArrayInstance)) {
                OUT.print(references(found.getFieldValues()));
            }
            OUT.println(name.startsWith(arguments[1]) ? values(found) : "");
        }
        OUT.flush();
    }

    private static String references(List<?> fields) {
        StringBuilder text = new StringBuilder();
        for (Object field : fields) {
            if (field instanceof ObjectFieldValue) {
                add(text, ((ObjectFieldValue) field).getInstance());
            }
        }
        return text.toString();
    }

    private static String instances(List<?> elements) {
        StringBuilder text = new StringBuilder();
        for (Object element : elements) {
            add(text, (Instance) element);
        }
        return text.toString();
    }

    private static void add(StringBuilder text, Instance target) {
        if (target != null) {
            text.append(target.getInstanceId()).append(' ');
        }
    }

    private static String values(Instance found) {
        StringBuilder text = new StringBuilder("\t");
        for (Object one : found.getFieldValues()) {
            FieldValue field = (FieldValue) one;
            if (!(field instanceof ObjectFieldValue)) {
                text.append(field.getField().getName()).append('=').append(field.getValue());
                text.append('\t');
            }
        }
        return text.toString();
    }
}
