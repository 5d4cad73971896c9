/** Has methods that give a value of each type, and calls each of them once. */
public class Returned {
    static double aDouble() {
        return 1.68;
    }

    static float aFloat() {
        return -2.5f;
    }

    static long aLong() {
        return 1L << 40;
    }

    static int anInt() {
        return 0;
    }

    static boolean aBoolean() {
        return true;
    }

    static String aString() {
        return "text";
    }

    static Object nothing() {
        return null;
    }

    static void aVoid() {}

    static int thrown() {
        throw new IllegalStateException("on purpose");
    }

    public static void main(String[] arguments) {
        aDouble();
        aFloat();
        aLong();
        anInt();
        aBoolean();
        aString();
        nothing();
        aVoid();
        try {
            thrown();
        } catch (IllegalStateException expected) {
            // it always does
        }
    }
}
