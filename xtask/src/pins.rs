//! What the set-up fetches: the packages, the file wanted of each, and its SHA-256 sum.
//!
//! All of it belongs to one DuckDB version. To move to another one: change the versions, run `npm pack` and
//! `pip download` for each platform, and pin the sums of the files inside.

use std::path::PathBuf;

/// The DuckDB version of the library and of every extension.
const DUCKDB: &str = "1.5.5";
/// The same DuckDB in the version numbers of its npm packages.
const NODE_BINDINGS: &str = "1.5.5-r.5";

/// A package of a registry, asked for through that registry's ordinary client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Package {
    /// A package that `npm pack` fetches.
    Npm {
        /// Name with its scope.
        name: String,
        /// Exact version.
        version: String,
    },
    /// A wheel that `pip download` fetches.
    Wheel {
        /// Name as the index knows it.
        name: String,
        /// Exact version.
        version: String,
        /// The platform tag of the wheel, which may differ from that of the Python that runs pip.
        platform: String,
    },
}

impl Package {
    /// The name of the archive as the client writes it.
    pub(crate) fn archive(&self) -> String {
        match self {
            Self::Npm { name, version } => {
                format!("{}-{version}.tgz", name.trim_start_matches('@').replace('/', "-"))
            }
            Self::Wheel { name, version, platform } => {
                format!("{}-{version}-py3-none-{platform}.whl", name.replace('-', "_"))
            }
        }
    }

    /// What a person searches for.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Npm { name, version } => format!("npm package {name} {version}"),
            Self::Wheel { name, version, platform } => format!("PyPI wheel {name} {version} for {platform}"),
        }
    }
}

/// One file that a build or a run needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it goes, below `.duckdb/`.
    pub(crate) path: PathBuf,
    /// Its SHA-256 sum, in lowercase hexadecimal.
    pub(crate) sha256: String,
    /// The package that holds it.
    pub(crate) package: Package,
    /// Its file name in the package.
    pub(crate) packed_name: String,
}

impl Piece {
    /// Its file name once it is in place.
    pub(crate) fn file_name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

struct Platform {
    os: &'static str,
    architecture: &'static str,
    /// As DuckDB names it in an extension directory.
    duckdb: &'static str,
    node_bindings: &'static str,
    library: (&'static str, &'static str),
    wheel: &'static str,
    extensions: [(&'static str, &'static str); 5],
}

const PLATFORMS: [Platform; 4] = [
    Platform {
        os: "linux",
        architecture: "x86_64",
        duckdb: "linux_amd64",
        node_bindings: "@duckdb/node-bindings-linux-x64",
        library: ("libduckdb.so", "fc23f12e376c47be520f75221288281906e7942e8fd6f6ce4849198ba60d0405"),
        wheel: "manylinux2014_x86_64",
        extensions: [
            ("ducklake", "e51bf9e8d933d0e83780ae096455501b542cf962569a2ce5613532d702c08302"),
            ("httpfs", "887c392b1e49128d11667c81e3698d8b00dfdeb456771acf66d05a0f74f7b7d8"),
            ("postgres", "b1ced4cfc6311313e117c2afb3eac76508718778dde0716421503c7dbfb5605c"),
            ("sqlite", "693d2bf90779df23ca5ebe0688639b9adfc11c2d55ae3466b33e28be16afaa5e"),
            ("tpch", "3da16edae72039b20afccf092f49b9e17ebbcf56c93f89a9fcb54a39a027e088"),
        ],
    },
    Platform {
        os: "linux",
        architecture: "aarch64",
        duckdb: "linux_arm64",
        node_bindings: "@duckdb/node-bindings-linux-arm64",
        library: ("libduckdb.so", "d00d007f3f7ca1f2896a5e4b89c2ce141bf0508506a9d6d56f9598b8e59d074e"),
        wheel: "manylinux2014_aarch64",
        extensions: [
            ("ducklake", "d0b57c8e261b89a1ae367c7224f0857cfde72ab6cf2609f188e0de9b897b1088"),
            ("httpfs", "eba6e263e395a83966090f1f11ade63630b1b21422f0f2813858d179d42ea1e9"),
            ("postgres", "e2469cce1e855e8c842a1487dd8168cf27904c03baaf1f2c227529403315d819"),
            ("sqlite", "8d3dafb7dce28c7e74abac9f78a9063b8eda02c257e7aaa026e441bf277aece7"),
            ("tpch", "a7a919c6e272442efccbb1cf9ce2724206d6355a6ecb95d499228913d292afc9"),
        ],
    },
    Platform {
        os: "macos",
        architecture: "aarch64",
        duckdb: "osx_arm64",
        node_bindings: "@duckdb/node-bindings-darwin-arm64",
        library: ("libduckdb.dylib", "b9027d18ef3e8d960568f77e946a83ca68009cb22d71cf7f94de842afdd094d8"),
        wheel: "macosx_11_0_arm64",
        extensions: [
            ("ducklake", "1b72fc42164dbf21948e5a912cefc383b24071852f9e70209874ebd0a73b7caa"),
            ("httpfs", "10514b4ef19f80bf4ec4bf90c124f5d34625f2606263b40ae8ec7979905bb779"),
            ("postgres", "f39dd59bf57679d0242e19e180d90b4222e5cdb691ab67c7506658f3548c0e05"),
            ("sqlite", "a3548846bd643cb717265a0a11352af2e830a466ca068f4cae2552af658879f2"),
            ("tpch", "2ea825d6f14ab0bb3c4a04d136e60528655910a2892ca090331813f1e9ca929f"),
        ],
    },
    Platform {
        os: "macos",
        architecture: "x86_64",
        duckdb: "osx_amd64",
        node_bindings: "@duckdb/node-bindings-darwin-x64",
        // The same sum as on arm64: the package carries one universal library.
        library: ("libduckdb.dylib", "b9027d18ef3e8d960568f77e946a83ca68009cb22d71cf7f94de842afdd094d8"),
        wheel: "macosx_11_0_x86_64",
        extensions: [
            ("ducklake", "c7baf45b87f19cb3191c228b820857d573761d344c7855570dcc7eb3b8f1ff9e"),
            ("httpfs", "a2f48ae06834c165ae73db71f2320360a4b30e7acf4c87187b2241caa48a990d"),
            ("postgres", "0df780444ce04a75c5a4e7b89896eab5cebe1ca21163fc6c267f3365ffe4a3c1"),
            ("sqlite", "fb287ea61bff87ad91b700491d44d584fb6e0b5926a4bf186f9d052ff6e976f7"),
            ("tpch", "a7325244ab7c7f08c5441e0c5128f8ce456b58f49303d51580daf7c17e95c1ed"),
        ],
    },
];

/// The pieces for a platform as `std::env::consts` names it, or `None` where DuckDB publishes no prebuilt library.
pub(crate) fn pieces(os: &str, architecture: &str) -> Option<Vec<Piece>> {
    let platform = PLATFORMS.iter().find(|known| known.os == os && known.architecture == architecture)?;
    let library = Piece {
        path: PathBuf::from("lib").join(platform.library.0),
        sha256: platform.library.1.to_owned(),
        package: Package::Npm { name: platform.node_bindings.to_owned(), version: NODE_BINDINGS.to_owned() },
        packed_name: platform.library.0.to_owned(),
    };
    let folder = PathBuf::from("extensions").join(format!("v{DUCKDB}")).join(platform.duckdb);
    let extensions = platform.extensions.iter().map(|(name, sha256)| Piece {
        path: folder.join(format!("{}.duckdb_extension", file_stem(name))),
        sha256: (*sha256).to_owned(),
        package: Package::Wheel {
            name: format!("duckdb-extension-{name}"),
            version: DUCKDB.to_owned(),
            platform: platform.wheel.to_owned(),
        },
        packed_name: format!("{name}.duckdb_extension"),
    });
    Some(std::iter::once(library).chain(extensions).collect())
}

/// DuckDB derives an extension's entry point from its file's name, and knows these two under longer ones.
fn file_stem(name: &str) -> &str {
    match name {
        "postgres" => "postgres_scanner",
        "sqlite" => "sqlite_scanner",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sum_is_a_sha256_in_lowercase() {
        for platform in &PLATFORMS {
            for piece in pieces(platform.os, platform.architecture).unwrap() {
                assert_eq!(piece.sha256.len(), 64, "{piece:?}");
                assert!(piece.sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{piece:?}");
            }
        }
    }

    #[test]
    fn archives_are_named_as_the_clients_write_them() {
        let archives: Vec<_> =
            pieces("linux", "x86_64").unwrap().iter().map(|piece| piece.package.archive()).take(2).collect();
        assert_eq!(
            archives,
            [
                "duckdb-node-bindings-linux-x64-1.5.5-r.5.tgz",
                "duckdb_extension_ducklake-1.5.5-py3-none-manylinux2014_x86_64.whl",
            ]
        );
    }

    #[test]
    fn an_unknown_platform_has_no_pieces() {
        assert_eq!(pieces("plan9", "mips"), None);
    }
}
