// SPDX-License-Identifier: Apache-2.0
// A server of the JDK's own, and its clients in eight threads: connections, text, compression, hashes,
// tables and sorting.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

public class Serve {
	static final Pattern QUERY = Pattern.compile("(\\w+)=(\\d+)");
	static final Map<String, byte[]> seen = new ConcurrentHashMap<>();

	static byte[] page(String query) throws Exception {
		Map<String, Integer> values = new HashMap<>();
		Matcher matcher = QUERY.matcher(query);
		while (matcher.find())
			values.put(matcher.group(1), Integer.parseInt(matcher.group(2)));
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < values.getOrDefault("rows", 10); i++)
			text.append(String.format("%d,%s,%x;", i, Integer.toString(i * 7919 % 1009, 36), i));
		String sorted = Arrays.stream(text.toString().split(";")).sorted()
			.collect(Collectors.joining("\n"));
		byte[] digest = MessageDigest.getInstance("SHA-256").digest(sorted.getBytes("UTF-8"));
		seen.put(query, digest);
		if (seen.size() > 2000)
			seen.clear();
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
			out.write(sorted.getBytes("UTF-8"));
			out.write(digest);
		}
		return bytes.toByteArray();
	}

	static void answer(HttpExchange exchange) throws IOException {
		try {
			byte[] bytes = page(exchange.getRequestURI().getQuery());
			exchange.sendResponseHeaders(200, bytes.length);
			exchange.getResponseBody().write(bytes);
		} catch (Exception e) {
			throw new IOException(e);
		} finally {
			exchange.close();
		}
	}

	public static void main(String[] arguments) throws Exception {
		HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
		server.createContext("/", Serve::answer);
		server.setExecutor(Executors.newFixedThreadPool(8));
		server.start();
		String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/?rows=";
		int[] turns = new int[8];
		Load.run("j-Serve", number -> {
			int rows = 50 + turns[number]++ * 37 % 300;
			byte[] part = new byte[1000];
			try (InputStream in = new GZIPInputStream(
					new URL(url + rows + "&user=" + number).openStream())) {
				while (in.read(part) > 0)
					;
			}
		});
	}
}
