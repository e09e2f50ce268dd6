using System;
using System.Collections.Concurrent;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

class Program {
	static void Main() {
		int n = 0;
		object o = new object();
		var ts = Enumerable.Range(0, 8).Select(i => new Thread(() => { for (int j = 0; j < 1000; j++) lock (o) n++; })).ToArray();
		foreach (var t in ts) t.Start();
		foreach (var t in ts) t.Join();
		Console.WriteLine(n);
		Console.WriteLine(Task.WhenAll(Enumerable.Range(0, 50).Select(async i => { await Task.Delay(i % 5); return i; })).Result.Sum());
		long sum = 0;
		Parallel.For(0, 10000, i => { if (new byte[100 + i % 900].Length > 99) Interlocked.Add(ref sum, i); });
		Console.WriteLine(sum);
		int turn = 0;
		var ring = Enumerable.Range(0, 3).Select(i => new Thread(() => {
			for (int k = 0; k < 50; k++)
				lock (o) { while (turn % 3 != i) Monitor.Wait(o); turn++; Monitor.PulseAll(o); }
		})).ToArray();
		foreach (var t in ring) t.Start();
		foreach (var t in ring) t.Join();
		Console.WriteLine(turn);
		bool stop = false;
		var makers = Enumerable.Range(0, 4).Select(i => new Thread(() => { while (!Volatile.Read(ref stop)) new object[50].ToString(); })).ToArray();
		foreach (var t in makers) t.Start();
		for (int i = 0; i < 10; i++) GC.Collect();
		Volatile.Write(ref stop, true);
		foreach (var t in makers) t.Join();
		var sleeper = new Thread(() => { try { Thread.Sleep(100000); } catch (ThreadInterruptedException) { Console.WriteLine("interrupted"); } });
		sleeper.Start();
		Thread.Sleep(20);
		sleeper.Interrupt();
		sleeper.Join();
		try { Recurse(null); } catch (NullReferenceException) { Console.WriteLine("null"); }
		var bag = new BlockingCollection<int>(4);
		var consumer = Task.Run(() => bag.GetConsumingEnumerable().Sum());
		for (int i = 0; i < 500; i++) bag.Add(i);
		bag.CompleteAdding();
		Console.WriteLine(consumer.Result);
	}
	static int Recurse(string s) { return s.Length; }
}
