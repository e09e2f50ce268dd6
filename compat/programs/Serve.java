import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.security.MessageDigest;
import java.util.concurrent.Executors;

/** A server with a pool of thirty-two threads: the digest of the path. */
public class Serve {
	public static void main(String[] args) throws Exception {
		HttpServer s = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 100);
		s.setExecutor(Executors.newFixedThreadPool(32));
		s.createContext("/", x -> {
			try {
				byte[] d = MessageDigest.getInstance("SHA-256").digest(x.getRequestURI().toString().getBytes());
				x.sendResponseHeaders(200, d.length);
				x.getResponseBody().write(d);
			} catch (Exception e) {
				throw new RuntimeException(e);
			}
			x.close();
		});
		s.start();
	}
}
