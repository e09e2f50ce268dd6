// An echo server in plain Rust: a thread per connection, everything from the standard library.
//
// Usage: rust-echo PORT.  Ends by SIGTERM's default action.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

fn serve(mut connection: TcpStream) -> std::io::Result<()> {
    let mut bytes = [0u8; 4096];
    connection.set_nodelay(true)?;
    loop {
        let n = connection.read(&mut bytes)?;
        if n == 0 {
            return Ok(());
        }
        connection.write_all(&bytes[..n])?;
    }
}

fn main() {
    let port: u16 = std::env::args().nth(1).and_then(|s| s.parse().ok()).expect("a port");
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port");
    for connection in listener.incoming() {
        let connection = connection.expect("a connection");
        // A client that goes away is its own affair.
        thread::spawn(move || drop(serve(connection)));
    }
}
