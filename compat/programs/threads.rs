// The standard library's threads, channels, locks, scoped threads and parking.
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread;
use std::time::Duration;

fn main() {
    let sum = Arc::new(Mutex::new(0u64));
    let all: Vec<_> = (0..8u64).map(|i| { let s = sum.clone(); thread::spawn(move || for _ in 0..1000 { *s.lock().unwrap() += i }) }).collect();
    for t in all { t.join().unwrap() }
    println!("{}", sum.lock().unwrap());
    let (tx, rx) = mpsc::sync_channel(2);
    for i in 0..4u64 { let tx = tx.clone(); thread::spawn(move || for k in 0..100 { tx.send(i * k).unwrap() }); }
    drop(tx);
    println!("{}", rx.iter().sum::<u64>());
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let ring: Vec<_> = (0..3).map(|i| { let p = pair.clone(); thread::spawn(move || for _ in 0..100 {
        let mut t = p.1.wait_while(p.0.lock().unwrap(), |t| *t % 3 != i).unwrap(); *t += 1; p.1.notify_all(); }) }).collect();
    for t in ring { t.join().unwrap() }
    println!("{}", pair.0.lock().unwrap());
    let b = Barrier::new(5);
    let r = RwLock::new(0);
    thread::scope(|s| { for _ in 0..5 { s.spawn(|| { b.wait(); *r.write().unwrap() += 1; b.wait(); assert_eq!(*r.read().unwrap(), 5) }); } });
    println!("{}", r.into_inner().unwrap());
    let t = thread::spawn(|| { thread::park(); thread::park_timeout(Duration::from_millis(5)); 7 });
    t.thread().unpark();
    println!("{} {}", t.join().unwrap(), thread::spawn(|| panic!("expected")).join().is_err());
}
