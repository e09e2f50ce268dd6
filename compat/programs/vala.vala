// vala: threads, asynchronous queues, a pool, a main loop woken by another thread.
int main () {
  var q = new AsyncQueue<string> (); var pool_sum = 0; Mutex m = Mutex (); Cond c = Cond ();
  Thread<int>[] ts = {};
  for (int i = 0; i < 6; i++) ts += new Thread<int> ("w", () => { int n = 0; while (q.pop () != "end") n++; return n; });
  for (int i = 0; i < 3000; i++) q.push ("m%d".printf (i));
  for (int i = 0; i < 6; i++) q.push ("end");
  int t = 0; foreach (var th in ts) t += th.join (); print ("messages %d\n", t);
  try { var p = new ThreadPool<string>.with_owned_data ((s) => { m.lock (); pool_sum += s.length; c.signal (); m.unlock (); }, 4, false);
    for (int i = 0; i < 500; i++) p.add ("x%d".printf (i)); } catch (ThreadError e) { print ("error\n"); }
  m.lock (); while (pool_sum < 500 + 10 + 180 + 1200) c.wait (m); m.unlock (); print ("pool %d\n", pool_sum);
  var loop = new MainLoop (); int ticks = 0;
  Timeout.add (5, () => { if (++ticks == 10) { loop.quit (); return false; } return true; });
  new Thread<void*> ("idle", () => { for (int i = 0; i < 100; i++) { Idle.add (() => { pool_sum++; return false; }); Thread.usleep (100); } return null; });
  loop.run (); print ("ticks %d\n", ticks);
  try { string o; Process.spawn_command_line_sync ("echo child", out o); print ("%s", o); } catch (SpawnError e) { }
  bool timed = false; m.lock (); timed = !c.wait_until (m, get_monotonic_time () + 20000); m.unlock (); print ("timed %s\n", timed.to_string ());
  work.begin ((o, r) => { print ("async %d\n", work.end (r)); loop.quit (); }); loop.run ();
  return 0;
}
async int work () { int r = 0; var th = new Thread<void*> ("bg", () => { for (int i = 0; i < 100000; i++) r = (r * 31 + i) % 10007; Idle.add (work.callback); return null; }); yield; th.join (); return r; }
