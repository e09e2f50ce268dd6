/** Sleeps in a place of its own, until it is told to end. */
public class Sleeper {
	static void nap() throws Exception {
		Thread.sleep(60000);
	}

	public static void main(String[] args) throws Exception {
		Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
		for (int i = 0; i < 5; i++)
			new Thread(() -> {
				try {
					nap();
				} catch (Exception e) {
				}
			}).start();
		System.out.println("ready");
	}
}
