import java.io.File;
import java.util.List;
import org.netbeans.lib.profiler.heap.Heap;
import org.netbeans.lib.profiler.heap.HeapFactory;
import org.netbeans.lib.profiler.heap.Instance;

/**
 * Times the heap library of the NetBeans profiler: for each dump that is named, the seconds until
 * it is open and those until the retained sizes of all objects are known.
 */
public class NetBeans {
    public static void main(String[] arguments) throws Exception {
        for (String path : arguments) {
            long begin = System.nanoTime();
            Heap heap = HeapFactory.createHeap(new File(path));
            long opened = System.nanoTime();
            // The largest of all is not known before each is.
            List<?> largest = heap.getBiggestObjectsByRetainedSize(1);
            long done = System.nanoTime();
            System.out.println(
                (opened - begin) / 1e9 + " " + (done - opened) / 1e9 + " "
                    + heap.getSummary().getTotalLiveInstances() + " "
                    + ((Instance) largest.get(0)).getRetainedSize());
            System.out.flush();
        }
    }
}
