import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.util.Arrays;

/**
 * Lets native code call it in all forms that JNI has, and tells what has arrived. One command a
 * line, one answer: {@code library PATH} first, then the names below.
 */
public class NativeCalls extends NativeCallsAbove {
    static int twice;
    static int answer = 42;
    static String arrived = "";
    static int times;
    String made;

    NativeCalls() {}

    NativeCalls(boolean z, byte b, char c, short s, int i, long j, float f, double d, String text) {
        made = note("object", z, b, c, s, i, j, f, d, text);
    }

    native int variadicInt(String text);

    static native double listDouble(String text);

    static native NativeCalls variadicObject(String text);

    native long nonvirtualLong(Class<?> above, String text);

    static native int manyTimes(int times);

    static native int whileThrown(String text) throws java.io.IOException;

    static native String thrownByCall(String text);

    static native String framed(int depth);

    static native int borrowed(String text, Object[] arrays);

    static native String regions(String text, int[] ints);

    static native int registered();

    static native String direct(IntBuffer ints, ByteBuffer none);

    static native int reflected(Field field, Object[] back);

    static String note(Object... values) {
        times++;
        arrived = Arrays.toString(values);
        return arrived;
    }

    int takesInt(boolean z, byte b, char c, short s, int i, long j, float f, double d, String text) {
        note("int", z, b, c, s, i, j, f, d, text);
        return i + 1;
    }

    static double takesDouble(
            boolean z, byte b, char c, short s, int i, long j, float f, double d, String text) {
        note("double", z, b, c, s, i, j, f, d, text);
        return d + 1;
    }

    @Override
    long takesLong(
            boolean z, byte b, char c, short s, int i, long j, float f, double d, String text) {
        throw new AssertionError("the method of the class above was meant");
    }

    static int twice(int value) {
        twice++;
        return 2 * value;
    }

    static long fails(String text) {
        times++;
        throw new IllegalStateException(text);
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String answer;
            try {
                answer = answer(line.split(" ", 2));
            } catch (RuntimeException thrown) {
                answer = "error " + thrown;
            }
            System.out.println(answer);
        }
    }

    static String answer(String[] words) throws Exception {
        String text = words.length > 1 ? words[1] : "";
        NativeCalls object = new NativeCalls();
        arrived = "nothing";
        switch (words[0]) {
            case "library":
                System.load(text);
                return "loaded";
            case "int":
                return object.variadicInt(text) + " " + arrived;
            case "double":
                return listDouble(text) + " " + arrived;
            case "object":
                NativeCalls found = variadicObject(text);
                return found == null ? "null" : found.made + " " + found.getClass().getName();
            case "long":
                return object.nonvirtualLong(NativeCallsAbove.class, text) + " " + arrived;
            case "many":
                twice = 0;
                return manyTimes(Integer.parseInt(text)) + " " + twice;
            case "thrown":
                try {
                    return whileThrown(text) + " without an exception";
                } catch (java.io.IOException expected) {
                    return expected.getMessage();
                }
            case "fails":
                return thrownByCall(text);
            case "borrowed":
                Object[] arrays = {
                    new boolean[] {false}, new byte[] {1}, new char[] {2}, new short[] {3},
                    new int[] {4}, new long[] {5}, new float[] {6}, new double[] {7}
                };
                return Integer.toString(borrowed(text, arrays));
            case "regions":
                int[] ints = {10, 20, 30};
                return regions(text, ints) + " " + Arrays.toString(ints);
            case "direct":
                ByteBuffer direct = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder());
                return direct(direct.asIntBuffer().put(1, 7), ByteBuffer.allocate(8));
            case "framed":
                return framed(Integer.parseInt(text));
            case "reflected":
                Field field = NativeCalls.class.getDeclaredField("answer");
                Object[] back = new Object[1];
                return reflected(field, back) + " " + field.equals(back[0]);
            case "times":
                return Integer.toString(times);
            default:
                return "error: " + words[0];
        }
    }
}

class NativeCallsAbove {
    long takesLong(
            boolean z, byte b, char c, short s, int i, long j, float f, double d, String text) {
        NativeCalls.note("long", z, b, c, s, i, j, f, d, text);
        return j + 1;
    }
}
