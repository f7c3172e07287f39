//! Takes one file out of a package.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

/// Copies the file called `name` of a `.tgz` or `.whl` archive to `target`, and returns its SHA-256 sum.
pub(crate) fn unpack(archive: &Path, name: &str, target: &Path) -> Result<String> {
    let file = File::open(archive).with_context(|| format!("cannot open {}", archive.display()))?;
    let found = if archive.extension().is_some_and(|extension| extension == "whl") {
        unpack_zip(file, name, target)
    } else {
        unpack_tar(file, name, target)
    };
    match found.with_context(|| format!("cannot unpack {}", archive.display()))? {
        Some(sum) => Ok(sum),
        None => bail!("{} holds no file called {name}", archive.display()),
    }
}

/// Copies a file, and returns its SHA-256 sum.
pub(crate) fn copy(source: &Path, target: &Path) -> Result<String> {
    File::open(source)
        .and_then(|file| copy_and_sum(file, target))
        .with_context(|| format!("cannot copy {} to {}", source.display(), target.display()))
}

/// The SHA-256 sum of a file.
pub(crate) fn sum(path: &Path) -> Result<String> {
    File::open(path)
        .and_then(|mut file| pour(&mut file, &mut io::sink()))
        .with_context(|| format!("cannot read {}", path.display()))
}

fn unpack_tar(file: File, name: &str, target: &Path) -> Result<Option<String>> {
    for entry in tar::Archive::new(GzDecoder::new(file)).entries()? {
        let entry = entry?;
        if entry.header().entry_type().is_file() && is_called(&entry.path()?, name) {
            return Ok(Some(copy_and_sum(entry, target)?));
        }
    }
    Ok(None)
}

fn unpack_zip(file: File, name: &str, target: &Path) -> Result<Option<String>> {
    let mut archive = zip::ZipArchive::new(file)?;
    for index in 0..archive.len() {
        let entry = archive.by_index(index)?;
        if entry.is_file() && is_called(Path::new(entry.name()), name) {
            return Ok(Some(copy_and_sum(entry, target)?));
        }
    }
    Ok(None)
}

fn is_called(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|file_name| file_name == name)
}

fn copy_and_sum(mut source: impl Read, target: &Path) -> io::Result<String> {
    pour(&mut source, &mut File::create(target)?)
}

fn pour(source: &mut impl Read, target: &mut impl Write) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let length = source.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        hash.update(&buffer[..length]);
        target.write_all(&buffer[..length])?;
    }
    Ok(hexadecimal(&hash.finalize()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_nothing_is_the_published_one() {
        let sum = pour(&mut io::empty(), &mut io::sink()).unwrap();
        assert_eq!(sum, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
