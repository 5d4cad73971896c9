import java.util.HashMap;
import java.util.Map;

/** An object with twenty fields and a map of ten thousand strings, for `model.py` to read. */
public class Model {
    static class Twenty {
        boolean a = true;
        byte b = 2;
        char c = 'c';
        short d = 4;
        int e = 5;
        long f = 6;
        float g = 7;
        double h = 8;
        String i = "nine";
        String j = "ten";
        String k = null;
        Object l = new Object();
        int[] m = {13};
        Integer n = 14;
        int o = 15;
        int p = 16;
        long q = 17;
        long r = 18;
        double s = 19;
        String t = "twenty";

        int add(int x, int y) {
            return x + y;
        }
    }

    static Twenty twenty = new Twenty();
    static Map<String, String> map = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 10_000; ++i) {
            map.put("key " + i, "the value of " + i);
        }
        System.out.println("ready");
        System.in.read();
    }
}
