import java.util.*;

/** Threads that allocate, keep some and drop most: the collector stops them at safepoints all the time. */
public class Garbage {
	public static void main(String[] args) throws Exception {
		long[] sums = new long[6];
		Thread[] ts = new Thread[sums.length];
		for (int i = 0; i < ts.length; i++) {
			int me = i;
			ts[i] = new Thread(() -> {
				Map<Integer, byte[]> kept = new HashMap<>();
				for (int k = 0; k < 60000; k++) {
					byte[] b = new byte[200 + k % 300];
					b[0] = (byte) k;
					kept.put(k * 7919 % 1000, b);
					sums[me] += kept.get(k * 7919 % 1000)[0];
				}
			});
			ts[i].start();
		}
		for (int i = 0; i < 3; i++)
			System.gc();
		for (Thread t : ts)
			t.join();
		System.out.println(Arrays.toString(sums));
	}
}
