// Rust's standard library threads: its locks are futexes by syscall(), its parking too; spawn,
// scope, join with panics, channels, Mutex, RwLock, Condvar, Barrier, Once, thread_local with
// destructors, park.
//
// Build: rustc -O -o rust-std-threads rust-std-threads.rs

use std::cell::RefCell;
use std::net::{TcpListener, TcpStream};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock};
use std::thread;
use std::time::{Duration, Instant};

static DROPPED: AtomicUsize = AtomicUsize::new(0);

struct Traced(usize);

impl Drop for Traced {
    fn drop(&mut self) {
        thread::yield_now();
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

thread_local! {
    static LOCAL: RefCell<Option<Traced>> = RefCell::new(None);
}

fn passed(what: &str) {
    println!("ok {}", what);
}

fn mutexes() {
    let count = Arc::new(Mutex::new(0usize));
    let threads: Vec<_> = (0..60)
        .map(|i| {
            let count = count.clone();
            thread::spawn(move || {
                LOCAL.with(|l| *l.borrow_mut() = Some(Traced(i)));
                for k in 0..300 {
                    let mut c = count.lock().unwrap();
                    *c += 1;
                    if k % 50 == 0 {
                        thread::yield_now();
                    }
                }
                LOCAL.with(|l| assert_eq!(l.borrow().as_ref().unwrap().0, i));
                i
            })
        })
        .collect();
    for (i, t) in threads.into_iter().enumerate() {
        assert_eq!(t.join().unwrap(), i);
    }
    assert_eq!(*count.lock().unwrap(), 60 * 300);
    assert_eq!(DROPPED.load(Ordering::SeqCst), 60);
    passed("mutex and thread locals of 60 threads");
}

fn conditions() {
    let pair = Arc::new((Mutex::new(0usize), Condvar::new()));
    let threads: Vec<_> = (0..10)
        .map(|me| {
            let pair = pair.clone();
            thread::spawn(move || {
                for _ in 0..100 {
                    let mut turn = pair.0.lock().unwrap();
                    while *turn % 10 != me {
                        turn = pair.1.wait(turn).unwrap();
                    }
                    *turn += 1;
                    pair.1.notify_all();
                }
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    let turn = pair.0.lock().unwrap();
    assert_eq!(*turn, 1000);
    let began = Instant::now();
    let (_turn, r) = pair
        .1
        .wait_timeout_while(turn, Duration::from_millis(30), |_| true)
        .unwrap();
    assert!(r.timed_out() && began.elapsed() >= Duration::from_millis(30));
    passed("condvar, 1000 turns in order");
}

fn channels() {
    let (tx, rx) = mpsc::sync_channel(3);
    let producers: Vec<_> = (0..20)
        .map(|i| {
            let tx = tx.clone();
            thread::spawn(move || {
                for k in 0..200usize {
                    tx.send(i * 200 + k).unwrap();
                }
            })
        })
        .collect();
    drop(tx);
    let mut seen = vec![false; 4000];
    for v in rx {
        assert!(!seen[v]);
        seen[v] = true;
    }
    assert!(seen.iter().all(|s| *s));
    for p in producers {
        p.join().unwrap();
    }
    passed("4000 messages through a bounded channel");
}

fn rwlocks_barriers_once() {
    let data = RwLock::new((0u64, 0u64));
    let barrier = Barrier::new(20);
    let once = Once::new();
    let ran = AtomicUsize::new(0);
    let leaders = AtomicUsize::new(0);
    thread::scope(|s| {
        for i in 0..20 {
            let (data, barrier, once, ran, leaders) = (&data, &barrier, &once, &ran, &leaders);
            s.spawn(move || {
                once.call_once(|| {
                    thread::sleep(Duration::from_millis(5));
                    ran.fetch_add(1, Ordering::SeqCst);
                });
                assert_eq!(ran.load(Ordering::SeqCst), 1);
                for k in 0..100 {
                    if (i + k) % 10 == 0 {
                        let mut d = data.write().unwrap();
                        d.0 += 1;
                        thread::yield_now();
                        d.1 += 1;
                    } else {
                        let d = data.read().unwrap();
                        assert_eq!(d.0, d.1);
                    }
                    if k % 10 == 0 && barrier.wait().is_leader() {
                        leaders.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    assert_eq!(*data.read().unwrap(), (200, 200));
    assert_eq!(leaders.load(Ordering::SeqCst), 10);
    passed("scope, rwlock, barrier, once");
}

fn panics_and_parking() {
    std::panic::set_hook(Box::new(|_| {}));
    for i in 0..20 {
        let t = thread::Builder::new()
            .name(format!("worker {}", i))
            .stack_size(64 * 1024)
            .spawn(move || {
                assert_eq!(thread::current().name(), Some(format!("worker {}", i).as_str()));
                thread::yield_now();
                if i % 2 == 0 {
                    panic!("panic {}", i);
                }
                i
            })
            .unwrap();
        match t.join() {
            Ok(v) => assert!(v == i && i % 2 == 1),
            Err(e) => assert_eq!(*e.downcast::<String>().unwrap(), format!("panic {}", i)),
        }
    }
    let go = Arc::new(AtomicUsize::new(0));
    let parked: Vec<_> = (0..20)
        .map(|_| {
            let go = go.clone();
            thread::spawn(move || {
                thread::park_timeout(Duration::from_millis(1));
                while go.load(Ordering::SeqCst) == 0 {
                    thread::park();
                }
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(20));
    go.store(1, Ordering::SeqCst);
    for t in parked {
        t.thread().unpark();
        t.join().unwrap();
    }
    passed("panics reach the joiner, parked threads are unparked");
}

fn sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let echoes: Vec<_> = (0..50)
            .map(|_| {
                let (mut s, _) = listener.accept().unwrap();
                thread::spawn(move || {
                    let mut buf = [0u8; 64];
                    loop {
                        let n = s.read(&mut buf).unwrap();
                        if n == 0 {
                            break;
                        }
                        s.write_all(&buf[..n]).unwrap();
                    }
                })
            })
            .collect();
        for e in echoes {
            e.join().unwrap();
        }
    });
    thread::scope(|s| {
        for i in 0..50 {
            s.spawn(move || {
                let mut c = TcpStream::connect(addr).unwrap();
                for k in 0..20 {
                    let out = format!("client {} message {}", i, k);
                    let mut back = vec![0u8; out.len()];
                    c.write_all(out.as_bytes()).unwrap();
                    c.read_exact(&mut back).unwrap();
                    assert_eq!(back, out.as_bytes());
                }
            });
        }
    });
    server.join().unwrap();
    passed("50 connections, a thread on each side");
}

fn main() {
    mutexes();
    conditions();
    channels();
    rwlocks_barriers_once();
    panics_and_parking();
    sockets();
}
