//! An S3 endpoint on loopback, in a thread of the test: it can be slow, go away and come back.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "every test crate uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// The credentials that the endpoint takes, and the only bucket in it.
pub const KEY: &str = "AKIALAKETESTS";
pub const SECRET: &str = "lake+tests/secret/4f1d";
pub const BUCKET: &str = "lake-bucket";

/// What is known of the requests.
#[derive(Default)]
pub struct Requests {
    delay_ms: AtomicU64,
    heads: AtomicUsize,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
}

/// A running endpoint; it ends when this is dropped.
pub struct Store {
    pub folder: TempDir,
    pub requests: Arc<Requests>,
    address: SocketAddr,
    running: Option<(Arc<Notify>, JoinHandle<()>)>,
}

impl Store {
    /// Starts an endpoint with one empty bucket.
    pub fn start() -> Store {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut store = Store { folder, requests: Arc::default(), address, running: None };
        store.resume();
        store
    }

    /// `host:port`.
    pub fn endpoint(&self) -> String {
        self.address.to_string()
    }

    /// Where the object called `key` is kept.
    pub fn object(&self, key: &str) -> PathBuf {
        self.folder.path().join(BUCKET).join(key)
    }

    /// Lets every request wait.
    pub fn delay(&self, delay: Duration) {
        self.requests.delay_ms.store(u64::try_from(delay.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// How many HEAD requests there were since the last call, and how many at most at the same time.
    pub fn heads(&self) -> (usize, usize) {
        (self.requests.heads.swap(0, Ordering::SeqCst), self.requests.most_in_flight.swap(0, Ordering::SeqCst))
    }

    /// Nobody answers any more.
    pub fn stop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            stop.notify_one();
            thread.join().unwrap();
        }
    }

    /// Answers again, at the same address.
    pub fn resume(&mut self) {
        let (stop, requests) = (Arc::new(Notify::new()), Arc::clone(&self.requests));
        let (address, stopped) = (self.address, Arc::clone(&stop));
        let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(self.folder.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = builder.build();
        let (told, bound) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind(address).await.unwrap();
                told.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    () = serve(&listener, &service, &requests) => {}
                    () = stopped.notified() => {}
                }
            });
        });
        self.address = bound.recv().unwrap();
        self.running = Some((stop, thread));
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn serve(listener: &TcpListener, service: &S3Service, requests: &Arc<Requests>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (service, requests) = (service.clone(), Arc::clone(requests));
        let answer = service_fn(move |request: Request<Incoming>| {
            let (service, requests) = (service.clone(), Arc::clone(&requests));
            async move {
                let is_head = usize::from(request.method() == Method::HEAD);
                requests.heads.fetch_add(is_head, Ordering::SeqCst);
                let now = requests.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
                requests.most_in_flight.fetch_max(now, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(requests.delay_ms.load(Ordering::SeqCst))).await;
                let response = Service::call(&service, request).await;
                requests.in_flight.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, Infallible>(response.unwrap())
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}
