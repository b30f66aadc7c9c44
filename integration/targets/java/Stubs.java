// SPDX-License-Identifier: Apache-2.0
// What the JVM has assembly for: copies, fills, hashes, ciphers, check sums, mathematics.
//
// seen: arraycopy sha256_implCompress
// chain: main@main > LIBRARY
// chain: main@main turn@turn > (copies@copies|fills@fills|hashes@hashes|ciphers@ciphers|sums@sums|mathematics@mathematics|compares@compares|big@big) LIBRARY

import java.math.BigInteger;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;

public class Stubs {
	static int copies(byte[] bytes, int[] ints, Object[] objects, Object[] strings) {
		System.arraycopy(bytes, 0, bytes, 1, bytes.length - 1); //: copies
		System.arraycopy(ints, 3, ints, 0, ints.length - 3); //: copies
		System.arraycopy(objects, 0, objects, 1, objects.length - 1); //: copies
		System.arraycopy(objects, 0, strings, 0, objects.length); //: copies
		byte[] copy = bytes.clone(); //: copies
		return Arrays.copyOf(ints, ints.length)[0] + copy[3]; //: copies
	}

	static int fills(byte[] bytes, int[] ints) {
		Arrays.fill(bytes, (byte)3); //: fills
		Arrays.fill(ints, 7); //: fills
		return new int[20000][1].length; //: fills
	}

	static int hashes(MessageDigest[] digests, byte[] bytes) {
		int sum = 0; //: hashes
		for (MessageDigest digest : digests) //: hashes
			sum += digest.digest(bytes)[0]; //: hashes
		return sum; //: hashes
	}

	static int ciphers(Cipher cipher, byte[] bytes) throws Exception {
		return cipher.doFinal(bytes)[0]; //: ciphers
	}

	static int sums(byte[] bytes) {
		CRC32 crc = new CRC32(); //: sums
		crc.update(bytes, 0, bytes.length); //: sums
		Adler32 adler = new Adler32(); //: sums
		adler.update(bytes, 0, bytes.length); //: sums
		return (int)(crc.getValue() + adler.getValue()); //: sums
	}

	static int mathematics(int n) {
		double sum = 0; //: mathematics
		for (int i = 0; i < n; i++) //: mathematics
			sum += Math.sin(i) * Math.pow(i, 0.3) + Math.exp(i % 7) + Math.log(i + 1); //: mathematics
		return (int)sum; //: mathematics
	}

	static int compares(byte[] bytes, byte[] other, String text) {
		int sum = Arrays.equals(bytes, other) ? 1 : 2; //: compares
		sum += text.indexOf("needle") + text.hashCode(); //: compares
		return sum + text.compareTo(text.substring(1)); //: compares
	}

	static int big(BigInteger number) {
		return number.multiply(number).mod(number.add(BigInteger.TEN)).intValue(); //: big
	}

	static int turn(Object[] objects, MessageDigest[] digests, Cipher cipher, BigInteger number,
			String text) throws Exception {
		byte[] bytes = new byte[20000]; //: turn
		int[] ints = new int[10000]; //: turn
		int sum = copies(bytes, ints, objects, new String[objects.length]); //: turn
		sum += fills(bytes, ints); //: turn
		sum += hashes(digests, bytes); //: turn
		sum += ciphers(cipher, bytes); //: turn
		sum += sums(bytes); //: turn
		sum += mathematics(100); //: turn
		sum += compares(bytes, new byte[20000], text); //: turn
		sum += big(number); //: turn
		return sum; //: turn
	}

	public static void main(String[] arguments) throws Exception {
		String[] names = { "MD5", "SHA-1", "SHA-256", "SHA-512" };
		MessageDigest[] digests = new MessageDigest[names.length];
		for (int i = 0; i < names.length; i++)
			digests[i] = MessageDigest.getInstance(names[i]);
		Cipher cipher = Cipher.getInstance("AES/CBC/PKCS5Padding");
		cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"));
		Object[] objects = new Object[5000];
		Arrays.fill(objects, "text");
		BigInteger number = BigInteger.ONE.shiftLeft(4000).subtract(BigInteger.valueOf(19));
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < 2000; i++)
			text.append("nnneee");
		for (int i = 0; i < 3; i++)
			Target.sink += turn(objects, digests, cipher, number, text.toString());
		Target.ready(Stubs.class);
		while (true) //: main
			Target.sink += turn(objects, digests, cipher, number, text.toString()); //: main
	}
}
