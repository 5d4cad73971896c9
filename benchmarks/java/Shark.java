import java.io.File;
import java.util.Collections;
import java.util.EnumSet;
import shark.CloseableHeapGraph;
import shark.HprofHeapGraph;
import shark.HprofRecordTag;
import shark.internal.ObjectDominators;

/**
 * Times Shark, LeakCanary's reader of dumps, as NetBeans.java times that one. It shows a dominator
 * tree down to some retained size; asked for what is larger than all, it only computes it.
 */
public class Shark {
    public static void main(String[] arguments) throws Exception {
        for (String path : arguments) {
            long begin = System.nanoTime();
            CloseableHeapGraph graph = HprofHeapGraph.Companion.openHeapGraph(
                new File(path), null, EnumSet.allOf(HprofRecordTag.class));
            long opened = System.nanoTime();
            String tree = new ObjectDominators().renderDominatorTree(
                graph, Collections.emptyList(), Integer.MAX_VALUE, null, false);
            long done = System.nanoTime();
            System.out.println((opened - begin) / 1e9 + " " + (done - opened) / 1e9 + " "
                + graph.getObjectCount() + " " + tree.length());
            System.out.flush();
            graph.close();
        }
    }
}
