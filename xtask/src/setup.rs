//! Puts the pinned pieces into `.duckdb/`: what is there and has its sum stays, what is missing is fetched.
//!
//! A piece is written under another name first and renamed once its sum was found right, so that at no time
//! a half-written or unverified file has a final name. A file placed by hand counts like a fetched one.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use anyhow::{Context, Result, anyhow};

use crate::{archive, fetch, pins::Piece};

/// Where missing pieces come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// npm and pip.
    Registries,
    /// A folder that holds the files themselves, or their packages; nothing is fetched.
    Folder(&'a Path),
}

/// The set-up's folder, `.duckdb/` of a clone.
#[derive(Debug)]
pub(crate) struct Home {
    folder: PathBuf,
}

impl Home {
    /// The set-up of the clone at `root`.
    pub(crate) fn of(root: &Path) -> Self {
        Self { folder: root.join(".duckdb") }
    }

    /// Brings every piece into its place, and returns those that were not there before; `report` hears of each of
    /// them before it is fetched.
    pub(crate) fn ensure<'a>(
        &self,
        pieces: &'a [Piece],
        source: Source<'_>,
        report: &dyn Fn(&Piece),
    ) -> Result<Vec<&'a Piece>> {
        let (verified, missing) = self.survey(pieces)?;
        if missing.is_empty() {
            self.write_stamp(&verified)?;
            return Ok(missing);
        }
        fs::create_dir_all(&self.folder).with_context(|| format!("cannot create {}", self.folder.display()))?;
        // Two set-ups at once wait for each other; the second finds everything in place.
        let lock = File::create(self.folder.join("lock")).context("cannot create the lock file of the set-up")?;
        lock.lock().context("cannot lock the set-up")?;
        let (mut verified, missing) = self.survey(pieces)?;
        let installed = self.install(&missing, source, report, &mut verified);
        self.write_stamp(&verified)?;
        installed.map_err(|error| self.incomplete(&missing, &verified, &error))?;
        Ok(missing)
    }

    /// The files that are in place with the right sum, and the pieces that are not.
    fn survey<'a>(&self, pieces: &'a [Piece]) -> Result<(Stamp, Vec<&'a Piece>)> {
        let stamp = self.read_stamp();
        let mut verified = Stamp::new();
        let mut missing = Vec::new();
        for piece in pieces {
            let path = self.folder.join(&piece.path);
            let state = FileState::of(&path);
            let right = match (&state, stamp.get(&piece.path)) {
                (None, _) => false,
                (Some(state), Some((sum, stamped))) if stamped == state => *sum == piece.sha256,
                (Some(_), _) => archive::sum(&path)? == piece.sha256,
            };
            match state.filter(|_| right) {
                Some(state) => drop(verified.insert(piece.path.clone(), (piece.sha256.clone(), state))),
                None => missing.push(piece),
            }
        }
        Ok((verified, missing))
    }

    fn install(
        &self,
        missing: &[&Piece],
        source: Source<'_>,
        report: &dyn Fn(&Piece),
        verified: &mut Stamp,
    ) -> Result<()> {
        let download = self.folder.join("download");
        if download.exists() {
            // Left behind by a set-up that was killed; the lock says that it is nobody's now.
            fs::remove_dir_all(&download).with_context(|| format!("cannot remove {}", download.display()))?;
        }
        fs::create_dir(&download).with_context(|| format!("cannot create {}", download.display()))?;
        let installed = missing.iter().try_for_each(|piece| {
            report(piece);
            let state = self
                .install_piece(piece, source, &download)
                .with_context(|| format!("cannot set up {}", piece.file_name()))?;
            verified.insert(piece.path.clone(), (piece.sha256.clone(), state));
            Ok(())
        });
        let removed = fs::remove_dir_all(&download).with_context(|| format!("cannot remove {}", download.display()));
        installed.and(removed)
    }

    fn install_piece(&self, piece: &Piece, source: Source<'_>, download: &Path) -> Result<FileState> {
        let name = piece.file_name();
        let unverified = download.join(&name);
        let sum = match source {
            Source::Registries => {
                fetch::fetch(&[&piece.package], download)?;
                archive::unpack(&download.join(piece.package.archive()), &piece.packed_name, &unverified)?
            }
            Source::Folder(folder) => take(folder, piece, &unverified)?,
        };
        if sum != piece.sha256 {
            return Err(anyhow!(
                "the SHA-256 sum of {name} in {} is {sum}, not the pinned {}",
                match source {
                    Source::Registries => piece.package.describe(),
                    Source::Folder(folder) => folder.display().to_string(),
                },
                piece.sha256
            ));
        }
        let path = self.folder.join(&piece.path);
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::rename(&unverified, &path))
            .with_context(|| format!("cannot put {name} at {}", path.display()))?;
        FileState::of(&path).with_context(|| format!("{} vanished", path.display()))
    }

    /// One message for everything that is still to be done.
    fn incomplete(&self, missing: &[&Piece], verified: &Stamp, cause: &anyhow::Error) -> anyhow::Error {
        let mut message = format!("{cause:#}\n\nstill missing:");
        for piece in missing.iter().filter(|piece| !verified.contains_key(&piece.path)) {
            let path = self.folder.join(&piece.path);
            let other = if path.exists() { " (a file with another sum is there)" } else { "" };
            let _ = write!(
                message,
                "\n  {}{other}\n      SHA-256  {}\n      held by  {}",
                path.display(),
                piece.sha256,
                piece.package.describe(),
            );
        }
        message.push_str(
            "\n\nhint: run `cargo xtask setup` again where npm and pip can fetch packages; or put the files there by \
             hand;\n      or put the packages or the files into a folder and run `cargo xtask setup --from FOLDER`",
        );
        anyhow!(message)
    }

    fn stamp(&self) -> PathBuf {
        self.folder.join("stamp")
    }

    /// What was verified before; an unreadable stamp only costs reading the files again.
    fn read_stamp(&self) -> Stamp {
        fs::read_to_string(self.stamp()).unwrap_or_default().lines().filter_map(parse_stamp_line).collect()
    }

    fn write_stamp(&self, verified: &Stamp) -> Result<()> {
        if *verified == self.read_stamp() {
            return Ok(());
        }
        let mut lines = String::new();
        for (path, (sum, state)) in verified {
            let _ = writeln!(lines, "{sum} {} {} {}", state.bytes, state.modified_ns, path.display());
        }
        let unfinished = self.folder.join(format!("stamp.{}", std::process::id()));
        fs::write(&unfinished, lines)
            .and_then(|()| fs::rename(&unfinished, self.stamp()))
            .with_context(|| format!("cannot write {}", self.stamp().display()))
    }
}

/// The verified files: path below the home, sum, and the state in which the sum was taken.
type Stamp = BTreeMap<PathBuf, (String, FileState)>;

/// Size and time of a file: while they stay, its sum is taken to stay.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    bytes: u64,
    modified_ns: u128,
}

impl FileState {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let modified_ns = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        Some(Self { bytes: metadata.len(), modified_ns })
    }
}

fn parse_stamp_line(line: &str) -> Option<(PathBuf, (String, FileState))> {
    let mut parts = line.splitn(4, ' ');
    let sum = parts.next()?.to_owned();
    let state = FileState { bytes: parts.next()?.parse().ok()?, modified_ns: parts.next()?.parse().ok()? };
    Some((PathBuf::from(parts.next()?), (sum, state)))
}

/// Copies a file, or takes it out of its package, from a folder that a person filled.
fn take(folder: &Path, piece: &Piece, target: &Path) -> Result<String> {
    let archive = folder.join(piece.package.archive());
    let files = [piece.file_name(), piece.packed_name.clone()].map(|name| folder.join(name));
    if let Some(file) = files.iter().find(|file| file.is_file()) {
        archive::copy(file, target)
    } else if archive.is_file() {
        archive::unpack(&archive, &piece.packed_name, target)
    } else {
        Err(anyhow!("{} holds neither {} nor {}", folder.display(), piece.packed_name, piece.package.archive()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use tempfile::TempDir;

    use super::*;
    use crate::pins::Package;

    const LIBRARY: &[u8] = b"the library";
    const EXTENSION: &[u8] = b"the extension";

    fn ensure<'a>(home: &Home, pieces: &'a [Piece], source: Source<'_>) -> Result<Vec<&'a Piece>> {
        home.ensure(pieces, source, &|_| ())
    }

    fn sum_of(bytes: &[u8]) -> String {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, bytes).unwrap();
        archive::sum(&path).unwrap()
    }

    fn pieces() -> Vec<Piece> {
        vec![
            Piece {
                path: "lib/libexample.so".into(),
                sha256: sum_of(LIBRARY),
                package: Package::Npm { name: "@scope/example".into(), version: "1.0.0".into() },
                packed_name: "libexample.so".into(),
            },
            Piece {
                path: "extensions/example_scanner.duckdb_extension".into(),
                sha256: sum_of(EXTENSION),
                package: Package::Wheel {
                    name: "example-extension".into(),
                    version: "1.0.0".into(),
                    platform: "any".into(),
                },
                packed_name: "example.duckdb_extension".into(),
            },
        ]
    }

    fn write_packages(folder: &Path, library: &[u8], extension: &[u8]) {
        let pieces = pieces();
        let file = File::create(folder.join(pieces[0].package.archive())).unwrap();
        let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_size(library.len() as u64);
        header.set_cksum();
        tar.append_data(&mut header, "package/libexample.so", library).unwrap();
        tar.into_inner().unwrap().finish().unwrap();

        let file = File::create(folder.join(pieces[1].package.archive())).unwrap();
        let mut zip = zip::ZipWriter::new(file);
        zip.start_file("example/example.duckdb_extension", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(extension).unwrap();
        zip.finish().unwrap();
    }

    fn files_below(folder: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                names.extend(files_below(&entry.path()));
            } else {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort_unstable();
        names
    }

    #[test]
    fn packages_of_a_folder_are_unpacked_once() {
        let (clone, packages) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        write_packages(packages.path(), LIBRARY, EXTENSION);
        let (home, pieces) = (Home::of(clone.path()), pieces());
        assert_eq!(ensure(&home, &pieces, Source::Folder(packages.path())).unwrap().len(), 2);
        assert_eq!(files_below(clone.path()), ["example_scanner.duckdb_extension", "libexample.so", "lock", "stamp"]);
        assert_eq!(ensure(&home, &pieces, Source::Folder(Path::new("/nowhere"))).unwrap(), Vec::<&Piece>::new());
    }

    #[test]
    fn files_placed_by_hand_are_accepted() {
        let clone = TempDir::new().unwrap();
        let (home, pieces) = (Home::of(clone.path()), pieces());
        for (piece, bytes) in pieces.iter().zip([LIBRARY, EXTENSION]) {
            let path = clone.path().join(".duckdb").join(&piece.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        assert_eq!(ensure(&home, &pieces, Source::Folder(Path::new("/nowhere"))).unwrap(), Vec::<&Piece>::new());
    }

    #[test]
    fn a_differing_sum_leaves_nothing_behind_and_names_file_sum_and_place() {
        let (clone, packages) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        write_packages(packages.path(), LIBRARY, b"tampered with");
        let (home, pieces) = (Home::of(clone.path()), pieces());
        let message = ensure(&home, &pieces, Source::Folder(packages.path())).unwrap_err().to_string();
        let place = clone.path().join(".duckdb/extensions/example_scanner.duckdb_extension").display().to_string();
        for expected in ["example_scanner.duckdb_extension", &sum_of(EXTENSION), &sum_of(b"tampered with"), &place] {
            assert!(message.contains(expected), "{expected:?} is not in: {message}");
        }
        assert!(!message.contains("lib/libexample.so"), "what is in place is not missing: {message}");
        assert_eq!(files_below(clone.path()), ["libexample.so", "lock", "stamp"]);
    }

    #[test]
    fn a_changed_file_is_noticed_and_replaced() {
        let (clone, packages) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        write_packages(packages.path(), LIBRARY, EXTENSION);
        let (home, pieces) = (Home::of(clone.path()), pieces());
        ensure(&home, &pieces, Source::Folder(packages.path())).unwrap();
        let library = clone.path().join(".duckdb/lib/libexample.so");
        fs::write(&library, b"cut off").unwrap();
        let message = ensure(&home, &pieces, Source::Folder(clone.path())).unwrap_err().to_string();
        assert!(message.contains("a file with another sum is there"), "{message}");
        assert_eq!(ensure(&home, &pieces, Source::Folder(packages.path())).unwrap(), [&pieces[0]]);
        assert_eq!(fs::read(&library).unwrap(), LIBRARY);
    }

    #[test]
    fn a_folder_without_the_packages_is_an_error_that_lists_all_of_them() {
        let (clone, empty) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let message = ensure(&Home::of(clone.path()), &pieces(), Source::Folder(empty.path())).unwrap_err().to_string();
        assert!(message.contains("npm package @scope/example 1.0.0"), "{message}");
        assert!(message.contains("PyPI wheel example-extension 1.0.0"), "{message}");
        assert_eq!(files_below(clone.path()), ["lock"]);
    }
}
